//! Runs with every learner, and with every set that flags and spec files can name.

use crate::figures::{Agree, ROUNDING};
use crate::harness::Desk;
use crate::stream::{COLUMNS, Loss, learners};
use serde_json::{Value, json};

/// The settings of a run, without its data.
#[derive(Debug, Clone)]
pub(crate) struct Setup {
    /// Flags for `rueful run`.
    pub(crate) flags: String,
    /// The set of the weights and of the comparators, if flags cannot name it.
    set: Option<Set>,
}

/// A set that only a spec file can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Set {
    /// A box with its own sides for the constant and for every column. All other coordinates are 0.
    Sides,
    /// A box with the same interval for every coordinate, also for those that no column uses.
    Cube,
    /// All comparators. The set of the weights is that of the flags.
    WholeSpace,
}

impl Setup {
    pub(crate) fn flags(flags: String) -> Self {
        Self { flags, set: None }
    }

    /// Whether its set is a box whose sides belong to columns. The columns must then have numbers.
    pub(crate) fn has_sides(&self) -> bool {
        self.set == Some(Set::Sides)
    }

    /// Whether its set grows with the numbers of the columns.
    pub(crate) fn fills_space(&self) -> bool {
        self.set == Some(Set::Cube)
    }

    /// How closely figures agree if rows have their features in another order. The bank adds them up
    /// in singles.
    pub(crate) fn in_any_order(&self) -> Agree {
        let is_bank = ["--learner bank", "softmax"].iter().any(|word| self.flags.contains(word));
        if is_bank { Agree::Within(1e-5) } else { ROUNDING }
    }

    /// The words after `rueful run`. `file` is a file with the flags to read it, and `index` gives
    /// the numbers of its columns.
    pub(crate) fn line(&self, desk: &Desk, file: &str, index: impl Fn(u32) -> u32) -> String {
        let Some(set) = self.set else { return format!("{file} {}", self.flags) };
        let mut spec = desk.json(&format!("run {file} {} --print-spec", self.flags));
        match set {
            Set::Sides => spec["comparators"] = sides(index),
            Set::Cube => spec["comparators"] = json!({ "name": "box", "rest": [-0.5, 0.25] }),
            Set::WholeSpace => spec["comparators"] = json!({ "name": "whole-space" }),
        }
        if set != Set::WholeSpace {
            spec["learner"]["set"] = spec["comparators"].clone();
        }
        desk.put("spec.json", spec.to_string());
        "--spec spec.json".to_owned()
    }
}

/// A box around 0 with different sides for every column.
fn sides(index: impl Fn(u32) -> u32) -> Value {
    let rest = [0.0, 0.0];
    let mut sides = vec![rest; index(COLUMNS) as usize + 1];
    sides[0] = [-0.75, 0.5];
    for column in 1..=COLUMNS {
        let size = f64::from(column);
        sides[index(column) as usize] = [-0.125 * size, 0.25 * size];
    }
    json!({ "name": "box", "sides": sides, "rest": rest })
}

/// All setups for a loss: every learner, and every set.
pub(crate) fn setups(loss: Loss) -> Vec<Setup> {
    let flags = |flags: String| format!("{} {flags}", loss.flags);
    let mut all: Vec<Setup> = learners(loss)
        .map(|learner| Setup::flags(flags(format!("--learner {learner} --radius 2"))))
        .collect();
    all.push(Setup::flags(flags("--learner ogd --radius 2 --sigma 0.1".to_owned())));
    all.push(Setup::flags(flags("--learner strongly-convex-ogd --sigma 0.25".to_owned())));
    let boxed = ["ogd --schedule constant --eta 0.125", "erm", "regularized-erm --alpha 4"];
    for (learner, set) in boxed.into_iter().zip([Set::Sides; 3]).chain([(boxed[0], Set::Cube)]) {
        all.push(Setup { flags: flags(format!("--learner {learner}")), set: Some(set) });
    }
    all.push(Setup {
        flags: flags("--learner ogd --radius 2 --sigma 0.1".to_owned()),
        set: Some(Set::WholeSpace),
    });
    all
}

/// All setups for more than two classes: every loss, which has one learner, and every kind of ball.
pub(crate) fn setups_of_kinds() -> Vec<Setup> {
    let losses = ["softmax", "multiclass-hinge"];
    let all = losses.iter().flat_map(|loss| ["unit-free", "ball"].map(|ball| (loss, ball)));
    all.map(|(loss, ball)| Setup::flags(format!("--loss {loss} --comparators {ball} --radius 2")))
        .collect()
}
