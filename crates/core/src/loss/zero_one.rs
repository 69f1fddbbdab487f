//! Zero-one loss: whether the sign was right. It is reported, never optimised.

use crate::round::Round;
use crate::rows::Rows;

/// I{yp ≤ 0}: 1 for a mistake. A tie counts as a mistake. This loss is not convex and has no useful
/// slope, so it is not a [`Loss`](super::Loss). The ledger counts it beside the loss that is
/// learned.
///
/// ```
/// use rueful_core::loss::ZeroOne;
/// assert!(ZeroOne {}.is_mistake(0.0, 1.0));
/// assert!(!ZeroOne {}.is_mistake(-0.1, -1.0));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ZeroOne {}

impl ZeroOne {
    /// Whether the sign of the prediction differs from that of the label.
    #[inline]
    pub fn is_mistake(&self, prediction: f64, label: f64) -> bool {
        label * prediction <= 0.0
    }

    /// How many rounds of some rows are mistakes. Rows of importance 0 do not count.
    pub fn mistakes(&self, rows: Rows<'_>, rounds: &[Round]) -> u64 {
        let counted = rows.iter().zip(rounds).filter(|(row, _)| !row.importance.is_zero());
        let mistakes = counted.filter(|(row, round)| self.is_mistake(round.prediction, row.label));
        mistakes.count() as u64
    }
}
