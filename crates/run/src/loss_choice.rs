//! The loss that follows from the labels.
//!
//! | labels at the beginning | loss | +1 |
//! |---|---|---|
//! | two | `logistic` | the larger number, or the later name |
//! | −1, 0 or 1 alone | `logistic` | 1 |
//! | other numbers | `square` | |
//! | another name alone, three names or more | `softmax` | |
//!
//! It is a function of the labels alone: neither their order nor how often each appears matters.

use rueful_core::loss::Labels;
use rueful_data::{FirstLabels, Inferred, LabelRule, Phrase, argument, printable};
use std::cmp::Ordering;

/// The loss for two classes, the loss for quantities, and the loss for many classes.
const CLASSES: &str = "logistic";
const QUANTITIES: &str = "square";
const MANY: &str = "softmax";

/// Whole numbers may be classes if there are no more than this many different ones.
const FEW: usize = 20;

/// The number of labels that are listed one by one.
const SHOWN: usize = 6;

/// The number of characters of a label that are shown.
const EXCERPT: usize = 40;

/// The loss that follows from labels, and how the labels are read.
#[derive(Debug, Clone, PartialEq)]
pub struct LossChoice {
    /// A name of [`ClassLoss::WITH_OTHERS`](crate::ClassLoss::WITH_OTHERS).
    pub loss: &'static str,
    /// The label that becomes +1, where labels are not numbers that say so themselves.
    pub positive: Option<String>,
    /// The rule by which labels are read from here on.
    pub rule: LabelRule,
    /// The notes on what was inferred, in words.
    pub notes: Vec<Phrase>,
}

impl LossChoice {
    /// The loss for the labels that data begin with.
    ///
    /// ```
    /// use rueful_data::{FirstLabels, LabelsSeen};
    /// use rueful_run::LossChoice;
    ///
    /// let counts = vec![("spam".to_owned(), 3), ("ham".to_owned(), 9)];
    /// let labels = LabelsSeen { counts, is_cut: false };
    /// let first = FirstLabels { rows: 12, labels, positive: None };
    /// let choice = LossChoice::new(&first);
    /// assert_eq!((choice.loss, choice.positive.as_deref()), ("logistic", Some("spam")));
    /// ```
    pub fn new(first: &FirstLabels) -> Self {
        if let Some(positive) = &first.positive {
            return Self::one_against_the_rest(first, positive);
        }
        let seen = Seen::new(first);
        match &seen.labels[..] {
            // The reader tells what is wrong.
            [] => Self::signs(LabelRule::Signs, Vec::new()),
            [one] if one.is_sign() => Self::one_sign(&seen, one),
            [one] if one.is_truth() => {
                let [negative, positive] = TRUTHS.map(Label::new);
                Self::two(&seen, &negative, &positive)
            }
            [one] if one.number.is_none() => Self::one_name(&seen, one),
            [negative, positive] if !seen.is_cut => Self::two(&seen, negative, positive),
            labels if labels.iter().all(|label| label.number.is_some()) => Self::numbers(&seen),
            _ => Self::many(&seen),
        }
    }

    /// The loss where a person says which label is +1. All others are −1.
    pub fn one_against_the_rest(first: &FirstLabels, positive: &str) -> Self {
        let seen = Seen::new(first);
        let label = Label::new(positive);
        let said = format!(
            "learning the odds of {} against all other labels with the {CLASSES} loss",
            label.shown()
        );
        let mut notes = vec![said.into()];
        notes.extend(seen.without(&label));
        Self {
            loss: CLASSES,
            positive: Some(positive.to_owned()),
            rule: LabelRule::Positive(positive.to_owned()),
            notes,
        }
    }

    /// The choice for labels that are stored, if they are two names. Numbers are stored as they are,
    /// be they classes or not. If there are more names, they are returned in words.
    pub(crate) fn of_names(first: &FirstLabels) -> Result<Option<Self>, String> {
        let seen = Seen::new(first);
        if seen.labels.iter().all(|label| label.number.is_some()) {
            return Ok(None);
        }
        Self::of_two(first).map(Some).ok_or_else(|| seen.list())
    }

    /// The choice for a loss that takes signs and was asked for. Two labels that are not signs are
    /// classes, and the later of them is +1. For all other labels the reader has its own rules.
    pub fn of_two(first: &FirstLabels) -> Option<Self> {
        let seen = Seen::new(first);
        let [negative, positive] = &seen.labels[..] else { return None };
        if seen.is_cut || first.positive.is_some() || are_signs(negative, positive) {
            return None;
        }
        let (named, shown) = (seen.list(), positive.shown());
        let note = Phrase::from(format!("labels are {named}: {shown} counts as +1, unless "))
            .setting("positive")
            .and(" says otherwise");
        let reason = Phrase::from(format!("{} only {named}, of which ", seen.have()))
            .and(format!("{shown} was taken for +1: "))
            .setting("positive")
            .and(format!(" {} takes one class against the rest", argument(&positive.text)));
        let rule = LabelRule::Inferred(Inferred::two(&negative.text, &positive.text, reason));
        let positive = Some(positive.text.clone());
        Some(Self { loss: CLASSES, positive, rule, notes: vec![note] })
    }

    fn signs(rule: LabelRule, notes: Vec<Phrase>) -> Self {
        Self { loss: CLASSES, positive: None, rule, notes }
    }

    fn one_sign(seen: &Seen, one: &Label) -> Self {
        let (have, shown) = (seen.have(), one.shown());
        let note =
            format!("{have} the label {shown}: learning the odds of 1 with the {CLASSES} loss");
        let reason = Phrase::from(format!("{have} only {shown}, "))
            .and("which was taken for one of two classes: ")
            .setting("loss")
            .and(format!(" {QUANTITIES} takes any number, "))
            .setting("loss")
            .and(format!(" {MANY} any number of classes, "))
            .setting("positive")
            .and(" LABEL one class against the rest");
        let rule = LabelRule::Inferred(Inferred::new(Labels::Signs, reason));
        Self::signs(rule, vec![note.into()])
    }

    fn two(seen: &Seen, negative: &Label, positive: &Label) -> Self {
        let (named, shown) = (seen.list(), positive.shown());
        let note = format!(
            "{} {named}: learning their odds with the {CLASSES} loss, {shown} counts as +1",
            if seen.labels.len() == 1 { "all labels are" } else { "labels are" }
        );
        let mut reason = Phrase::from(format!("{} only {named}, ", seen.have()))
            .and("which was taken for two classes: ");
        let mut takes = " takes";
        if seen.labels.iter().all(|label| label.number.is_some()) {
            reason = reason.setting("loss").and(format!(" {QUANTITIES} takes any number, "));
            takes = "";
        }
        reason = reason.setting("loss").and(format!(" {MANY}{takes} any number of classes, "));
        let named = format!(" {} one class against the rest", argument(&positive.text));
        let reason = reason.setting("positive").and(named);
        let rule = LabelRule::Inferred(Inferred::two(&negative.text, &positive.text, reason));
        let is_said = are_signs(negative, positive);
        let positive = (!is_said).then(|| positive.text.clone());
        Self { loss: CLASSES, positive, rule, notes: vec![note.into()] }
    }

    fn numbers(seen: &Seen) -> Self {
        let note = format!("labels are numbers: learning them with the {QUANTITIES} loss");
        let mut notes = vec![note.into()];
        notes.extend(seen.may_be_classes());
        let reason = Phrase::from(format!("{} only numbers, ", seen.have()))
            .and("which were taken for quantities: ")
            .setting("loss")
            .and(format!(" {MANY} takes any number of classes, "))
            .setting("positive")
            .and(" LABEL one class against the rest");
        let rule = LabelRule::Inferred(Inferred::new(Labels::Numbers, reason));
        Self { loss: QUANTITIES, positive: None, rule, notes }
    }

    fn one_name(seen: &Seen, one: &Label) -> Self {
        let note = Phrase::from(format!("{} only the label {}", seen.have(), one.shown()))
            .and(format!(": learning classes as they come with the {MANY} loss; "))
            .setting("positive")
            .and(" LABEL learns one of them against the rest");
        Self { loss: MANY, positive: None, rule: LabelRule::Classes, notes: vec![note] }
    }

    fn many(seen: &Seen) -> Self {
        let note = Phrase::from(format!("labels are {}", seen.list()))
            .and(format!(": learning the probabilities of all of them with the {MANY} loss"));
        Self { loss: MANY, positive: None, rule: LabelRule::Classes, notes: vec![note] }
    }
}

/// A label, and its number if it is one.
#[derive(Debug, Clone, PartialEq)]
struct Label {
    text: String,
    number: Option<f64>,
}

/// The words for a format's own truth values.
const TRUTHS: [&str; 2] = ["false", "true"];

impl Label {
    fn new(text: &str) -> Self {
        let number = text.trim().parse().ok().filter(|number: &f64| number.is_finite());
        Self { text: text.to_owned(), number }
    }

    fn is_sign(&self) -> bool {
        self.number.is_some_and(|number| [-1.0, 0.0, 1.0].contains(&number))
    }

    fn is_truth(&self) -> bool {
        TRUTHS.contains(&self.text.as_str())
    }

    fn is(&self, other: &Self) -> bool {
        self.text == other.text || self.number.is_some() && self.number == other.number
    }

    /// Compares numbers by their size, and anything else by the alphabet.
    fn compare(&self, other: &Self) -> Ordering {
        match (self.number, other.number) {
            (Some(one), Some(other)) => one.total_cmp(&other),
            _ => self.text.cmp(&other.text),
        }
    }

    fn shown(&self) -> String {
        match self.number {
            Some(_) => self.text.clone(),
            None if self.text.chars().count() <= EXCERPT => {
                format!("\"{}\"", printable(&self.text))
            }
            None => {
                let beginning: String = self.text.chars().take(EXCERPT).collect();
                format!("\"{}…\"", printable(&beginning))
            }
        }
    }
}

/// Whether two labels are −1 and 1, or 0 and 1, so that their meaning is clear.
fn are_signs(negative: &Label, positive: &Label) -> bool {
    positive.number == Some(1.0) && negative.is_sign()
}

/// The different labels, sorted.
struct Seen {
    labels: Vec<Label>,
    is_cut: bool,
    rows: u64,
}

impl Seen {
    fn new(first: &FirstLabels) -> Self {
        let counts = first.labels.counts.iter();
        let mut labels: Vec<_> = counts.map(|(label, _)| Label::new(label)).collect();
        labels.sort_by(|one, other| one.text.cmp(&other.text));
        if labels.iter().all(|label| label.number.is_some()) {
            labels.sort_by(Label::compare);
        }
        Self { labels, is_cut: first.labels.is_cut, rows: first.rows }
    }

    fn first_rows(&self) -> String {
        match self.rows {
            0 | 1 => "the first row".to_owned(),
            rows => format!("the first {rows} rows"),
        }
    }

    fn have(&self) -> String {
        format!("{} {}", self.first_rows(), if self.rows > 1 { "have" } else { "has" })
    }

    /// Lists the labels in words.
    fn list(&self) -> String {
        let shown: Vec<_> = self.labels.iter().take(SHOWN).map(Label::shown).collect();
        match &shown[..] {
            all if self.is_cut || self.labels.len() > SHOWN => format!("{}, …", all.join(", ")),
            [others @ .., last] if !others.is_empty() => {
                format!("{} and {last}", others.join(", "))
            }
            all => all.join(", "),
        }
    }

    /// A note on numbers that may stand for classes.
    fn may_be_classes(&self) -> Option<Phrase> {
        let is_whole = |label: &Label| label.number.is_some_and(|number| number.fract() == 0.0);
        let count = self.labels.len();
        let may = !self.is_cut && (3..=FEW).contains(&count) && self.labels.iter().all(is_whole);
        let said = format!("there are only {count} different ones: if they stand for classes, ");
        may.then(|| {
            Phrase::from(said)
                .setting("loss")
                .and(format!(" {MANY} learns them all, and "))
                .setting("positive")
                .and(" LABEL learns one of them against the rest")
        })
    }

    /// A note on a label that should be there and is not there yet.
    fn without(&self, positive: &Label) -> Option<Phrase> {
        let is_there = self.labels.iter().any(|label| label.is(positive));
        let said = format!("{} none that is {}, as ", self.have(), positive.shown());
        (!is_there && !self.is_cut && !self.labels.is_empty()).then(|| {
            Phrase::from(said)
                .setting("positive")
                .and(format!(" says; the labels are {}", self.list()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rueful_data::{LabelsSeen, NamesSettings};

    fn first(labels: &[&str]) -> FirstLabels {
        let counts = labels.iter().map(|&label| (label.to_owned(), 1)).collect();
        let rows = labels.len() as u64;
        FirstLabels { rows, labels: LabelsSeen { counts, is_cut: false }, positive: None }
    }

    /// The loss, the label that is +1, and the notes.
    fn chosen(labels: &[&str]) -> (&'static str, Option<String>, Vec<String>) {
        let LossChoice { loss, positive, notes, .. } = LossChoice::new(&first(labels));
        (loss, positive, notes.iter().map(Phrase::to_string).collect())
    }

    /// The reason why a label that comes later is refused.
    fn reason(labels: &[&str]) -> String {
        match LossChoice::new(&first(labels)).rule {
            LabelRule::Inferred(inferred) => inferred.reason().text(&|name| format!("--{name}")),
            rule => panic!("{rule:?}"),
        }
    }

    #[test]
    fn two_labels_are_classes() {
        for (negative, positive) in
            [("1", "2"), ("-3", "-1"), ("9", "10"), ("no", "yes"), ("ham", "spam"), ("1", "yes")]
        {
            for labels in [[negative, positive], [positive, negative]] {
                let (loss, found, _) = chosen(&labels);
                assert_eq!((loss, found.as_deref()), ("logistic", Some(positive)), "{labels:?}");
            }
        }
        for labels in [["0", "1"], ["-1", "1"], ["1", "-1"]] {
            let (loss, found, _) = chosen(&labels);
            assert_eq!((loss, found), ("logistic", None), "signs say themselves what they are");
        }
        let said = "labels are 0 and 1: learning their odds with the logistic loss, 1 counts as +1";
        assert_eq!(chosen(&["1", "0"]).2, [said]);
        let (_, _, notes) = chosen(&["spam", "ham"]);
        assert!(notes[0].contains("\"ham\" and \"spam\""), "{notes:?}");
    }

    #[test]
    fn other_numbers_are_quantities() {
        assert_eq!(chosen(&["0.5", "1", "2"]).2.len(), 1);
        assert_eq!(chosen(&["5"]), chosen(&["7", "8.5", "9"]));
        let (loss, positive, notes) = chosen(&["1", "3", "2"]);
        assert_eq!((loss, positive), ("square", None));
        assert!(notes[1].starts_with("there are only 3 different ones"), "{notes:?}");
        let many: Vec<_> = (0..21).map(|label| label.to_string()).collect();
        let many: Vec<_> = many.iter().map(String::as_str).collect();
        assert_eq!(chosen(&many).2.len(), 1);
        assert_eq!(chosen(&many[..20]).2.len(), 2);
        let mut cut = first(&["1", "2"]);
        cut.labels.is_cut = true;
        assert_eq!(LossChoice::new(&cut).loss, "square");
    }

    #[test]
    fn one_label_is_a_sign_a_truth_or_a_quantity() {
        for sign in ["-1", "0", "1"] {
            let (loss, positive, notes) = chosen(&[sign]);
            assert_eq!((loss, positive), ("logistic", None));
            assert!(notes[0].starts_with(&format!("the first row has the label {sign}")));
        }
        assert_eq!(chosen(&["true"]).1.as_deref(), Some("true"));
        assert_eq!(chosen(&["false"]).1.as_deref(), Some("true"));
        assert_eq!(chosen(&["2"]).0, "square");
        assert_eq!(chosen(&[]), ("logistic", None, vec![]));
    }

    #[test]
    fn names_that_are_not_two_are_classes() {
        let said = |labels: &[&str]| {
            let (loss, positive, notes) = chosen(labels);
            assert_eq!((loss, positive), ("softmax", None), "{labels:?}");
            notes.concat()
        };
        assert_eq!(
            said(&["setosa", "virginica", "versicolor"]),
            "labels are \"setosa\", \"versicolor\" and \"virginica\": learning the probabilities \
             of all of them with the softmax loss"
        );
        assert_eq!(
            said(&["ham"]),
            "the first row has only the label \"ham\": learning classes as they come with the \
             softmax loss; positive LABEL learns one of them against the rest"
        );
        assert!(said(&["1", "2", "x"]).starts_with("labels are 1, 2 and \"x\""));
        let long = "x".repeat(5000);
        assert!(said(&[&long, "\u{1b}", "y"]).len() < 250);
        assert!(said(&["a", "b", "c", "d", "e", "f", "g"]).contains("\"f\", …"));
        assert_eq!(LossChoice::new(&first(&["a", "b", "c"])).rule, LabelRule::Classes);
    }

    #[test]
    fn a_label_that_is_named_stands_against_the_rest() {
        let choice = LossChoice::one_against_the_rest(&first(&["a", "b", "c"]), "b");
        assert_eq!((choice.loss, choice.positive.as_deref()), ("logistic", Some("b")));
        assert_eq!((choice.rule, choice.notes.len()), (LabelRule::Positive("b".to_owned()), 1));
        let misspelt = LossChoice::one_against_the_rest(&first(&["a", "b"]), "B");
        assert_eq!(
            misspelt.notes[1],
            "the first 2 rows have none that is \"B\", as positive says; the labels are \"a\" and \
             \"b\""
        );
        let same = LossChoice::one_against_the_rest(&first(&["1", "2"]), "2.0");
        assert_eq!(same.notes.len(), 1);
        let stored = FirstLabels { positive: Some("spam".to_owned()), ..first(&["-1", "1"]) };
        assert_eq!(LossChoice::new(&stored).positive.as_deref(), Some("spam"));
    }

    #[test]
    fn a_loss_that_was_asked_for_takes_two_labels() {
        let two = LossChoice::of_two(&first(&["2", "1"])).unwrap();
        assert_eq!(two.positive.as_deref(), Some("2"));
        assert!(two.notes[0].to_string().starts_with("labels are 1 and 2: 2 counts as +1"));
        assert_eq!(
            LossChoice::of_two(&first(&["-1", "0"])).unwrap().positive.as_deref(),
            Some("0")
        );
        for others in [&["0", "1"][..], &["1", "-1"], &["5"], &["a", "b", "c"], &[]] {
            assert_eq!(LossChoice::of_two(&first(others)), None, "{others:?}");
        }
    }

    #[test]
    fn the_reason_names_the_flags_that_say_otherwise() {
        assert_eq!(
            reason(&["0", "1"]),
            "the first 2 rows have only 0 and 1, which was taken for two classes: --loss square \
             takes any number, --loss softmax any number of classes, --positive 1 one class against \
             the rest"
        );
        assert_eq!(
            reason(&["c d", "a"]),
            "the first 2 rows have only \"a\" and \"c d\", which was taken for two classes: \
             --loss softmax takes any number of classes, --positive 'c d' one class against the rest"
        );
        assert_eq!(
            reason(&["0"]),
            "the first row has only 0, which was taken for one of two classes: --loss square takes \
             any number, --loss softmax any number of classes, --positive LABEL one class against \
             the rest"
        );
        assert_eq!(
            reason(&["1.5", "2", "3"]),
            "the first 3 rows have only numbers, which were taken for quantities: --loss softmax \
             takes any number of classes, --positive LABEL one class against the rest"
        );
    }

    /// Every set of up to three labels is tried in every order. The choice must depend on the set
    /// alone.
    #[test]
    fn the_order_of_labels_and_their_counts_make_no_difference() {
        const LABELS: [&str; 9] = ["-1", "0", "1", "2", "2.5", "10", "a", "b", "true"];
        let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
        for set in 1..1 << LABELS.len() {
            let chosen = (0..LABELS.len()).filter(|label| set >> label & 1 == 1);
            let labels: Vec<_> = chosen.map(|label| LABELS[label]).collect();
            let expected = LossChoice::new(&first(&labels));
            for order in orders.iter().filter(|_| labels.len() <= 3) {
                let order = order.iter().filter_map(|&place| labels.get(place).copied());
                let mut other = first(&order.collect::<Vec<_>>());
                other.labels.counts.iter_mut().zip(1..).for_each(|(label, times)| label.1 = times);
                assert_eq!(LossChoice::new(&other), expected, "{labels:?}");
            }
            let reversed: Vec<_> = labels.iter().rev().copied().collect();
            assert_eq!(LossChoice::new(&first(&reversed)), expected, "{labels:?}");
        }
    }
}
