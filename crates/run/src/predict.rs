//! The predictions of a model, and the reasons for them.

use crate::hindsight::Weight;
use crate::learning::Learning;
use crate::model::Model;
use rueful_core::figures::Scorecard;
use rueful_core::loss::{Labels, Loss};
use rueful_core::{Example, Features, Round, Rows};
use rueful_data::Names;
use serde::Serialize;
use std::cmp::Ordering;

/// A prediction in its several forms.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Scored {
    /// The score, w·x.
    pub score: f64,
    /// The label that the score stands for, as labels are written in the data. If labels are
    /// numbers, it is the score.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The probability of the positive label, for the logistic loss.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probability: Option<f64>,
}

/// A prediction as a sum: the contributions and the rest add up to the score.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Explanation {
    /// The prediction.
    #[serde(flatten)]
    pub scored: Scored,
    /// The contributions w_i x_i, the largest first.
    pub contributions: Vec<Contribution>,
    /// The part of the score that no feature decides. It is 0 if the prediction is linear.
    pub rest: f64,
}

/// The contribution of one feature to a score.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Contribution {
    /// Its index.
    pub index: u32,
    /// Its name, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The column of which it is a part, if the column became several features.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
    /// Its value, x_i.
    pub value: f32,
    /// w_i
    pub weight: f64,
    /// w_i x_i
    pub contribution: f64,
}

impl Model {
    /// Returns the prediction for an example.
    pub fn score(&self, x: &Features<'_>) -> Scored {
        let score = self.learned().predict(x);
        Scored {
            score,
            label: self.label_of(score),
            probability: self.task().loss.probability(score),
        }
    }

    /// Predicts some rows, in order, and overwrites `scored` and `rounds`. The rounds are those in
    /// which the predictions are judged by the labels.
    pub fn score_rows(&self, rows: Rows<'_>, scored: &mut Vec<Scored>, rounds: &mut Vec<Round>) {
        scored.clear();
        rounds.clear();
        for example in rows.iter() {
            let one = self.score(&example.features);
            rounds.push(Round::on(&self.task().loss, one.score, &example));
            scored.push(one);
        }
    }

    fn label_of(&self, score: f64) -> Option<String> {
        match self.task().loss.labels() {
            Labels::Numbers => Some(score.to_string()),
            Labels::Signs => self.class_of(score > 0.0),
        }
    }

    /// Returns the label of a class as it is written in the data. The negative label is known only
    /// if it was seen.
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

    /// Returns the loss of a score, given the label.
    pub fn judge(&self, score: f64, label: f64) -> f64 {
        Round::of(&self.task().loss, score, label).value
    }

    /// Returns an empty scorecard for predictions. Its AUC is exact for up to four million distinct
    /// scores.
    pub fn scorecard(&self) -> Scorecard {
        Scorecard::new(self.task().loss).with_sketches_of(1 << 22)
    }

    /// Explains a prediction as a sum over its features.
    pub fn explain(&self, example: &Example<'_>, names: &Names) -> Explanation {
        let x = &example.features;
        let (cells, weights) =
            (self.learned().ledger().cells(), self.learned().learner().weights());
        let (all, rest) = self.learned().contributions(x);
        let contribution = |((i, value), contribution): ((usize, f64), f64)| {
            let cell = cells.cell(i as u32);
            let weight = cell.and_then(|cell| weights.get(cell)).copied().unwrap_or(0.0);
            let name = self.name_of(i as u32, names);
            let column = column_of(self, name.as_deref());
            Contribution {
                index: i as u32,
                name,
                column,
                value: value as f32,
                weight,
                contribution,
            }
        };
        let mut contributions: Vec<_> = x.iter().zip(all).map(contribution).collect();
        contributions.sort_by(by_size);
        Explanation { scored: self.score(x), contributions, rest }
    }

    /// Returns the name of a feature in the data at hand or in the data that the model has learned
    /// from.
    pub fn name_of(&self, index: u32, names: &Names) -> Option<String> {
        name_of(self, index, names)
    }

    /// Returns the weights that are not 0, the largest first.
    pub fn weights(&self) -> Vec<Weight> {
        let none = Names::default();
        let weights = self.learned().weights().into_iter().filter(|&(_, weight)| weight != 0.0);
        let mut weights: Vec<Weight> = weights
            .map(|(index, weight)| Weight {
                index,
                name: self.name_of(index, &none),
                class: None,
                weight,
            })
            .collect();
        weights
            .sort_by(|a, b| b.weight.abs().total_cmp(&a.weight.abs()).then(a.index.cmp(&b.index)));
        weights
    }
}

/// Compares contributions by their size, the largest first.
pub(crate) fn by_size(a: &Contribution, b: &Contribution) -> Ordering {
    b.contribution.abs().total_cmp(&a.contribution.abs()).then(a.index.cmp(&b.index))
}

/// The column that a feature is a part of, if the column became several features.
pub(crate) fn column_of<R: Learning>(model: &Model<R>, name: Option<&str>) -> Option<String> {
    model.data.schema.expansion()?.part_of(name?).map(str::to_owned)
}

/// The name of a feature in the data at hand or in the data that a model has learned from.
pub(crate) fn name_of<R: Learning>(model: &Model<R>, index: u32, names: &Names) -> Option<String> {
    if index == 0 && model.data.constant {
        return Some("constant".to_owned());
    }
    let known = [names, &model.stream.now.names, &model.stream.before.names];
    known.iter().find_map(|names| names.get(index))
}
