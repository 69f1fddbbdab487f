//! What a model says of an example, and why.

use crate::hindsight::Weight;
use crate::model::Model;
use rueful_core::figures::Scorecard;
use rueful_core::loss::{Labels, Loss};
use rueful_core::{Example, Features, Round};
use rueful_data::Names;
use serde::Serialize;

/// A prediction in its several forms.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Scored {
    /// w·x
    pub score: f64,
    /// The label it stands for, as labels are written in the data; for numbers, the score.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// How likely the positive label is, for the logistic loss.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probability: Option<f64>,
}

/// A prediction taken apart: the contributions add up to the score.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Explanation {
    /// What is predicted.
    #[serde(flatten)]
    pub scored: Scored,
    /// w_i x_i, the largest first.
    pub contributions: Vec<Contribution>,
    /// What no feature decides, so that all adds up to the score: 0 where the prediction is linear.
    pub rest: f64,
}

/// What one feature adds to a score.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Contribution {
    /// Its index.
    pub index: u32,
    /// Its name, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// x_i
    pub value: f32,
    /// w_i
    pub weight: f64,
    /// w_i x_i
    pub contribution: f64,
}

impl Model {
    /// What it says of an example.
    pub fn score(&self, x: &Features<'_>) -> Scored {
        let score = self.run.predict(x);
        Scored {
            score,
            label: self.label_of(score),
            probability: self.task().loss.probability(score),
        }
    }

    fn label_of(&self, score: f64) -> Option<String> {
        match self.task().loss.labels() {
            Labels::Numbers => Some(score.to_string()),
            Labels::Signs => self.class_of(score > 0.0),
        }
    }

    /// How the label of a class is written in the data. The negative one must have been seen.
    pub fn class_of(&self, is_positive: bool) -> Option<String> {
        let positive = self.data.positive.as_deref().unwrap_or("1");
        if is_positive {
            return Some(positive.to_owned());
        }
        let counted = self.stream.before.labels.counts.iter().chain(&self.stream.now.labels.counts);
        let is_other = |label: &&String| {
            *label != positive
                && (label.parse::<f64>().is_err() || label.parse::<f64>() != positive.parse())
        };
        counted.map(|(label, _)| label).find(is_other).cloned()
    }

    /// What a score costs, given the label.
    pub fn judge(&self, score: f64, label: f64) -> f64 {
        Round::of(&self.task().loss, score, label).value
    }

    /// The figures of predictions, before the first. The AUC is exact for up to four million
    /// distinct scores.
    pub fn scorecard(&self) -> Scorecard {
        Scorecard::new(self.task().loss).with_sketches_of(1 << 22)
    }

    /// Takes a prediction apart.
    pub fn explain(&self, example: &Example<'_>, names: &Names) -> Explanation {
        let x = &example.features;
        let (cells, weights) = (self.run.ledger().cells(), self.run.learner().weights());
        let (all, rest) = self.run.contributions(x);
        let contribution = |((i, value), contribution): ((usize, f64), f64)| {
            let cell = cells.cell(i as u32);
            let weight = cell.and_then(|cell| weights.get(cell)).copied().unwrap_or(0.0);
            let name = self.name_of(i as u32, names);
            Contribution { index: i as u32, name, value: value as f32, weight, contribution }
        };
        let mut contributions: Vec<_> = x.iter().zip(all).map(contribution).collect();
        contributions.sort_by(|a, b| {
            b.contribution.abs().total_cmp(&a.contribution.abs()).then(a.index.cmp(&b.index))
        });
        Explanation { scored: self.score(x), contributions, rest }
    }

    /// What a feature is called: in the data at hand, or in those that were learned from.
    pub fn name_of(&self, index: u32, names: &Names) -> Option<String> {
        if index == 0 && self.data.constant {
            return Some("constant".to_owned());
        }
        let known = [names, &self.stream.now.names, &self.stream.before.names];
        known.iter().find_map(|names| names.get(index))
    }

    /// Its weights that are not 0, the largest first.
    pub fn weights(&self) -> Vec<Weight> {
        let none = Names::default();
        let weights = self.run.weights().into_iter().filter(|&(_, weight)| weight != 0.0);
        let mut weights: Vec<Weight> = weights
            .map(|(index, weight)| Weight { index, name: self.name_of(index, &none), weight })
            .collect();
        weights
            .sort_by(|a, b| b.weight.abs().total_cmp(&a.weight.abs()).then(a.index.cmp(&b.index)));
        weights
    }
}
