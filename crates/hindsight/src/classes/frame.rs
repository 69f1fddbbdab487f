//! The shape of a problem of many classes: which rows and columns the matrix has, and its units.

use super::ClassProblem;
use crate::passes::Passes;
use crate::rounding::{grain, sum_above};
use crate::scales::{Scales, quotient};
use crate::survey::Shape;
use rueful_core::classes::{ClassLoss, class_of};
use rueful_core::{Comparators, Example, Features, Positive, Rows, Sum};

/// The place of a class that has none.
const NOWHERE: u32 = u32::MAX;

/// The rows, columns and units of the matrices that are compared. A matrix is a vector: the numbers
/// of a column, one for each class, lie side by side.
#[derive(Debug, Clone)]
pub struct Frame {
    pub(super) loss: ClassLoss,
    classes: Vec<u32>,
    /// The place of every class among `classes`.
    places: Vec<u32>,
    columns: usize,
    is_unit_free: bool,
    /// N for every number of a matrix.
    pub(super) scales: Scales,
    /// The radius, rounded down and rounded up.
    pub(super) inside: f64,
    pub(super) outside: f64,
}

/// What the first pass counts.
#[derive(Debug, Default)]
struct Count {
    is_there: Vec<bool>,
    largest: Vec<f32>,
    weights: Sum,
    examples: u64,
    nonzeros: u64,
}

impl Count {
    fn add(&mut self, rows: Rows<'_>) {
        self.largest.resize(self.largest.len().max(rows.dimension()), 0.0);
        for example in rows.iter().filter(|example| !example.importance.is_zero()) {
            self.examples += 1;
            self.nonzeros += example.features.len() as u64;
            self.weights.add(example.importance.get());
            let class = class_of(example.label).unwrap_or(0) as usize;
            self.is_there.resize(self.is_there.len().max(class + 1), false);
            self.is_there[class] = true;
            for (i, x) in example.features.iter() {
                self.largest[i] = self.largest[i].max(x.abs() as f32);
            }
        }
    }
}

impl Frame {
    /// Matrices with a row for each of these classes, which increase, and a column for each of these
    /// sizes: the largest |x| of a feature. The radius is that of the comparators, or 1 if they have
    /// none.
    pub fn new(
        loss: ClassLoss,
        comparators: &Comparators,
        classes: Vec<u32>,
        largest: &[f32],
    ) -> Self {
        let all = classes.last().map_or(0, |&last| last as usize + 1);
        let mut places = vec![NOWHERE; all];
        classes.iter().zip(0..).for_each(|(&class, place)| places[class as usize] = place);
        let is_unit_free = comparators.is_unit_free();
        let unit = |&size: &f32| if is_unit_free { size } else { 1.0 };
        let spread = largest.iter().flat_map(|size| vec![unit(size); classes.len()]);
        let scales = Scales { columns: spread.collect(), label: 1.0 };
        let (inside, outside) = scales.radii(comparators.radius().unwrap_or(Positive::ONE));
        let columns = largest.len();
        Self { loss, classes, places, columns, is_unit_free, scales, inside, outside }
    }

    /// Makes the first pass.
    pub(super) fn survey<P: Passes>(
        problem: &ClassProblem,
        data: &mut P,
    ) -> Result<(Self, Shape), P::Error> {
        let mut count = Count::default();
        data.pass(&mut |rows| count.add(rows))?;
        let known = problem.classes as usize;
        let all = known.max(count.is_there.len());
        let has_row = |class: &u32| {
            let class = *class as usize;
            class < known || count.is_there.get(class).copied().unwrap_or(false)
        };
        let classes = (0..all as u32).filter(has_row).collect();
        let mut sizes = problem.scales.clone().unwrap_or_else(|| count.largest.clone());
        sizes.resize(count.largest.len(), 0.0);
        let frame = Self::new(problem.loss, &problem.comparators, classes, &sizes);
        let shape = frame.shape(&count);
        Ok((frame, shape))
    }

    fn shape(&self, count: &Count) -> Shape {
        let classes = self.classes.len() as f64;
        let of_one = match self.loss {
            ClassLoss::Softmax {} => classes.max(1.0).ln(),
            ClassLoss::MulticlassHinge {} => f64::from(u8::from(classes > 1.0)),
        };
        let at_zero = of_one * count.weights.value();
        let at_zero = sum_above(at_zero, grain(count.examples) * at_zero);
        Shape {
            examples: count.examples,
            dimension: self.len(),
            nonzeros: count.nonzeros.saturating_mul(self.classes.len() as u64),
            at_zero,
            spread: of_one,
            size: at_zero,
            kinked: self.loss == ClassLoss::MulticlassHinge {},
        }
    }

    /// How many numbers a matrix has.
    pub(super) fn len(&self) -> usize {
        self.columns * self.classes.len()
    }

    /// How many classes have a row.
    pub(super) fn classes(&self) -> usize {
        self.classes.len()
    }

    pub(super) fn into_classes(self) -> Vec<u32> {
        self.classes
    }

    /// N for every number of a matrix.
    pub fn scales(&self) -> &Scales {
        &self.scales
    }

    /// The classes that have a row, in increasing order.
    pub fn class_numbers(&self) -> &[u32] {
        &self.classes
    }

    /// The place of an example's class, if it has one.
    #[inline]
    pub(super) fn known_place(&self, example: &Example<'_>) -> Option<usize> {
        let place = *self.places.get(class_of(example.label)? as usize)?;
        (place != NOWHERE).then_some(place as usize)
    }

    /// The place of an example's class. The first pass has seen all classes, so a source that
    /// changed in between is the only one that can show another, and it gets the place 0.
    #[inline]
    pub(super) fn place(&self, example: &Example<'_>) -> usize {
        self.known_place(example).unwrap_or(0)
    }

    /// 1/N of a column, or 0 where comparators are 0.
    #[inline]
    pub(super) fn per_unit(&self, column: usize) -> f64 {
        let unit = self.scales.column(column * self.classes.len());
        if unit > 0.0 { 1.0 / unit } else { 0.0 }
    }

    /// ‖x/N‖. It is infinite where a column without a unit occurs.
    pub(super) fn norm_of(&self, x: &Features<'_>) -> f64 {
        let unit = |column: usize| self.scales.column(column * self.classes.len());
        let squares = x.iter().map(|(i, x)| quotient(x, unit(i)).powi(2));
        squares.sum::<f64>().sqrt()
    }

    /// A bound on ‖x/N‖, up to a few roundings.
    #[inline]
    pub(super) fn size_of(&self, x: &Features<'_>) -> f64 {
        if self.is_unit_free { (x.len() as f64).sqrt() } else { x.norm_sq().sqrt() }
    }

    /// z_c − z_y of an example of the class at place y, for every class c.
    #[inline]
    pub(super) fn margins(&self, u: &[f64], x: &Features<'_>, y: usize, margins: &mut [f64]) {
        let classes = margins.len();
        margins.fill(0.0);
        for (i, x) in x.iter() {
            let weights = &u[i * classes..][..classes];
            margins.iter_mut().zip(weights).for_each(|(score, weight)| *score += weight * x);
        }
        let own = margins[y];
        margins.iter_mut().for_each(|score| *score -= own);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rueful_core::Batch;
    use rueful_core::set::Ball;
    use std::f64::consts::LN_2;

    /// The loss of u = 0 on two rows of two classes is 2 ln 2, which lies above the double next to it.
    #[test]
    fn the_loss_of_no_weights_is_rounded_up() {
        let (mut count, mut batch) = (Count::default(), Batch::default());
        [0.0, 1.0].into_iter().for_each(|class| batch.push(&[0], &[1.0], class).unwrap());
        count.add(batch.rows());
        let ball = Ball { radius: Positive::ONE }.into();
        let at_zero = |loss| Frame::new(loss, &ball, vec![0, 1], &[1.0]).shape(&count).at_zero;
        let at_zero = at_zero(ClassLoss::Softmax {});
        assert!(at_zero > 2.0 * LN_2 && at_zero < 2.0 * LN_2 + 1e-13, "{at_zero}");
    }
}
