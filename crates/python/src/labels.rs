//! The classes of a model, by the names they have in its file.

use rueful_core::Rows;
use rueful_data::{LabelsSeen, Seen};
use rueful_run::{Model, Stream};
use std::collections::HashSet;

/// Records the names of classes before any of their examples is seen.
pub(crate) fn announce(labels: &mut LabelsSeen, classes: &[String]) {
    labels.counts.extend(classes.iter().map(|class| (class.clone(), 0)));
}

/// Counts the labels −1 and +1 of classes that were announced. Rows of importance 0 do not count.
pub(crate) fn count(seen: &mut Seen, rows: Rows<'_>) {
    let [negative, positive] = &mut seen.labels.counts[..] else { return };
    let is_idle = |row: usize| rows.importances().get(row).is_some_and(|one| one.is_zero());
    let idle = (0..rows.importances().len()).filter(|&row| is_idle(row));
    let (idle, idle_positives) = idle.fold((0, 0), |(all, positives), row| {
        (all + 1, positives + u64::from(rows.labels()[row] > 0.0))
    });
    let positives = rows.labels().iter().map(|&label| u64::from(label > 0.0)).sum::<u64>();
    positive.1 += positives - idle_positives;
    negative.1 += (rows.len() as u64 - positives) - (idle - idle_positives);
}

/// Counts labels that are numbers of classes. Rows of importance 0 do not count.
pub(crate) fn count_classes(seen: &mut Seen, rows: Rows<'_>) {
    for (row, &label) in rows.labels().iter().enumerate() {
        let is_idle = rows.importances().get(row).is_some_and(|one| one.is_zero());
        if let Some((_, count)) = seen.labels.counts.get_mut(label as usize).filter(|_| !is_idle) {
            *count += 1;
        }
    }
}

/// Returns the names of all classes so far, in the order in which they came.
pub(crate) fn names(stream: &Stream) -> Vec<String> {
    let all = stream.before.labels.counts.iter().chain(&stream.now.labels.counts);
    let mut known = HashSet::new();
    all.map(|(name, _)| name).filter(|name| known.insert(*name)).cloned().collect()
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
