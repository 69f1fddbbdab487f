//! Which class was taken for which.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The most pairs that are told apart; all others are counted together.
const MOST_PAIRS: usize = 1 << 20;

/// How often each class came, and what was predicted then. Pairs that never occurred take no room.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Stored", into = "Stored")]
pub struct Confusion {
    /// (class, predicted) and how often; predicted is none before the first round.
    pairs: BTreeMap<(u32, Option<u32>), u64>,
    /// By class: how often it came, was predicted, and both.
    classes: BTreeMap<u32, ClassCounts>,
    /// Rounds whose pair found no room.
    elsewhere: u64,
}

/// The form in which it is written.
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

/// What was counted of one class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassCounts {
    /// In how many rounds it was the class.
    pub came: u64,
    /// In how many rounds it was predicted.
    pub predicted: u64,
    /// In how many rounds it was predicted and came.
    pub right: u64,
}

impl ClassCounts {
    /// Of the rounds in which it was predicted, the share in which it came; none if it never was.
    pub fn precision(&self) -> Option<f64> {
        (self.predicted > 0).then(|| self.right as f64 / self.predicted as f64)
    }

    /// Of the rounds in which it came, the share in which it was predicted; none if it never did.
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

    /// How often a class came when that one was predicted.
    pub fn of(&self, class: u32, predicted: Option<u32>) -> u64 {
        self.pairs.get(&(class, predicted)).copied().unwrap_or(0)
    }

    /// Rounds whose pair found no room among a million others.
    pub fn elsewhere(&self) -> u64 {
        self.elsewhere
    }

    /// What was counted of every class, by increasing number.
    pub fn classes(&self) -> impl Iterator<Item = (u32, ClassCounts)> {
        self.classes.iter().map(|(&class, &counts)| (class, counts))
    }

    /// How many rounds were counted.
    pub fn rounds(&self) -> u64 {
        self.classes.values().map(|counts| counts.came).sum()
    }

    /// In how many rounds another class was predicted than came.
    pub fn mistakes(&self) -> u64 {
        self.rounds() - self.classes.values().map(|counts| counts.right).sum::<u64>()
    }

    /// The mistakes that were made most often: the class, what was predicted, and how often. Of equally
    /// frequent ones those of smaller numbers come first.
    pub fn worst(&self, most: usize) -> Vec<(u32, Option<u32>, u64)> {
        let mistakes = self.pairs.iter().filter(|((class, said), _)| Some(*class) != *said);
        let mut all: Vec<_> =
            mistakes.map(|(&(class, said), &count)| (class, said, count)).collect();
        all.sort_by_key(|&(class, said, count)| (std::cmp::Reverse(count), class, said));
        all.truncate(most);
        all
    }

    /// Adds what was counted of other rounds.
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

    /// Whether this, read from somewhere, can have been counted in so many rounds.
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
