//! One sparse example in borrowed memory.

use crate::number::Importance;
use crate::vector;
use thiserror::Error;

/// The features of one example: distinct indices, finite values, and the squared norm ‖x‖², which
/// every learner and the ledger need. Indices increase, unless [`Cells`](crate::Cells) have
/// renumbered them. The constructor checks all of this.
///
/// ```
/// use rueful_core::Features;
/// let x = Features::new(&[0, 7], &[1.0, -2.0])?;
/// assert_eq!(x.norm_sq(), 5.0);
/// assert!(Features::new(&[7, 0], &[1.0, -2.0]).is_err());
/// # Ok::<(), rueful_core::FeatureError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Features<'a> {
    indices: &'a [u32],
    values: &'a [f32],
    norm_sq: f64,
    is_increasing: bool,
}

/// An example: the features, and the label, which is revealed after the prediction. For the linear
/// loss the label is the slope that the stream chose.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Example<'a> {
    /// x_t
    pub features: Features<'a>,
    /// y_t
    pub label: f64,
    /// How much the example counts: its loss is multiplied by this. The default is 1.
    pub importance: Importance,
}

impl<'a> Example<'a> {
    /// An example of importance 1.
    #[inline]
    pub fn new(features: Features<'a>, label: f64) -> Self {
        Self { features, label, importance: Importance::ONE }
    }
}

/// The ways in which indices and values can fail to be a sparse example.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum FeatureError {
    /// An index is not above the one before it.
    #[error("index {index} follows index {previous}: indices must increase")]
    NotIncreasing {
        /// The index before it.
        previous: u32,
        /// The index that broke the order.
        index: u32,
    },
    /// A value is NaN or infinite.
    #[error("feature {index} has the value {value}: values must be finite")]
    NotFinite {
        /// The feature.
        index: u32,
        /// Its value.
        value: f32,
    },
    /// There are not as many values as indices.
    #[error("{indices} indices but {values} values")]
    Unpaired {
        /// How many indices there are.
        indices: usize,
        /// How many values there are.
        values: usize,
    },
}

impl<'a> Features<'a> {
    /// Checks and borrows a sparse vector.
    pub fn new(indices: &'a [u32], values: &'a [f32]) -> Result<Self, FeatureError> {
        if indices.len() != values.len() {
            return Err(FeatureError::Unpaired { indices: indices.len(), values: values.len() });
        }
        if let Some(pair) = indices.windows(2).find(|pair| pair[0] >= pair[1]) {
            return Err(FeatureError::NotIncreasing { previous: pair[0], index: pair[1] });
        }
        if let Some(at) = values.iter().position(|value| !value.is_finite()) {
            return Err(FeatureError::NotFinite { index: indices[at], value: values[at] });
        }
        let norm_sq = vector::values_norm_sq(values);
        Ok(Self { indices, values, norm_sq, is_increasing: true })
    }

    /// Borrows a row that was checked already.
    #[inline]
    pub(crate) fn trusted(
        indices: &'a [u32],
        values: &'a [f32],
        norm_sq: f64,
        is_increasing: bool,
    ) -> Self {
        Self { indices, values, norm_sq, is_increasing }
    }

    /// The indices, all distinct.
    #[inline]
    pub fn indices(&self) -> &'a [u32] {
        self.indices
    }

    /// The values, all finite.
    #[inline]
    pub fn values(&self) -> &'a [f32] {
        self.values
    }

    /// ‖x‖²
    #[inline]
    pub fn norm_sq(&self) -> f64 {
        self.norm_sq
    }

    /// How many features are stored.
    #[inline]
    pub fn len(&self) -> usize {
        self.indices.len()
    }

    /// Whether x = 0.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.indices.is_empty()
    }

    /// The indices as a range if there is no gap between them, as in a dense row. Since the indices
    /// increase strictly, the first and the last one suffice to tell.
    #[inline]
    pub fn run(&self) -> Option<std::ops::Range<usize>> {
        if !self.is_increasing {
            return None;
        }
        let (&first, &last) = (self.indices.first()?, self.indices.last()?);
        let run = first as usize..last as usize + 1;
        (run.len() == self.indices.len()).then_some(run)
    }

    /// One more than the largest index: the smallest dimension that holds this example.
    pub fn dimension(&self) -> usize {
        let largest =
            if self.is_increasing { self.indices.last() } else { self.indices.iter().max() };
        largest.map_or(0, |&largest| largest as usize + 1)
    }

    /// Whether the indices increase.
    #[inline]
    pub(crate) fn is_increasing(&self) -> bool {
        self.is_increasing
    }

    /// v·x. The vector v must have an entry for every index.
    #[inline]
    pub fn dot(&self, v: &[f64]) -> f64 {
        vector::dot(v, self)
    }

    /// v ← v + k·x. The vector v must have an entry for every index.
    #[inline]
    pub fn add_to(&self, v: &mut [f64], k: f64) {
        vector::add(v, k, self);
    }

    /// The features with indices below `dimension`. The squared norm stays that of all features.
    /// Renumbered features are all returned: features without a number were left out earlier.
    pub(crate) fn below(&self, dimension: usize) -> Self {
        if !self.is_increasing {
            return *self;
        }
        let cut = self.indices.partition_point(|&i| (i as usize) < dimension);
        Self { indices: &self.indices[..cut], values: &self.values[..cut], ..*self }
    }

    /// The pairs (index, value) in order.
    pub fn iter(&self) -> impl Iterator<Item = (usize, f64)> + use<'a> {
        self.indices.iter().zip(self.values).map(|(&i, &x)| (i as usize, f64::from(x)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_promised_is_checked() {
        assert_eq!(
            Features::new(&[3, 3], &[1.0, 1.0]),
            Err(FeatureError::NotIncreasing { previous: 3, index: 3 })
        );
        assert!(matches!(Features::new(&[1], &[f32::NAN]), Err(FeatureError::NotFinite { .. })));
        assert!(matches!(Features::new(&[1], &[]), Err(FeatureError::Unpaired { .. })));
        let empty = Features::new(&[], &[]).unwrap();
        assert_eq!((empty.dimension(), empty.norm_sq(), empty.is_empty()), (0, 0.0, true));
        assert_eq!(Features::new(&[0, u32::MAX], &[1.0, 1.0]).unwrap().dimension(), 1 << 32);
    }
}
