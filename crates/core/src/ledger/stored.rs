//! The stored form of a ledger: by feature in increasing order, whatever the cells were.

use super::{CurvePoint, Ledger, Tally};
use crate::cells::Cells;
use crate::comparators::Comparators;
use crate::loss::AnyLoss;
use crate::ruler::Ruler;
use serde::{Deserialize, Serialize};

/// Everything that a ledger contains.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Stored {
    loss: AnyLoss,
    comparators: Comparators,
    /// How many of the first coordinates keep their places.
    pinned: u32,
    features: Gaps,
    /// By feature, in the order of `features`.
    tally: Tally,
    ruler: Option<Ruler>,
    gradient_sq_max: f64,
    example_sq_max: f64,
    curve: Vec<CurvePoint>,
    next_mark: u64,
}

/// The most coordinates that a stored ledger may tell apart. More would take memory that is out of
/// proportion to the size of the file.
const PINNED_MAX: u32 = 1 << 24;

/// Increasing numbers, stored as the first one and the number of omissions before each of the
/// others.
#[derive(Serialize, Deserialize)]
struct Gaps(Vec<u32>);

impl Gaps {
    fn of(numbers: &[u32]) -> Self {
        let mut next = 0;
        let gap = |&number: &u32| {
            let gap = number - next;
            next = number.wrapping_add(1);
            gap
        };
        Self(numbers.iter().map(gap).collect())
    }

    /// The numbers, or `None` if they go beyond the range.
    fn numbers(&self) -> Option<Vec<u32>> {
        let mut next = 0_u64;
        let number = |&gap: &u32| {
            let number = u32::try_from(next + u64::from(gap)).ok()?;
            next = u64::from(number) + 1;
            Some(number)
        };
        self.0.iter().map(number).collect()
    }
}

impl From<Ledger> for Stored {
    fn from(ledger: Ledger) -> Self {
        let (mut tally, mut ruler) = (ledger.tally, ledger.ruler);
        let order = ledger.cells.in_order();
        tally.rearrange(&order);
        ruler.iter_mut().for_each(|ruler| ruler.rearrange(&order));
        Self {
            loss: ledger.loss,
            comparators: ledger.comparators,
            pinned: ledger.cells.pinned() as u32,
            features: Gaps::of(&ledger.cells.features()),
            tally,
            ruler,
            gradient_sq_max: ledger.gradient_sq_max,
            example_sq_max: ledger.example_sq_max,
            curve: ledger.curve,
            next_mark: ledger.next_mark,
        }
    }
}

impl TryFrom<Stored> for Ledger {
    type Error = &'static str;

    fn try_from(stored: Stored) -> Result<Self, Self::Error> {
        let features = stored.features.numbers().ok_or("its features are out of range")?;
        if stored.pinned > PINNED_MAX {
            return Err("it tells too many coordinates apart");
        }
        let cells =
            Cells::of(&features, stored.pinned as usize).ok_or("its features are out of order")?;
        if stored.tally.minorant().slopes().len() != features.len() {
            return Err("its numbers of slopes and of features differ");
        }
        if stored.ruler.as_ref().is_some_and(|ruler| ruler.largest().len() != features.len()) {
            return Err("its numbers of measured features and of features differ");
        }
        let (mut tally, mut ruler) = (stored.tally, stored.ruler);
        let places = cells.places();
        tally.rearrange(&places);
        ruler.iter_mut().for_each(|ruler| ruler.rearrange(&places));
        Ok(Self {
            loss: stored.loss,
            comparators: stored.comparators,
            cells,
            tally,
            ruler,
            gradient_sq_max: stored.gradient_sq_max,
            example_sq_max: stored.example_sq_max,
            curve: stored.curve,
            next_mark: stored.next_mark,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_the_numbers() {
        for numbers in [&[][..], &[0], &[0, 1, 2], &[7, 9, u32::MAX - 1, u32::MAX]] {
            assert_eq!(Gaps::of(numbers).numbers().as_deref(), Some(numbers));
        }
        assert_eq!(Gaps(vec![u32::MAX, 0]).numbers(), None);
    }
}
