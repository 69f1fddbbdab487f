//! Writes a page and a picture of a run on a stream like a9a, with made-up numbers:
//! `cargo run -p rueful-page --example demo -- page.html picture.svg`

use rueful_page::{
    Bin, Fact, Interval, Origin, Page, Point, Radius, Rung, RungKind, Share, Weight, Window,
};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let mut files = env::args().skip(1);
    let page = page();
    fs::write(files.next().unwrap_or_else(|| "page.html".to_owned()), rueful_page::html(&page))?;
    fs::write(files.next().unwrap_or_else(|| "picture.svg".to_owned()), rueful_page::svg(&page))
}

fn page() -> Page {
    Page {
        title: "a9a.libsvm".to_owned(),
        subtitle: "Projected online gradient descent with AdaGrad-norm steps, ‖w‖ ≤ 10, on the \
                   hinge loss. 32,561 examples, 123 features."
            .to_owned(),
        comparators: "every linear predictor with ‖u‖ ≤ 10".to_owned(),
        facts: facts(),
        curve: curve(),
        ladder: ladder(),
        radii: radii(),
        own_radius: Some(10.0),
        beaten_up_to: Some(3.068),
        says_nothing_from: None,
        windows: windows(),
        shares: shares(),
        weights: weights(),
        parameters: parameters(),
        data: data(),
        notes: vec![
            "What is printed holds for the run in doubles; roundings are allowed for.".to_owned(),
            "The exact regret is known to a gap of 2.0e-5 after 41 passes of dual coordinate \
             ascent."
                .to_owned(),
        ],
        figures: vec![
            ("error rate".to_owned(), "15.63 %; 24.08 % by the larger class".to_owned()),
            ("AUC".to_owned(), "0.9012".to_owned()),
        ],
        baseline: Some(Interval::from(0.481_6)),
        is_nonnegative: true,
        calibration: calibration(),
        weights_left_out: 93,
        origin: Origin {
            version: "rueful 0.1.0".to_owned(),
            command: "rueful run a9a.libsvm --hindsight --report a9a.html".to_owned(),
            spec: "{\n  \"loss\": { \"name\": \"hinge\" }\n}".to_owned(),
        },
    }
}

/// Probabilities that are a little too confident.
fn calibration() -> Vec<Bin> {
    let bin = |tenth: i32| {
        let predicted = f64::from(tenth) / 10.0 + 0.05;
        let observed = 0.5 + 0.85 * (predicted - 0.5);
        let weight = 900.0 + 300.0 * f64::from((tenth - 5).pow(2));
        Bin { from: predicted - 0.05, to: predicted + 0.05, weight, predicted, observed }
    };
    (0..10).map(bin).collect()
}

/// Three learners, one of which is trusted from the middle on.
fn shares() -> Vec<Share> {
    let point = |t: u64| (t, 1.0 / (1.0 + (4.0 - t as f64 / 4000.0).exp()));
    let late: Vec<(u64, f64)> = (0..64).map(|k| point(512 * k)).collect();
    let part = |share: f64| late.iter().map(|&(t, late)| (t, share * (1.0 - late))).collect();
    vec![
        Share { name: "mixer".to_owned(), points: part(0.7) },
        Share { name: "adagrad".to_owned(), points: part(0.3) },
        Share { name: "full kalman 10".to_owned(), points: late.clone() },
    ]
}

fn facts() -> Vec<Fact> {
    let fact = |label: &str, value: &str, note: &str| Fact {
        label: label.to_owned(),
        value: value.to_owned(),
        note: Some(note.to_owned()),
    };
    vec![
        fact("sequential risk", "0.3719", "average hinge loss, each prediction before its label"),
        fact("certificate", "0.04612", "no predictor saved more per round"),
        fact("exact regret", "0.01954", "solved for afterwards"),
        fact("mistakes", "15.91 %", "5,180 of 32,561"),
    ]
}

/// The columns are t, the risk, the certificate, and the loss of the best comparator.
const CURVE: [(u64, f64, f64, f64); 16] = [
    (1, 1.0, 37.416_573_867_739_416, 0.0),
    (2, 2.183_503_419_072_273, 24.310_880_214_561_02, 0.0),
    (4, 1.650_128_551_029_114, 13.902_544_810_277_3, 0.0),
    (8, 1.211_640_833_295_187_4, 9.120_447_715_093_62, 0.0),
    (16, 0.905_127_744_381_205_5, 5.880_125_509_114_8, 0.031_2),
    (32, 0.760_331_940_772_614, 3.410_922_780_451_33, 0.140_725_5),
    (64, 0.641_850_227_118_903_3, 2.092_447_110_930_8, 0.221_509_12),
    (128, 0.560_722_019_448_277_6, 1.301_225_470_993_15, 0.258_440_71),
    (256, 0.502_199_381_205_447_2, 0.842_019_337_120_48, 0.290_118_03),
    (512, 0.466_031_772_904_118_9, 0.552_770_184_239_71, 0.312_440_92),
    (1024, 0.438_120_550_912_774_1, 0.371_902_284_415_09, 0.325_771_30),
    (2048, 0.417_550_281_744_019_2, 0.240_118_472_930_55, 0.335_912_74),
    (4096, 0.402_114_938_275_510_4, 0.164_402_199_548_12, 0.341_806_55),
    (8192, 0.389_947_221_038_745_7, 0.109_337_720_184_26, 0.347_551_81),
    (16384, 0.379_612_840_551_290_3, 0.071_840_925_113_38, 0.350_912_07),
    (32561, 0.371_934_402_817_551_2, 0.046_120_385_529_71, 0.352_394_48),
];

fn curve() -> Vec<Point> {
    let point = |&(t, risk, certificate, best): &(u64, f64, f64, f64)| Point {
        t,
        risk,
        certificate: Some(certificate),
        comparator: Some(Interval { lower: (best - 2e-5).max(0.0), upper: best }),
        regret: Some(Interval { lower: risk - best, upper: risk - best + 2e-5 }),
    };
    CURVE.iter().map(point).collect()
}

fn ladder() -> Vec<Rung> {
    let rung = |kind, lower, upper, meaning: &str| Rung {
        kind,
        value: Some(Interval { lower, upper }),
        meaning: meaning.to_owned(),
    };
    let (regret, certificate) = (0.019_539_922_817_551_2, 0.046_120_385_529_71);
    let (data, theorem) = (0.218_827_440_917_33, 0.341_550_028_846_12);
    vec![
        rung(
            RungKind::Regret,
            regret,
            regret + 2e-5,
            "gap 2.0e-5 after 41 passes of dual coordinate ascent",
        ),
        rung(
            RungKind::Certificate,
            certificate,
            certificate,
            "proved for this very stream, whatever made it",
        ),
        rung(RungKind::Data, data, data, "from the run's own steps and gradients"),
        rung(
            RungKind::Theorem,
            theorem,
            theorem,
            "notes, (8) with AdaGrad-norm steps: D√(2Σ‖g_t‖²)",
        ),
    ]
}

fn radii() -> Vec<Radius> {
    [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]
        .map(|radius| Radius {
            radius,
            certificate: -0.020_418_224 + 0.006_653_860_952_971 * radius,
        })
        .to_vec()
}

fn windows() -> Vec<Window> {
    let risks = [
        0.441, 0.402, 0.391, 0.379, 0.384, 0.372, 0.366, 0.371, 0.359, 0.362, 0.355, 0.361, 0.352,
        0.349, 0.405, 0.417, 0.388, 0.364, 0.357, 0.351,
    ];
    let window = |(i, risk): (u64, f64)| Window {
        from: 1 + 1_629 * i,
        to: (1_629 * (i + 1)).min(32_561),
        risk,
        certificate: Some(0.29 * risk + 0.8 * (risk - 0.35)),
    };
    (0..).zip(risks).map(window).collect()
}

fn weights() -> Vec<Weight> {
    let weights = [
        ("capital-gain=(7298.0, inf]", 2.402_118_3),
        ("marital-status=Married-civ-spouse", 1.130_552_9),
        ("education=Preschool", -0.984_402_2),
        ("capital-loss=(1816.5, 1977.0]", 0.951_837_4),
        ("occupation=Priv-house-serv", -0.930_144_8),
        ("(constant)", -0.902_557_1),
        ("education=Doctorate", 0.821_907_7),
        ("education=Prof-school", 0.801_226_4),
        ("relationship=Own-child", -0.744_180_9),
        ("occupation=Farming-fishing", -0.712_992_5),
        ("age=(17.0, 25.0]", -0.690_338_1),
        ("relationship=Wife", 0.655_174_3),
        ("hours-per-week=(1.0, 34.0]", -0.601_284_7),
        ("occupation=Exec-managerial", 0.588_130_2),
        ("education=Masters", 0.561_909_3),
        ("occupation=Other-service", -0.550_271_8),
        ("education=7th-8th", -0.541_828_8),
        ("workclass=Self-emp-not-inc", -0.480_127_7),
        ("education=Bachelors", 0.431_554_2),
        ("native-country=Columbia", -0.420_193_6),
        ("workclass=Without-pay", -0.401_772_5),
        ("occupation=Prof-specialty", 0.371_920_1),
        ("native-country=Outlying-US(Guam-USVI-etc)", -0.362_441_7),
        ("sex=Female", -0.330_115_2),
        ("marital-status=Never-married", -0.318_845_0),
        ("hours-per-week=(48.0, 99.0]", 0.301_723_9),
        ("workclass=Federal-gov", 0.288_416_7),
        ("occupation=Tech-support", 0.260_331_8),
        ("race=Amer-Indian-Eskimo", -0.241_992_4),
        ("native-country=Trinadad&Tobago", -0.220_174_6),
    ];
    weights.map(|(name, value)| Weight { name: name.to_owned(), value }).to_vec()
}

fn parameters() -> Vec<(String, String)> {
    pairs(&[
        ("learner", "projected OGD"),
        ("schedule", "AdaGrad-norm: steps 2U/√(2Σ‖g‖²)"),
        ("set", "ball, ‖w‖ ≤ 10"),
        ("loss", "hinge, [1 − yp]₊"),
        ("regularisation", "none"),
    ])
}

fn data() -> Vec<(String, String)> {
    pairs(&[
        ("file", "a9a.libsvm"),
        ("format", "LIBSVM text"),
        ("examples", "32,561"),
        ("features", "124, a constant one included"),
        ("nonzeros", "484,153"),
        ("largest example", "3.873"),
        ("largest gradient", "3.873"),
    ])
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}
