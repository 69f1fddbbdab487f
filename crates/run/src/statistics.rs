//! The sufficient statistics of the square loss, over the features that were seen.

use crate::replay::counting;
use rueful_core::{Cells, Ledger, Rows, Ruler};
use rueful_hindsight::{Gram, Scales};
use serde::{Deserialize, Serialize};

/// G = Σ x xᵀ, b = Σ y x and c = Σ y² of some rows, as long as these have few features.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(into = "Stored", try_from = "Stored")]
pub(crate) struct Statistics {
    gram: Gram,
    /// The columns of the statistics, side by side in the order in which they came.
    cells: Cells,
    buffer: Vec<u32>,
}

/// Statistics as they are saved.
#[derive(Serialize, Deserialize)]
struct Stored {
    gram: Gram,
    /// The feature of every column.
    features: Vec<u32>,
}

impl From<Statistics> for Stored {
    fn from(own: Statistics) -> Self {
        Self { features: own.cells.by_cell(), gram: own.gram }
    }
}

impl TryFrom<Stored> for Statistics {
    type Error = &'static str;

    fn try_from(Stored { gram, features }: Stored) -> Result<Self, Self::Error> {
        let cells = Cells::side_by_side(&features, 0).ok_or("a column comes twice")?;
        if gram.is_sound(gram.rounds(), features.len()) {
            Ok(Self { gram, cells, buffer: Vec::new() })
        } else {
            Err("columns and statistics do not go together")
        }
    }
}

impl PartialEq for Statistics {
    fn eq(&self, other: &Self) -> bool {
        self.gram == other.gram && self.cells.by_cell() == other.cells.by_cell()
    }
}

impl Statistics {
    /// Statistics without rows. The columns below `named` keep their places.
    pub(crate) fn new(gram: Gram, named: usize) -> Self {
        Self { gram, cells: Cells::compact(named), buffer: Vec::new() }
    }

    /// Takes in rows, one after another, and calls `after` for each. Returns whether there are at
    /// most `most` features. Where there are more, it stops, and the statistics are incomplete.
    pub(crate) fn observe_each(
        &mut self,
        rows: Rows<'_>,
        most: usize,
        mut after: impl FnMut(&Gram, Rows<'_>),
    ) -> bool {
        for rows in counting(rows) {
            let rows = self.cells.enter(rows, &mut self.buffer);
            if self.cells.len() > most {
                return false;
            }
            for (row, example) in rows.iter().enumerate() {
                self.gram.observe(&example);
                after(&self.gram, rows.slice(row..row + 1));
            }
        }
        true
    }

    /// Whether these can be the statistics of the rounds of a ledger whose cells are numbered in
    /// order.
    pub(crate) fn are_of(&self, ledger: &Ledger) -> bool {
        let features = self.features();
        let count = ledger.cells().count();
        self.gram.is_sound(ledger.rounds(), count)
            && features.iter().all(|&feature| (feature as usize) < count)
    }

    pub(crate) fn gram(&self) -> &Gram {
        &self.gram
    }

    /// The feature of every column.
    pub(crate) fn features(&self) -> Vec<u32> {
        self.cells.by_cell()
    }

    /// The scales of the columns, by a ruler of their features.
    pub(crate) fn scales(&self, ruler: &Ruler) -> Scales {
        let size = |&feature: &u32| ruler.largest().get(feature as usize).copied().unwrap_or(0.0);
        Scales { columns: self.features().iter().map(size).collect(), label: ruler.label() }
    }

    /// Gives the features other numbers: `places[i]` is the new number of `i`. `None` if a feature
    /// has no new number.
    pub(crate) fn renamed(&self, places: &[u32]) -> Option<Self> {
        let name = |feature: &u32| places.get(*feature as usize).copied();
        let features: Option<Vec<u32>> = self.features().iter().map(name).collect();
        let cells = Cells::side_by_side(&features?, 0)?;
        Some(Self { gram: self.gram.clone(), cells, buffer: Vec::new() })
    }

    /// Takes in the statistics of other rows, with the same numbers of features. Returns whether
    /// all together have at most `most` features.
    pub(crate) fn merge(&mut self, other: &Self, most: usize) -> bool {
        let own = self.features();
        let mut all = own.clone();
        all.extend(other.features().into_iter().filter(|feature| !own.contains(feature)));
        let Some(cells) = Cells::side_by_side(&all, 0).filter(|_| all.len() <= most) else {
            return false;
        };
        let theirs = other.features();
        let at = |feature: &u32| theirs.iter().position(|one| one == feature);
        let from: Vec<usize> =
            all.iter().map(|feature| at(feature).unwrap_or(usize::MAX)).collect();
        self.gram.merge(&other.gram.rearranged(&from));
        self.cells = cells;
        true
    }
}
