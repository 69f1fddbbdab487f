//! Labels of many classes: the learners for them, and the certificates of any predictions.

#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use rueful_checks::Rng;
use rueful_core::classes::{ClassJudge, ClassLedger, ClassOgd, ClassRound, ClassTally, HingeRound};
use rueful_core::learner::{Bank, Learner, SoftmaxBank};
use rueful_core::loss::Logistic;
use rueful_core::set::Ball;
use rueful_core::{
    Batch, Comparators, ExactSum, Example, Features, Importance, Ledger, Positive, Round, UnitFree,
};

fn radius(radius: f64) -> Positive {
    Positive::new(radius).unwrap()
}

fn unit_free(u: f64) -> Comparators {
    UnitFree { radius: radius(u) }.into()
}

/// A stream with classes that a noisy linear rule tells apart. A hostile one has random labels,
/// values of any size and importances far apart.
fn stream(seed: u64, rows: usize, dimension: u32, classes: u32, is_hostile: bool) -> Batch {
    let mut rng = Rng::new(seed);
    let mut unit = || 2.0 * rng.unit() - 1.0;
    let rule: Vec<f64> = (0..dimension * classes).map(|_| unit()).collect();
    let mut batch = Batch::default();
    let mut named: Vec<u32> = Vec::new();
    for _ in 0..rows {
        let indices: Vec<u32> = (0..dimension).filter(|_| unit() > -0.6).collect();
        let power = |x: f64| if is_hostile { 10.0_f64.powf(3.0 * x) } else { 1.0 };
        let values: Vec<f32> = indices.iter().map(|_| (unit() * power(unit())) as f32).collect();
        let score = |class: u32| -> f64 {
            let row = &rule[(class * dimension) as usize..];
            indices.iter().zip(&values).map(|(&i, &x)| row[i as usize] * f64::from(x)).sum()
        };
        let scores: Vec<f64> = (0..classes).map(score).collect();
        let noise = if is_hostile { 1e9 } else { 0.5 };
        let drawn: Vec<f64> = scores.iter().map(|z| z + noise * unit()).collect();
        let best =
            (0..classes as usize).max_by(|&a, &b| drawn[a].total_cmp(&drawn[b])).unwrap() as u32;
        // Classes are numbered by first appearance.
        let class = named.iter().position(|&one| one == best).unwrap_or_else(|| {
            named.push(best);
            named.len() - 1
        });
        let importance = if is_hostile { power(unit()) } else { 1.0 };
        let importance = Importance::new(importance).unwrap();
        batch.push_weighted(&indices, &values, class as f64, importance).unwrap();
    }
    batch
}

/// The bank's run with its ledger and judge.
fn run(batch: &Batch, comparators: &Comparators) -> (ClassLedger, ClassJudge, Vec<ClassRound>) {
    let (mut ledger, mut bank) = (ClassLedger::new(comparators.clone()), SoftmaxBank::new());
    let mut judge = ClassJudge::new(comparators).unwrap();
    let (mut buffer, mut rounds) = (Vec::new(), Vec::new());
    let rows = ledger.enter(batch.rows(), &mut buffer);
    bank.learn_rows_with(rows, |example, round, said| {
        ledger.record(example, round, said);
        rounds.push(*round);
    })
    .unwrap();
    judge.observe_rows(rows);
    (ledger, judge, rounds)
}

/// The loss of a matrix, and its gradient by class and feature.
fn loss_of(batch: &Batch, u: &[Vec<f64>]) -> (f64, Vec<Vec<f64>>) {
    let mut gradient = vec![vec![0.0; batch.dimension()]; u.len()];
    let mut total = 0.0;
    for example in batch.iter() {
        let (x, c) = (&example.features, example.importance.get());
        let z: Vec<f64> = u.iter().map(|row| x.dot(row)).collect();
        let most = z.iter().copied().fold(f64::MIN, f64::max);
        let sum: f64 = z.iter().map(|z| (z - most).exp()).sum();
        total += c * (most + sum.ln() - z[example.label as usize]);
        for (class, row) in gradient.iter_mut().enumerate() {
            let slope = (z[class] - most).exp() / sum - f64::from(class == example.label as usize);
            x.add_to(row, c * slope);
        }
    }
    (total, gradient)
}

/// The least loss of a matrix in the ball, as far as some hundred steps of descent find it. Each
/// step has backtracking, in units in which columns lie within ±1.
fn nearly_least(batch: &Batch, classes: usize, units: &[f64], most: f64) -> f64 {
    let mut u = vec![vec![0.0; batch.dimension()]; classes];
    let (mut loss, mut gradient) = loss_of(batch, &u);
    let mut step = 1.0;
    for _ in 0..300 {
        let mut next = u.clone();
        for (row, slopes) in next.iter_mut().zip(&gradient) {
            for ((w, slope), unit) in row.iter_mut().zip(slopes).zip(units) {
                *w -= step * slope / unit / unit;
            }
        }
        let norm = |u: &[Vec<f64>]| -> f64 {
            let scaled = u.iter().flat_map(|row| row.iter().zip(units).map(|(w, unit)| w * unit));
            scaled.map(|w| w * w).sum::<f64>().sqrt()
        };
        let shrink = (most / norm(&next)).min(1.0);
        next.iter_mut().flatten().for_each(|w| *w *= shrink);
        let (value, slopes) = loss_of(batch, &next);
        if value < loss {
            (u, loss, gradient) = (next, value, slopes);
            step *= 1.5;
        } else {
            step *= 0.5;
        }
    }
    loss
}

/// N, or 1 where a column was never seen.
fn units_of(batch: &Batch) -> Vec<f64> {
    let mut units = vec![0.0_f64; batch.dimension()];
    for example in batch.iter() {
        example.features.iter().for_each(|(i, x)| units[i] = units[i].max(x.abs()));
    }
    units.into_iter().map(|unit| if unit > 0.0 { unit } else { 1.0 }).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// No lower bound of any witness, at any radius, is above the loss of a matrix in the ball:
    /// without units and in the data's own, from all rounds at once and from parts that were
    /// merged.
    #[test]
    fn no_floor_is_above_what_a_matrix_loses(
        seed in any::<u64>(), rows in 1..60usize, dimension in 1..5u32, classes in 2..6u32,
        is_hostile in any::<bool>(), power in -1.0..2.0f64, cut in 0.0..1.0f64,
    ) {
        let batch = stream(seed, rows, dimension, classes, is_hostile);
        let u = 10.0_f64.powf(power);
        let units = units_of(&batch);
        let seen = 1 + batch.labels().iter().fold(0, |most, &y| most.max(y as usize));
        for (comparators, units) in [(unit_free(u), units.clone()), (Ball { radius: radius(u) }.into(), vec![1.0; units.len()])] {
            let least = nearly_least(&batch, seen, &units, u);
            let (ledger, judge, rounds) = run(&batch, &comparators);
            let point = ledger.point(Some(&judge));
            let regret = (rounds.iter().map(|round| round.loss).sum::<f64>() - least) / rows as f64;
            let certificate = point.certificate_for(radius(u));
            prop_assert!(certificate >= regret - 1e-12 * (1.0 + regret.abs()), "{certificate} {regret}");
            prop_assert_eq!(certificate.to_bits(), point.certificate().to_bits());
            let (merged, both) = merged_run(&batch, &comparators, (cut * rows as f64) as usize);
            let merged = merged.point(Some(&both)).certificate_for(radius(u)) * rows as f64;
            let lost = merged_loss(&batch, (cut * rows as f64) as usize);
            prop_assert!(merged >= lost - least - 1e-12 * (1.0 + lost.abs()), "{merged} {lost} {least}");
        }
    }

    /// With two classes the best matrix has the rows u/2 and −u/2. So its ball of radius U is that
    /// of vectors of radius √2·U, and both ledgers prove the same.
    #[test]
    fn two_classes_are_the_logistic_story(
        seed in any::<u64>(), rows in 1..80usize, dimension in 1..6u32, power in -1.0..2.0f64,
    ) {
        let batch = stream(seed, rows, dimension, 2, false);
        let mut signs = Batch::default();
        let mut rng = Rng::new(seed ^ 1);
        let u = 10.0_f64.powf(power);
        let mut ledger = ClassLedger::new(unit_free(u));
        let mut other = Ledger::new(Logistic {}, unit_free(std::f64::consts::SQRT_2 * u));
        for example in batch.iter() {
            let z: f64 = 6.0 * rng.unit() - 3.0;
            let p = 1.0 / (1.0 + (-z).exp());
            ledger.observe(&example, &[1.0 - p, p]).unwrap();
            let label = if example.label == 1.0 { 1.0 } else { -1.0 };
            let (indices, values) = (example.features.indices(), example.features.values());
            signs.push(indices, values, label).unwrap();
            let example = signs.get(signs.len() - 1);
            other.record(&example, &Round::of(&Logistic {}, z, label)).unwrap();
        }
        let (own, theirs) = (ledger.point(None).certificate_total(), other.certificate(other.comparators()));
        prop_assert!((own - theirs).abs() <= 1e-9 * (1.0 + own.abs()), "{own} {theirs}");
        prop_assert!((ledger.tally().loss() - other.loss()).abs() < 1e-9 * (1.0 + other.loss()));
    }

    /// A row of importance 2 is the row twice: in losses, and in the bounds that the same
    /// predictions prove.
    #[test]
    fn an_importance_of_two_is_the_row_twice(seed in any::<u64>(), rows in 1..60usize) {
        let batch = stream(seed, rows, 4, 3, false);
        let (mut once, mut twice) = (ClassLedger::new(unit_free(3.0)), ClassLedger::new(unit_free(3.0)));
        for example in batch.iter() {
            let mut said = [0.2, 0.2, 0.2];
            said[(example.label as usize + example.features.len()) % 3] = 0.6;
            let double = Importance::new(2.0).unwrap();
            once.observe(&Example { importance: double, ..example }, &said).unwrap();
            (0..2).for_each(|_| twice.observe(&example, &said).unwrap());
        }
        let (a, b) = (once.tally().loss(), twice.tally().loss());
        prop_assert!((a - b).abs() < 1e-12 * (1.0 + a));
        for u in [0.1, 1.0, 30.0] {
            let total = |ledger: &ClassLedger| ledger.point(None).certificate_for(radius(u)) * ledger.rounds() as f64;
            let (a, b) = (total(&once), total(&twice));
            prop_assert!((a - b).abs() < 1e-9 * (1.0 + a.abs()), "{a} {b}");
        }
    }

    /// Powers of two in columns change no bit of bank, ledger and judge. Other orders of columns,
    /// and other numbers of classes, change the bounds of the model's own predictions by roundings
    /// only.
    #[test]
    fn units_and_numbers_change_nothing(seed in any::<u64>(), rows in 1..80usize, powers in prop::collection::vec(-30..30i32, 6)) {
        let batch = stream(seed, rows, 6, 4, false);
        let mut scaled = Batch::default();
        let mut reversed = Batch::default();
        for example in batch.iter() {
            let indices = example.features.indices();
            let values: Vec<f32> = example.features.iter().map(|(i, x)| x as f32 * 2.0_f32.powi(powers[i])).collect();
            scaled.push(indices, &values, example.label).unwrap();
            let other: Vec<u32> = indices.iter().rev().map(|i| 5 - i).collect();
            let values: Vec<f32> = example.features.values().iter().rev().copied().collect();
            reversed.push(&other, &values, 3.0 - example.label).unwrap();
        }
        let ball = unit_free(10.0);
        let ((ledger, judge, rounds), (other, second, again)) = (run(&batch, &ball), run(&scaled, &ball));
        prop_assert_eq!(rounds, again);
        let (plain, after) = (ledger.point(Some(&judge)), other.point(Some(&second)));
        prop_assert_eq!(plain.certificate().to_bits(), after.certificate().to_bits());
        prop_assert_eq!(plain.beats_up_to(), after.beats_up_to());
        let (mut forth, mut back) = (ClassLedger::new(ball.clone()), ClassLedger::new(ball));
        for (one, two) in batch.iter().zip(reversed.iter()) {
            let mut said = [0.1, 0.2, 0.3, 0.4];
            said.rotate_left(one.features.len() % 4);
            forth.observe(&one, &said).unwrap();
            said.reverse();
            back.observe(&two, &said).unwrap();
        }
        let (a, b) = (forth.point(None).certificate(), back.point(None).certificate());
        prop_assert!((a - b).abs() < 1e-12 * (1.0 + a.abs()), "{} {}", a, b);
    }

    /// A ledger and a judge that were saved in the middle go on as if they had never stopped.
    #[test]
    fn resumed_is_never_stopped(seed in any::<u64>(), rows in 2..80usize, cut in 0.0..1.0f64) {
        let (batch, ball) = (stream(seed, rows, 5, 5, true), unit_free(10.0));
        let (whole, judge, _) = run(&batch, &ball);
        let (mut ledger, mut bank) = (ClassLedger::new(ball.clone()), SoftmaxBank::new());
        let mut second = ClassJudge::new(&ball).unwrap();
        let cut = (cut * rows as f64) as usize;
        let mut rounds = 0;
        for part in [0..cut, cut..rows] {
            let mut buffer = Vec::new();
            let rows = ledger.enter(batch.rows().slice(part), &mut buffer);
            bank.learn_rows_with(rows, |example, round, said| ledger.record(example, round, said)).unwrap();
            second.observe_rows(rows);
            rounds += rows.len() as u64;
            ledger = serde_json::from_str(&serde_json::to_string(&ledger).unwrap()).unwrap();
            second = serde_json::from_str(&serde_json::to_string(&second).unwrap()).unwrap();
            bank = serde_json::from_str(&serde_json::to_string(&bank).unwrap()).unwrap();
            prop_assert!(ledger.continues(&ClassLedger::new(ball.clone())));
            prop_assert!(second.continues(&ClassJudge::new(&ball).unwrap(), rounds));
            prop_assert!(bank.continues(&SoftmaxBank::new()));
        }
        let (a, b) = (whole.curve(Some(&judge)), ledger.curve(Some(&second)));
        prop_assert_eq!(a, b);
        prop_assert_eq!(whole.confusion(), ledger.confusion());
    }

    /// Certificate ≤ data-dependent bound ≤ theorem holds for gradient descent in the multiclass
    /// hinge, and the certificate is above the regret against matrices.
    #[test]
    fn the_ladder_of_gradient_descent_is_in_order(
        seed in any::<u64>(), rows in 1..120usize, dimension in 1..6u32, classes in 2..7u32,
        is_hostile in any::<bool>(), power in -2.0..2.0f64,
    ) {
        let batch = stream(seed, rows, dimension, classes, is_hostile);
        let u = radius(10.0_f64.powf(power));
        let (mut learner, mut ledger) = (ClassOgd::new(u), ClassLedger::new(Ball { radius: u }));
        let (mut rounds, mut buffer) = (Vec::new(), Vec::new());
        let entered = ledger.enter(batch.rows(), &mut buffer);
        let halves = rows / 2;
        let mut all: Vec<HingeRound> = Vec::new();
        for part in [0..halves, halves..rows] {
            learner.learn_rows(entered.slice(part), &mut rounds).unwrap();
            all.append(&mut rounds);
            learner = serde_json::from_str(&serde_json::to_string(&learner).unwrap()).unwrap();
            prop_assert!(learner.continues(&ClassOgd::new(u)));
        }
        for (example, round) in entered.iter().zip(&all) {
            ledger.record_hinge(&example, round);
        }
        let ladder = ledger.ladder(learner.promise(ledger.comparators()), None);
        prop_assert!(ladder.is_in_order(), "{:?}", ladder);
        let (data, theorem) = (ladder.data.unwrap().total, ladder.theorem.unwrap().total);
        prop_assert!(ladder.certificate <= data && data <= theorem * (1.0 + 1e-9));
        let seen = 1 + batch.labels().iter().fold(0, |most, &y| most.max(y as usize));
        let lost: f64 = all.iter().map(|round| round.loss).sum();
        let mut rng = Rng::new(seed ^ 5);
        for _ in 0..20 {
            let matrix = random_matrix(&mut rng, seen, batch.dimension(), u.get());
            let regret = lost - hinge_of(&batch, &matrix);
            prop_assert!(ladder.certificate >= regret - 1e-9 * (1.0 + lost), "{} {regret}", ladder.certificate);
        }
    }
}

/// Two parts of a stream with banks, ledgers and judges of their own, merged.
fn merged_run(batch: &Batch, comparators: &Comparators, cut: usize) -> (ClassLedger, ClassJudge) {
    let part = |range: std::ops::Range<usize>| {
        let mut part = Batch::default();
        part.append(batch.rows().slice(range));
        part
    };
    let (mut ledger, mut judge, _) = run(&part(0..cut), comparators);
    let (other, mut second, _) = run(&part(cut..batch.len()), comparators);
    second.rearrange(&ledger.merge(&other));
    judge.rearrange(&(0..ledger.cells().len() as u32).collect::<Vec<u32>>());
    judge.merge(&second);
    (ledger, judge)
}

fn merged_loss(batch: &Batch, cut: usize) -> f64 {
    let parts = [0..cut, cut..batch.len()];
    let lost = parts.map(|range| {
        let (mut bank, mut rounds) = (SoftmaxBank::new(), Vec::new());
        bank.learn_rows(batch.rows().slice(range), &mut rounds).unwrap();
        rounds.iter().map(|round| round.loss).sum::<f64>()
    });
    lost[0] + lost[1]
}

fn random_matrix(rng: &mut Rng, classes: usize, dimension: usize, norm: f64) -> Vec<Vec<f64>> {
    let mut matrix: Vec<Vec<f64>> =
        (0..classes).map(|_| (0..dimension).map(|_| rng.unit() - 0.5).collect()).collect();
    let size = matrix.iter().flatten().map(|w| w * w).sum::<f64>().sqrt().max(1e-300);
    matrix.iter_mut().flatten().for_each(|w| *w *= norm / size);
    matrix
}

fn hinge_of(batch: &Batch, u: &[Vec<f64>]) -> f64 {
    let loss = |example: Example<'_>| {
        let (y, x) = (example.label as usize, &example.features);
        let rivals = u.iter().enumerate().filter(|(class, _)| *class != y);
        let best = rivals.map(|(_, row)| x.dot(row)).fold(f64::NEG_INFINITY, f64::max);
        example.importance.get() * (1.0 + best - x.dot(&u[y])).max(0.0)
    };
    batch.iter().map(loss).sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Certificate ≤ data-dependent bound ≤ theorem for the bank, whose witnesses are its judge, on friendly
    /// and hostile streams; with few classes and with so many that not all are listed.
    #[test]
    fn the_ladder_of_the_bank_is_in_order(
        seed in any::<u64>(), rows in 1..150usize, dimension in 1..6u32, classes in 2..60u32,
        is_hostile in any::<bool>(), at in 0..5usize,
    ) {
        let batch = stream(seed, rows, dimension, classes, is_hostile);
        let ball = unit_free([0.3, 1.0, 3.0, 10.0, 30.0][at]);
        let (mut ledger, mut bank) = (ClassLedger::new(ball.clone()), SoftmaxBank::new());
        let mut buffer = Vec::new();
        let entered = ledger.enter(batch.rows(), &mut buffer);
        bank.learn_rows_with(entered, |example, round, said| ledger.record(example, round, said)).unwrap();
        let mut judge = ClassJudge::new(&ball).unwrap();
        judge.observe_rows(entered);
        let ladder = ledger.ladder(bank.promise(&ball), Some(bank.judge()));
        prop_assert!(ladder.is_in_order(), "{:?}", ladder);
        let (data, theorem) = (ladder.data.unwrap().total, ladder.theorem.unwrap().total);
        prop_assert!(ladder.certificate <= data && data <= theorem * (1.0 + 1e-9));
        // The witnesses in the bank are those of the judge beside it.
        let (own, beside) = (ledger.point(Some(bank.judge())), ledger.point(Some(&judge)));
        prop_assert_eq!(own, beside);
        prop_assert!(bank.promise(&unit_free(31.0)).theorem.is_err());
    }

    /// A window has a tally and a judge of its own. What they prove is about its rounds alone, in units of
    /// the whole stream so far.
    #[test]
    fn a_window_is_certified_by_itself(
        seed in any::<u64>(), rows in 2..60usize, classes in 2..5u32, is_hostile in any::<bool>(),
        cut in 0.0..1.0f64, power in -1.0..1.5f64,
    ) {
        let (u, from) = (10.0_f64.powf(power), (cut * rows as f64) as usize);
        let (batch, ball) = (stream(seed, rows, 3, classes, is_hostile), unit_free(u));
        let (mut ledger, mut bank) = (ClassLedger::new(ball.clone()), SoftmaxBank::new());
        let (mut window, mut judge) = (ClassTally::new(), ClassJudge::new(&ball).unwrap());
        let (mut buffer, mut row, mut lost) = (Vec::new(), 0, 0.0);
        let entered = ledger.enter(batch.rows(), &mut buffer);
        bank.learn_rows_with(entered, |example, round, said| {
            ledger.record(example, round, said);
            if row >= from {
                window.record(example, round, said);
                lost += round.loss;
            }
            row += 1;
        }).unwrap();
        judge.observe_rows(entered.slice(from..rows));
        let mut part = Batch::default();
        part.append(batch.rows().slice(from..rows));
        let seen = 1 + batch.labels().iter().fold(0, |most, &y| most.max(y as usize));
        let mut units = units_of(&batch);
        units.truncate(part.dimension());
        let least = nearly_least(&part, seen, &units, u);
        let point = ledger.point_of(&window, Some(&judge));
        prop_assert_eq!(point.rounds(), (rows - from) as u64);
        prop_assert!(point.certificate_total() >= lost - least - 1e-12 * (1.0 + lost));
        prop_assert!(point.certificate_total() <= point.own_certificate() * (rows - from) as f64 + 1e-9 * (1.0 + lost));
        // A judge of other rounds is not heard.
        let alone = ledger.point(Some(&judge)).certificate();
        prop_assert!(from == 0 || alone.to_bits() == ledger.point(None).certificate().to_bits());
    }
}

/// Once features and classes are known, learning takes no memory from the system.
#[test]
fn a_round_allocates_nothing() {
    for (dimension, classes) in [(8, 5), (90, 4)] {
        let batch = stream(3, 1200, dimension, classes, false);
        let (mut bank, mut rounds) = (SoftmaxBank::new(), Vec::with_capacity(1200));
        bank.learn_rows(batch.rows().slice(0..1000), &mut rounds).unwrap();
        let counted = allocation_counter::measure(|| {
            bank.learn_rows(batch.rows().slice(1000..1200), &mut rounds).unwrap();
        });
        assert_eq!(counted.count_total, 0, "{dimension} features");
    }
}

/// The bank for many classes learns two classes as well as the bank for two, within a tenth.
#[test]
fn the_bank_for_many_learns_two_classes_as_the_bank_for_two() {
    for seed in 0..4 {
        let batch = stream(seed, 1500, 8, 2, false);
        let mut signs = Batch::default();
        for example in batch.iter() {
            let (indices, values) = (example.features.indices(), example.features.values());
            signs.push(indices, values, 2.0 * example.label - 1.0).unwrap();
        }
        let (mut many, mut rounds) = (SoftmaxBank::expecting(2), Vec::new());
        many.learn_rows(batch.rows(), &mut rounds).unwrap();
        let (mut two, mut pairs) = (Bank::new(Logistic {}.into()).unwrap(), Vec::new());
        two.learn_rows(signs.rows(), &mut pairs);
        let many: f64 = rounds.iter().map(|round| round.loss).sum();
        let two: f64 = pairs.iter().map(|round| round.value).sum();
        assert!((many / two - 1.0).abs() < 0.1, "{many} {two}");
    }
}

/// Rows without features, of so many classes. The last class comes first, so that a judge knows all
/// classes from the start and gives them equal probabilities.
fn without_features(classes: u32, rows: u32) -> (Batch, ClassJudge) {
    let (mut batch, mut judge) = (Batch::default(), ClassJudge::new(&unit_free(1e-100)).unwrap());
    for t in 0..rows {
        batch.push(&[], &[], f64::from(classes - 1 - t % classes)).unwrap();
    }
    judge.observe_rows(batch.rows());
    (batch, judge)
}

/// Without features every matrix loses ln K. Probabilities and entropies are rounded, but no
/// witness may prove that a matrix loses more.
#[test]
fn roundings_of_entropies_are_allowed_for() {
    for classes in 2..40_u32 {
        let (_, judge) = without_features(classes, 1000);
        for line in judge.lines() {
            let floor = line.floor(radius(1e-100));
            assert!(floor <= 1000.0 * f64::from(classes).ln().next_down(), "{classes}: {floor}");
            assert!(floor >= 1000.0 * f64::from(classes).ln() - 1e-9);
        }
    }
}

/// The loss of a probability of 2^-k is k·ln 2, which doubles miss by up to a unit in the last place,
/// always in the same direction.
#[test]
fn roundings_of_losses_are_allowed_for() {
    let rest = 2.319_046_813_846_299_6e-17; // ln 2 less LN_2
    let (batch, judge) = without_features(2, 1000);
    for k in 900..1022_i32 {
        let mut ledger = ClassLedger::new(unit_free(1e-100));
        for example in batch.iter() {
            let mut said = [1.0, 1.0];
            said[example.label as usize] = 2.0_f64.powi(-k);
            ledger.observe(&example, &said).unwrap();
        }
        // Against u = 0 the regret is 1000(k − 1) ln 2.
        let mut spare = ExactSum::default();
        spare.add(ledger.point(Some(&judge)).certificate_total());
        spare.add_product(-1000.0 * f64::from(k - 1), std::f64::consts::LN_2);
        spare.add_product(-1000.0 * f64::from(k - 1), rest);
        assert!(spare.value() >= 0.0, "{k}: {:e}", spare.value());
    }
}

/// 2⁵³ + 1 is 2⁵³ in doubles: 3000 slopes of 1 are lost, one rounding each.
#[test]
fn every_addition_is_allowed_for() {
    let large = 2_f64.powi(53);
    for comparators in [unit_free(1.0), Ball { radius: radius(1.0) }.into()] {
        let mut batch = Batch::default();
        batch.push_weighted(&[0], &[1.0], 0.0, Importance::new(large).unwrap()).unwrap();
        (0..3000).for_each(|_| batch.push(&[0], &[1.0], 0.0).unwrap());
        let mut ledger = ClassLedger::new(comparators);
        let mut buffer = Vec::new();
        let rows = ledger.enter(batch.rows(), &mut buffer);
        let round = HingeRound { predicted: Some(1), rival: Some(1), loss: 0.0, value: 0.0 };
        rows.iter().for_each(|example| ledger.record_hinge(&example, &round));
        // The tangents add up to Σc(1 + z_1 − z_0), which is least at z = (1, −1)/√2: where L is taken for 0
        // the regret is −Σc(1 − √2).
        let whole = large + 3000.0;
        let regret = -whole * (1.0 - std::f64::consts::SQRT_2);
        let certificate = ledger.point(None).certificate_total();
        assert!(certificate >= regret, "{}", certificate - regret);
    }
}

/// (1, 10^-17) adds up to more than 1. The slopes that are entered cancel, but those of (1 −
/// 10^-17, 10^-17) do not.
#[test]
fn what_probabilities_lack_of_one_is_allowed_for() {
    let tiny = 1e-17;
    let mut ledger = ClassLedger::new(unit_free(1.0));
    let x = |value: &'static [f32]| Features::new(&[0], value).unwrap();
    ledger.observe(&Example::new(x(&[1.0]), 0.0), &[1.0, tiny, 0.0]).unwrap();
    ledger.observe(&Example::new(x(&[-1.0]), 2.0), &[0.0, tiny, 1.0]).unwrap();
    let point = ledger.point(None);
    let falls = |u: f64| point.certificate_for(radius(2.0 * u)) - point.certificate_for(radius(u));
    // The lower bound must fall by this much per unit of radius and round, although S was entered
    // as 0.
    assert!(2.0 * falls(1e6) / 1e6 >= std::f64::consts::SQRT_2 * tiny, "{:e}", falls(1e6));
}

/// Probabilities that lack a part of 1 leave it to classes that are not listed. The true class is
/// charged for its own, and the certificate still is above the regret of the best constant.
#[test]
fn what_is_left_to_other_classes_is_charged() {
    let mut ledger = ClassLedger::new(unit_free(1.0));
    let x = Features::new(&[0], &[1.0]).unwrap();
    for t in 0..100_u8 {
        let label = f64::from(t % 3 / 2);
        ledger.observe(&Example::new(x, label), &[0.5, 0.4]).unwrap();
    }
    let tally = ledger.tally();
    let expected = -(67.0 * 0.5_f64.ln() + 33.0 * 0.4_f64.ln());
    assert!((tally.loss() - expected).abs() < 1e-12 * expected);
    // The scores ±0.35 have the norm √2·0.35, which is below 1.
    let best = 67.0 * (-0.7_f64).exp().ln_1p() + 33.0 * 0.7_f64.exp().ln_1p();
    let certificate = 100.0 * ledger.point(None).certificate();
    assert!(certificate >= expected - best, "{certificate} {expected} {best}");
}

/// These are numbers that are not probabilities, classes without a probability, and labels that are
/// not classes.
#[test]
fn what_cannot_be_certified_is_refused() {
    let mut ledger = ClassLedger::new(unit_free(1.0));
    let x = Features::new(&[0], &[1.0]).unwrap();
    let mut refused = |label: f64, said: &[f64]| {
        let error = ledger.observe(&Example::new(x, label), said).unwrap_err();
        assert_eq!(ledger.rounds(), 0);
        error.to_string()
    };
    assert!(refused(0.0, &[0.3, 0.1]).contains("add up to 0.4"));
    assert!(refused(0.0, &[0.6, 0.5]).contains("add up to 1.1"));
    assert!(refused(0.0, &[f64::NAN, 1.0]).contains("add up to"));
    assert!(refused(0.0, &[1.5, -0.5]).contains("expected one between 0 and 1"));
    assert!(refused(0.0, &[]).contains("add up to 0"));
    assert!(refused(2.0, &[0.5, 0.5]).contains("class 2, which was given the probability 0"));
    assert!(refused(0.0, &[0.0, 1.0]).contains("infinite"));
    assert!(refused(0.5, &[0.5, 0.5]).contains("label 0.5"));
    assert!(refused(-1.0, &[0.5, 0.5]).contains("label -1"));
}
