//! For features, labels and weights of any size, the ladder holds or the run is refused.

use crate::figures::number;
use crate::harness::Desk;
use crate::ladder::assert_in_order;
use crate::stream::{COLUMNS, LOSSES, Labels, Row, learners, libsvm, own, predictions, stream, vw};

/// The sizes of the columns, the labels and the weights of a stream, as exponents of two.
struct Sizes {
    columns: [i32; COLUMNS as usize],
    label: i32,
    /// The weights go from 2^−`weight` to 2^`weight`.
    weight: i32,
}

const SIZES: [Sizes; 5] = [
    Sizes { columns: [0, -40, 30, 0, 10], label: 0, weight: 0 },
    Sizes { columns: [0; 5], label: -300, weight: 0 },
    Sizes { columns: [0; 5], label: 60, weight: 60 },
    Sizes { columns: [-60; 5], label: 0, weight: 20 },
    Sizes { columns: [50, 50, -20, 0, 0], label: 10, weight: 3 },
];

impl Sizes {
    fn of(&self, labels: Labels, seed: u64) -> Vec<Row> {
        let mut rows = stream(labels, 24, seed);
        for (number, row) in rows.iter_mut().enumerate() {
            for (column, value) in &mut row.features {
                *value *= 2_f32.powi(self.columns[*column as usize - 1]);
            }
            if labels == Labels::Numbers {
                row.label *= 2_f64.powi(self.label);
            }
            let power = (7 * number as i32) % (2 * self.weight + 1) - self.weight;
            row.weight = 2_f64.powi(power);
        }
        rows
    }
}

#[test]
fn runs_are_in_order_or_refused() {
    let (mut in_order, mut refused) = (0, 0);
    for (sizes, seed) in SIZES.iter().zip(111..) {
        for loss in LOSSES {
            let desk = Desk::new();
            desk.put("rows", vw(&sizes.of(loss.labels, seed), |i| i.to_string()));
            for learner in learners(loss) {
                for radius in ["1e-3", "2", "1e6"] {
                    let flags = format!("{} --learner {learner} --radius {radius}", loss.flags);
                    let back = "--hindsight --curve-hindsight --max-passes 100";
                    let line = format!("run rows {flags} {back} -q --json");
                    let output = desk.say(&line);
                    if output.status.success() {
                        let report = serde_json::from_slice(&output.stdout).expect("JSON");
                        assert_in_order(&report, &line);
                        in_order += 1;
                    } else {
                        let complaint = String::from_utf8_lossy(&output.stderr);
                        assert_eq!(output.status.code(), Some(1), "{line}: {complaint}");
                        assert!(complaint.starts_with("error: "), "{line}: {complaint}");
                        refused += 1;
                    }
                }
            }
        }
    }
    assert!(in_order > 20 * refused, "{in_order} runs in order, {refused} refused");
}

#[test]
fn audits_are_in_order() {
    for (sizes, seed) in SIZES.iter().zip(121..) {
        for loss in LOSSES {
            let desk = Desk::new();
            let rows = sizes.of(loss.labels, seed);
            desk.put("rows", libsvm(&rows, own));
            desk.put("said", predictions(&rows));
            for radius in ["1e-3", "2", "1e6"] {
                let flags =
                    format!("{} --radius {radius} --hindsight --max-passes 100", loss.flags);
                let report = desk.json(&format!("audit rows --predictions said {flags}"));
                let certificate = number(&report, "certificate");
                let lower = number(&report, "regret.lower");
                assert!(lower <= certificate, "{flags}: {lower} above {certificate}");
                let proves = report["beats_every_linear_predictor"] == true;
                assert_eq!(proves, certificate < 0.0, "{flags}");
            }
        }
    }
}
