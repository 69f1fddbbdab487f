//! Runs of every kind: learners, and the sets that flags and spec files can name.

use crate::harness::Desk;
use crate::stream::{COLUMNS, Loss, learners};
use serde_json::{Value, json};

/// What a run is told, but for its data.
#[derive(Debug, Clone)]
pub(crate) struct Setup {
    /// Flags for `rueful run`.
    pub(crate) flags: String,
    /// Where weights and comparators lie, if flags cannot say it.
    set: Option<Set>,
}

/// A set that takes a spec file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Set {
    /// A box with sides of its own for the constant and for every column, and no room elsewhere.
    Sides,
    /// A box with the same interval everywhere, whether or not there is a column.
    Cube,
    /// All comparators; the weights stay where the flags say.
    WholeSpace,
}

impl Setup {
    pub(crate) fn flags(flags: String) -> Self {
        Self { flags, set: None }
    }

    /// Whether it has a box whose sides belong to columns, which must then have numbers.
    pub(crate) fn has_sides(&self) -> bool {
        self.set == Some(Set::Sides)
    }

    /// Whether it has a set that is the larger, the larger the numbers of columns are.
    pub(crate) fn fills_space(&self) -> bool {
        self.set == Some(Set::Cube)
    }

    /// The words after `rueful run` for a file, and how to read it, whose columns have the numbers that
    /// `index` gives.
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

/// A box around 0 that is different in every coordinate that can be seen.
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

/// Every learner on a loss, and every set.
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
