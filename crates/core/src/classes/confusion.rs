//! Counts which class was taken for which.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The most pairs that are counted separately. All others are counted together.
const MOST_PAIRS: usize = 1 << 20;

/// How often each class came, and which class was predicted then. Pairs that never occurred take no
/// memory.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Stored", into = "Stored")]
pub struct Confusion {
    /// How often each pair (class, predicted) occurred. `predicted` is `None` if no class had been
    /// seen.
    pairs: BTreeMap<(u32, Option<u32>), u64>,
    /// By class: how often it came, how often it was predicted, and how often both.
    classes: BTreeMap<u32, ClassCounts>,
    /// The number of rounds whose pair is not counted separately.
    elsewhere: u64,
}

/// The serialised form.
#[derive(Serialize, Deserialize)]
struct Stored {
    pairs: Vec<(u32, Option<u32>, u64)>,
    classes: Vec<(u32, ClassCounts)>,
    elsewhere: u64,
}

impl From<Confusion> for Stored {
    fn from(Confusion { pairs, classes, elsewhere }: Confusion) -> Self {
        let pair = |((class, predicted), count)| (class, predicted, count);
        let pairs = pairs.into_iter().map(pair).collect();
        Self { pairs, classes: classes.into_iter().collect(), elsewhere }
    }
}

impl From<Stored> for Confusion {
    fn from(Stored { pairs, classes, elsewhere }: Stored) -> Self {
        let pair = |(class, predicted, count)| ((class, predicted), count);
        let pairs = pairs.into_iter().map(pair).collect();
        Self { pairs, classes: classes.into_iter().collect(), elsewhere }
    }
}

/// The counts of one class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassCounts {
    /// The number of rounds in which it was the true class.
    pub came: u64,
    /// The number of rounds in which it was predicted.
    pub predicted: u64,
    /// The number of rounds in which it was both predicted and true.
    pub right: u64,
}

impl ClassCounts {
    /// The share of rounds with this prediction in which it was right. It is `None` if the class
    /// was never predicted.
    pub fn precision(&self) -> Option<f64> {
        (self.predicted > 0).then(|| self.right as f64 / self.predicted as f64)
    }

    /// The share of rounds with this true class in which it was predicted. It is `None` if the
    /// class never came.
    pub fn recall(&self) -> Option<f64> {
        (self.came > 0).then(|| self.right as f64 / self.came as f64)
    }
}

impl Confusion {
    /// Counts one round.
    pub fn count(&mut self, class: u32, predicted: Option<u32>) {
        self.count_times(class, predicted, 1);
        let came = self.classes.entry(class).or_default();
        came.came += 1;
        came.right += u64::from(predicted == Some(class));
        if let Some(predicted) = predicted {
            self.classes.entry(predicted).or_default().predicted += 1;
        }
    }

    fn count_times(&mut self, class: u32, predicted: Option<u32>, times: u64) {
        if let Some(count) = self.pairs.get_mut(&(class, predicted)) {
            *count += times;
        } else if self.pairs.len() < MOST_PAIRS {
            self.pairs.insert((class, predicted), times);
        } else {
            self.elsewhere += times;
        }
    }

    /// How often `class` was the true class when `predicted` was predicted.
    pub fn of(&self, class: u32, predicted: Option<u32>) -> u64 {
        self.pairs.get(&(class, predicted)).copied().unwrap_or(0)
    }

    /// The number of rounds whose pair is not counted separately, because a million other pairs
    /// are.
    pub fn elsewhere(&self) -> u64 {
        self.elsewhere
    }

    /// Every pair that is counted separately: the true class, the predicted class, and the count.
    /// They are sorted by class, and then by prediction.
    pub fn pairs(&self) -> impl Iterator<Item = (u32, Option<u32>, u64)> {
        self.pairs.iter().map(|(&(class, predicted), &count)| (class, predicted, count))
    }

    /// The counts of every class, by increasing number.
    pub fn classes(&self) -> impl Iterator<Item = (u32, ClassCounts)> {
        self.classes.iter().map(|(&class, &counts)| (class, counts))
    }

    /// The number of rounds.
    pub fn rounds(&self) -> u64 {
        self.classes.values().map(|counts| counts.came).sum()
    }

    /// The number of rounds in which a class other than the true one was predicted.
    pub fn mistakes(&self) -> u64 {
        self.rounds() - self.classes.values().map(|counts| counts.right).sum::<u64>()
    }

    /// The most frequent mistakes: the true class, the predicted class, and the count. Among
    /// equally frequent ones, those with smaller numbers come first.
    pub fn worst(&self, most: usize) -> Vec<(u32, Option<u32>, u64)> {
        let mistakes = self.pairs.iter().filter(|((class, said), _)| Some(*class) != *said);
        let mut all: Vec<_> =
            mistakes.map(|(&(class, said), &count)| (class, said, count)).collect();
        all.sort_by_key(|&(class, said, count)| (std::cmp::Reverse(count), class, said));
        all.truncate(most);
        all
    }

    /// Adds the counts of other rounds.
    pub fn merge(&mut self, other: &Self) {
        for (&(class, predicted), &count) in &other.pairs {
            self.count_times(class, predicted, count);
        }
        self.elsewhere += other.elsewhere;
        for (&class, counts) in &other.classes {
            let own = self.classes.entry(class).or_default();
            own.came += counts.came;
            own.predicted += counts.predicted;
            own.right += counts.right;
        }
    }

    /// Whether these counts, which were read from a file, can come from this many rounds.
    pub(crate) fn is_sound(&self, rounds: u64) -> bool {
        let all =
            self.pairs.values().try_fold(self.elsewhere, |sum, &count| sum.checked_add(count));
        let right = |counts: &ClassCounts| counts.right <= counts.came.min(counts.predicted);
        all == Some(rounds) && self.rounds() == rounds && self.classes.values().all(right)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_adds_up() {
        let rounds =
            [(0, None), (0, Some(0)), (1, Some(0)), (1, Some(1)), (1, Some(0)), (2, Some(1))];
        let (mut whole, mut front, mut back) =
            (Confusion::default(), Confusion::default(), Confusion::default());
        for (place, (class, predicted)) in rounds.into_iter().enumerate() {
            whole.count(class, predicted);
            let part = if place < 3 { &mut front } else { &mut back };
            part.count(class, predicted);
        }
        front.merge(&back);
        assert_eq!(whole, front);
        assert!(whole.is_sound(6) && !whole.is_sound(5));
        assert_eq!((whole.rounds(), whole.mistakes()), (6, 4));
        assert_eq!(whole.worst(2), [(1, Some(0), 2), (0, None, 1)]);
        let of_one = whole.classes().find(|&(class, _)| class == 1).unwrap().1;
        assert_eq!((of_one.precision(), of_one.recall()), (Some(0.5), Some(1.0 / 3.0)));
        let of_two = whole.classes().find(|&(class, _)| class == 2).unwrap().1;
        assert_eq!((of_two.precision(), of_two.recall()), (None, Some(0.0)));
        assert_eq!((whole.of(1, Some(0)), whole.of(2, Some(0)), whole.elsewhere()), (2, 0, 0));
    }
}
