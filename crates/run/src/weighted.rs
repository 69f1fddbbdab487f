//! Class weights: examples that count more, or less, for their label.
//!
//! The importance of an example is multiplied by the weight of its class where a source is opened,
//! so that learners, ledgers, solvers and surveys all see the same rows. An example of importance 0
//! is no example, and is left out as readers leave it out.

use crate::settings::{SettingsError, in_range};
use crate::spec::SpecError;
use rueful_core::loss::{AnyLoss, Labels};
use rueful_core::words::either;
use rueful_core::{Batch, OutOfRange};
use rueful_data::{
    Census, DataError, Delays, LabelsSeen, Names, Phrase, Source, Waiting, printable,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// How many times the examples of a class count: 0, or a number of reasonable size.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct ClassWeight(f64);

impl ClassWeight {
    /// Accepts 0 and numbers between 1e-30 and 1e30, the range of importances.
    pub fn new(weight: f64) -> Result<Self, OutOfRange> {
        if weight == 0.0 || (1e-30..=1e30).contains(&weight) {
            // Zero has no sign.
            Ok(Self(weight.abs()))
        } else {
            Err(OutOfRange { found: weight, expected: "0, or a number between 1e-30 and 1e30" })
        }
    }

    /// The weight as a number.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl Default for ClassWeight {
    fn default() -> Self {
        Self(1.0)
    }
}

impl TryFrom<f64> for ClassWeight {
    type Error = OutOfRange;
    fn try_from(weight: f64) -> Result<Self, OutOfRange> {
        Self::new(weight)
    }
}

impl From<ClassWeight> for f64 {
    fn from(weight: ClassWeight) -> f64 {
        weight.0
    }
}

/// How much the examples of the classes count: of two classes, or of many.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClassWeights {
    /// The weight of examples of the class +1.
    #[serde(default)]
    pub positive: ClassWeight,
    /// The weight of examples of the class −1.
    #[serde(default)]
    pub negative: ClassWeight,
    /// The weights of labels, where there are many classes. All others have the weight 1.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, ClassWeight>,
}

impl ClassWeights {
    /// The weights that were asked for, if any were. A weight that was left out is 1.
    pub fn asked(
        positive: Option<f64>,
        negative: Option<f64>,
    ) -> Result<Option<Self>, SettingsError> {
        if positive.is_none() && negative.is_none() {
            return Ok(None);
        }
        let weight = |setting, asked: Option<f64>| {
            asked.map_or(Ok(ClassWeight::default()), |weight| {
                in_range(setting, weight, ClassWeight::new)
            })
        };
        Ok(Some(Self {
            positive: weight("positive-weight", positive)?,
            negative: weight("negative-weight", negative)?,
            labels: BTreeMap::new(),
        }))
    }

    /// The weights of labels that were asked for, each as LABEL=W, if any were.
    pub fn of_labels(asked: &[String]) -> Result<Option<Self>, SettingsError> {
        let mut labels = BTreeMap::new();
        for one in asked {
            let (label, weight) = one.rsplit_once('=').unwrap_or((one, ""));
            let number: f64 = weight.parse().map_err(|_| no_label_weight(one))?;
            let weight = in_range("class-weight", number, ClassWeight::new)?;
            if labels.insert(label.to_owned(), weight).is_some() {
                let twice = Phrase::default().setting("class-weight");
                return Err(SettingsError::Contradiction(
                    twice.and(format!(" is given twice for {label:?}")),
                ));
            }
        }
        Ok((!labels.is_empty()).then(|| Self { labels, ..Self::default() }))
    }

    /// Whether labels have weights, and not the two classes +1 and −1.
    pub fn is_by_label(&self) -> bool {
        !self.labels.is_empty()
    }

    /// Refuses weights where there are no classes, and weights that leave no examples. There are
    /// two classes where a loss takes signs, and where a label is said to be +1.
    pub(crate) fn check(&self, labels: Labels, names_positive: bool) -> Result<(), SpecError> {
        if self.is_by_label() {
            return Err(SpecError::new(
                "the weights of labels are for many classes, and here are two, or numbers: give the \
                 weights of +1 and -1",
            ));
        }
        if labels == Labels::Numbers && !names_positive {
            return Err(SpecError::new(format!(
                "class weights are for the classes +1 and -1, and the labels of this loss are \
                 numbers: leave the weights out, or choose {}",
                either(&AnyLoss::classifiers())
            )));
        }
        if self.positive.get() == 0.0 && self.negative.get() == 0.0 {
            return Err(SpecError::new(
                "both classes have the weight 0: one of them must be above it, or nothing is left",
            ));
        }
        Ok(())
    }

    /// Whether a class is left out altogether.
    pub(crate) fn leave_out(&self) -> bool {
        let labels = self.labels.values().copied();
        [self.positive, self.negative].into_iter().chain(labels).any(|one| one.get() == 0.0)
    }

    fn of(&self, label: f64) -> f64 {
        if label > 0.0 { self.positive.get() } else { self.negative.get() }
    }

    /// The weight of every label, in order.
    fn of_each(&self, labels: &LabelsSeen) -> Vec<f64> {
        let of = |(label, _): &(String, u64)| self.labels.get(label).copied().unwrap_or_default();
        labels.counts.iter().map(|label| of(label).get()).collect()
    }
}

impl fmt::Display for ClassWeights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_by_label() {
            let one = |(label, weight): (&String, &ClassWeight)| {
                format!("{} counts {}", printable(label), weight.get())
            };
            return f.write_str(&self.labels.iter().map(one).collect::<Vec<_>>().join(", "));
        }
        write!(f, "+1 counts {}, -1 counts {}", self.positive.get(), self.negative.get())
    }
}

/// The refusal of a weight that is not written as LABEL=W.
#[cold]
fn no_label_weight(found: &str) -> SettingsError {
    let expected = format!(": found {found:?}, expected a label and its weight: LABEL=2.5");
    SettingsError::Contradiction(Phrase::default().setting("class-weight").and(expected))
}

/// A source whose rows count as much as their class says.
pub(crate) struct Weighted {
    rows: Box<dyn Source>,
    weights: ClassWeights,
    /// The weights of the classes so far, by number, where there are many.
    by_class: Vec<f64>,
    /// The name of the data in errors.
    name: String,
    /// The rows as they came from the source.
    plain: Batch,
    /// The census of the rows that are left, where a class is left out.
    left: Option<Census>,
    ending: Ending,
}

/// The state after the rows that were delivered so far.
enum Ending {
    Open,
    Fault(DataError),
    Over,
}

impl Weighted {
    /// The rows of a source, with weights.
    pub(crate) fn new(rows: Box<dyn Source>, weights: ClassWeights, name: String) -> Self {
        let left = weights.leave_out().then(Census::default);
        Self {
            rows,
            weights,
            by_class: Vec::new(),
            name,
            plain: Batch::default(),
            left,
            ending: Ending::Open,
        }
    }

    /// Looks up the weights of classes that are new.
    fn look_up(&mut self) {
        let known = self.by_class.len() as f64;
        if self.weights.is_by_label() && self.plain.rows().labels().iter().any(|&y| y >= known) {
            self.by_class = self.weights.of_each(&self.rows.labels());
        }
    }

    /// Weighs the rows that came, up to the first that cannot be weighed.
    fn weigh(&mut self, batch: &mut Batch) {
        self.look_up();
        let Self { weights, by_class, .. } = self;
        let weight_of = |label: f64| match weights.is_by_label() {
            true => by_class.get(label as usize).copied().unwrap_or(1.0),
            false => weights.of(label),
        };
        let weighed = batch.map_rows(
            self.plain.rows(),
            |features| features,
            |example, row| {
                row.weigh(weight_of(example.label));
                row.copy(&example.features)
            },
        );
        if let Err(why) = weighed {
            self.ending = Ending::Fault(DataError::Unsuitable {
                file: self.name.clone(),
                found: format!("an example whose importance and class weight make too much: {why}"),
                expected: "a product within the range: choose other weights".into(),
            });
        }
    }
}

impl Source for Weighted {
    fn fill(&mut self, batch: &mut Batch) -> Result<bool, DataError> {
        batch.clear();
        while let Ending::Open = self.ending {
            if !self.rows.fill(&mut self.plain)? {
                return Ok(false);
            }
            self.weigh(batch);
            if let Some(left) = &mut self.left {
                left.count(batch.rows());
            }
            if !batch.is_empty() {
                return Ok(true);
            }
        }
        match std::mem::replace(&mut self.ending, Ending::Over) {
            Ending::Fault(error) => Err(error),
            Ending::Open | Ending::Over => Ok(false),
        }
    }

    fn census(&self) -> &Census {
        self.left.as_ref().unwrap_or_else(|| self.rows.census())
    }

    fn bytes_read(&self) -> u64 {
        self.rows.bytes_read()
    }

    fn names(&self) -> &Names {
        self.rows.names()
    }

    fn labels(&self) -> LabelsSeen {
        self.rows.labels()
    }

    /// Returns nothing where a class is left out, because there are predictions for rows that are
    /// left out.
    fn predictions(&self) -> &[f64] {
        if self.left.is_some() { &[] } else { self.rows.predictions() }
    }

    fn delays(&self) -> Option<&Delays> {
        self.rows.delays()
    }

    fn waiting(&self) -> Option<&Waiting> {
        self.rows.waiting()
    }

    fn place(&self, row: usize) -> Option<String> {
        if self.left.is_some() { None } else { self.rows.place(row) }
    }

    fn missing(&self) -> &[u64] {
        self.rows.missing()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rueful_data::{
        Bits, Follow, Input, Interactions, LabelRule, NamespaceRules, Reader, Reading, Schema,
    };

    const TEXT: &str = "1 0.5 |a x\n-1 |a y\n1 |a x:2\n-1 3 |b z\n-1 |a x\n";

    fn rows(text: &'static str) -> Box<dyn Source> {
        let input = Input::new("text", text.as_bytes(), &Follow::No).unwrap();
        let schema = Schema::Vw {
            bits: Bits::default(),
            interactions: Interactions::default(),
            namespaces: NamespaceRules::default(),
            id: false,
        };
        Box::new(Reader::new(vec![input], &schema, &Reading::new(LabelRule::Signs)))
    }

    fn weighted(text: &'static str, positive: f64, negative: f64) -> Weighted {
        let weights = ClassWeights::asked(Some(positive), Some(negative)).unwrap().unwrap();
        Weighted::new(rows(text), weights, "text".to_owned())
    }

    /// The label, importance and features of every row.
    fn all(source: &mut dyn Source) -> Vec<(f64, f64, Vec<u32>)> {
        let (mut batch, mut all) = (Batch::default(), Vec::new());
        while source.fill(&mut batch).unwrap() {
            assert!(!batch.is_empty());
            let row = |row: rueful_core::Example<'_>| {
                (row.label, row.importance.get(), row.features.indices().to_vec())
            };
            all.extend(batch.iter().map(row));
        }
        assert!(!source.fill(&mut batch).unwrap() && batch.is_empty());
        all
    }

    #[test]
    fn importances_are_multiplied() {
        let mut source = weighted(TEXT, 2.0, 0.25);
        let importances: Vec<f64> = all(&mut source).iter().map(|row| row.1).collect();
        assert_eq!(importances, [1.0, 0.25, 2.0, 0.75, 0.25]);
        let mut plain = rows(TEXT);
        all(&mut *plain);
        assert_eq!(source.census(), plain.census());
        assert_eq!(source.bytes_read(), TEXT.len() as u64);
    }

    /// The weight 0.1 stays the double 0.1.
    #[test]
    fn weights_are_not_rounded_to_singles() {
        let mut source = weighted(TEXT, 0.1, 1.0);
        assert_eq!(all(&mut source)[2].1, 0.1);
    }

    #[test]
    fn a_class_of_weight_0_does_not_count() {
        let mut source = weighted(TEXT, 2.0, 0.0);
        let importances: Vec<f64> = all(&mut source).iter().map(|row| row.1).collect();
        assert_eq!(importances, [1.0, 0.0, 2.0, 0.0, 0.0]);
        let mut same = rows("1 1 |a x\n1 2 |a x:2\n");
        all(&mut *same);
        assert_eq!(source.census(), same.census());
        let mut none = weighted("-1 |a x\n-1 |a y\n", 1.0, 0.0);
        assert_eq!(all(&mut none).len(), 2);
        assert_eq!(none.census().examples, 0);
    }

    #[test]
    fn what_is_too_large_comes_after_what_is_not() {
        let mut source = weighted("1 |a x\n1 1e29 |a x\n1 |a x\n", 1e3, 1.0);
        let mut batch = Batch::default();
        assert!(source.fill(&mut batch).unwrap());
        assert_eq!((batch.len(), batch.get(0).importance.get()), (1, 1e3));
        let error = source.fill(&mut batch).unwrap_err().to_string();
        assert!(error.contains("choose other weights"), "{error}");
        assert!(!source.fill(&mut batch).unwrap());
    }

    #[test]
    fn weights_without_classes_or_examples_are_refused() {
        let both = ClassWeights::default();
        assert!(both.check(Labels::Signs, false).is_ok());
        assert!(both.check(Labels::Numbers, true).is_ok());
        assert!(both.check(Labels::Numbers, false).is_err());
        let none = ClassWeights::asked(Some(0.0), Some(0.0)).unwrap().unwrap();
        assert!(none.check(Labels::Signs, false).is_err());
        for weight in [-1.0, f64::NAN, f64::INFINITY, 1e31, 1e-31] {
            let error = ClassWeights::asked(None, Some(weight)).unwrap_err().to_string();
            assert!(error.starts_with("negative-weight: "), "{error}");
        }
        assert_eq!(ClassWeights::asked(None, None).unwrap(), None);
    }
}
