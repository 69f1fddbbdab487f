//! The two classes of a model, by the names they have in its file.

use rueful_data::{LabelsSeen, Seen};
use rueful_run::Model;

/// Records the names of two classes before any of their examples is seen.
pub(crate) fn announce(labels: &mut LabelsSeen, classes: &[String; 2]) {
    labels.counts = classes.iter().map(|class| (class.clone(), 0)).collect();
}

/// Counts labels −1 and +1 of classes that were announced.
pub(crate) fn count(seen: &mut Seen, labels: &[f64], is_idle: impl Fn(usize) -> bool) {
    let [negative, positive] = &mut seen.labels.counts[..] else { return };
    for (row, &label) in labels.iter().enumerate() {
        if !is_idle(row) {
            (if label > 0.0 { &mut *positive } else { &mut *negative }).1 += 1;
        }
    }
}

/// Returns the names of the classes −1 and +1, as far as they are known.
pub(crate) fn classes(model: &Model) -> (Option<String>, Option<String>) {
    (model.class_of(false), model.class_of(true))
}

/// Returns the label that the data description names as +1. It is `None` if the labels are numbers
/// that say so themselves.
pub(crate) fn positive(classes: &[String; 2]) -> Option<String> {
    let [negative, positive] = classes;
    let are_signs = positive == "1" && (negative == "0" || negative == "-1");
    (!are_signs).then(|| positive.clone())
}
