//! The predictions of a model of many classes, and the reasons for them.

use super::run::ClassRun;
use crate::hindsight::Weight;
use crate::model::Model;
use crate::predict::{Contribution, by_size, column_of, name_of};
use rueful_core::{Example, Features};
use rueful_data::Names;
use serde::Serialize;

/// A prediction for many classes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClassScored {
    /// The number of the predicted class, or `None` if no class was seen.
    #[serde(skip)]
    pub class: Option<u32>,
    /// The label of the predicted class; null if no class was seen.
    pub label: Option<String>,
    /// The probability of every class, in the order in which they first appeared, if the learner
    /// has probabilities.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probabilities: Option<Vec<f64>>,
    /// The probability of a class that has not been seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unseen: Option<f64>,
    /// The score of every class, in the same order: ln of the probability, or w·x where there are
    /// no probabilities.
    pub scores: Vec<f64>,
}

/// What a model says of one class, as a sum: the contributions and the rest add up to the score.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClassExplanation {
    /// The prediction.
    #[serde(flatten)]
    pub scored: ClassScored,
    /// The label of the class that is explained.
    pub class: String,
    /// ln(p/(1 − p)) of its probability p, or its score where there are no probabilities.
    pub score: f64,
    /// The contributions of the features, the largest first. A weight is a contribution divided by
    /// the value.
    pub contributions: Vec<Contribution>,
    /// The part of the score that no feature decides.
    pub rest: f64,
}

impl ClassScored {
    /// The loss of the prediction for an example of a class, before its importance.
    pub fn loss(&self, class: u32) -> f64 {
        let place = class as usize;
        if let Some(probabilities) = &self.probabilities {
            let share = probabilities.get(place).copied().filter(|&share| share > 0.0);
            return -share.or(self.unseen).unwrap_or(0.0).ln();
        }
        let others = self.scores.iter().enumerate().filter(|&(other, _)| other != place);
        let rival = others.map(|(_, &score)| score).reduce(f64::max);
        let own = self.scores.get(place).copied().unwrap_or(0.0);
        rival.map_or(0.0, |rival| (1.0 + rival - own).max(0.0))
    }
}

/// The place of the largest number, and the first of them if there are ties.
pub(super) fn largest(numbers: &[f64]) -> Option<u32> {
    let better = |best: usize, at: usize| if numbers[at] > numbers[best] { at } else { best };
    (0..numbers.len()).reduce(better).map(|place| place as u32)
}

impl Model<ClassRun> {
    /// Returns the prediction for an example.
    pub fn score(&self, x: &Features<'_>) -> ClassScored {
        let run = self.learned();
        let Some((probabilities, unseen)) = run.probabilities(x) else {
            let scores = run.scores(x);
            let class = largest(&scores);
            let label = class.map(|class| run.name_of(class));
            return ClassScored { class, label, probabilities: None, unseen: None, scores };
        };
        let class = largest(&probabilities);
        let scores = probabilities.iter().map(|share| share.ln()).collect();
        let label = class.map(|class| run.name_of(class));
        let (probabilities, unseen) = (Some(probabilities), Some(unseen));
        ClassScored { class, label, probabilities, unseen, scores }
    }

    /// Returns the weights that are not 0, the largest first. A bank has the weights of its pool,
    /// whose scores differ from those of an example by how much it moderates them.
    pub fn weights(&self) -> Vec<Weight> {
        let (run, none) = (self.learned(), Names::default());
        let features = run.ledger().cells().by_cell();
        let weight = |class: &str, (cell, weight): (usize, f64)| Weight {
            index: features[cell],
            name: name_of(self, features[cell], &none),
            class: Some(class.to_owned()),
            weight,
        };
        let mut all = Vec::new();
        for class in 0..run.classes() {
            let Some(weights) = run.learner().weights(class) else { continue };
            let class = run.name_of(class);
            let some = weights.into_iter().enumerate().filter(|&(_, weight)| weight != 0.0);
            all.extend(some.map(|one| weight(&class, one)));
        }
        all.sort_by(|a, b| b.weight.abs().total_cmp(&a.weight.abs()).then(a.index.cmp(&b.index)));
        all
    }

    /// Explains what the model says of a class, or of the predicted class. `None` if the class was
    /// not seen.
    pub fn explain(
        &self,
        example: &Example<'_>,
        class: Option<u32>,
        names: &Names,
    ) -> Option<ClassExplanation> {
        let x = &example.features;
        let scored = self.score(x);
        let class = class.or(scored.class)?;
        let (added, rest) = self.learned().contributions(x, class)?;
        let contribution = |((i, value), contribution): ((usize, f64), f64)| {
            let name = name_of(self, i as u32, names);
            Contribution {
                index: i as u32,
                column: column_of(self, name.as_deref()),
                name,
                value: value as f32,
                weight: if value == 0.0 { 0.0 } else { contribution / value },
                contribution,
            }
        };
        let mut contributions: Vec<_> = x.iter().zip(added).map(contribution).collect();
        contributions.sort_by(by_size);
        let score = contributions.iter().map(|one| one.contribution).sum::<f64>() + rest;
        let class = self.run.name_of(class);
        Some(ClassExplanation { scored, class, score, contributions, rest })
    }
}
