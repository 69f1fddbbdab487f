//! Curves: a column of numbers as several features, so that a linear predictor can follow a curve.
//!
//! | shape | features | value for the number x |
//! |---|---|---|
//! | bins with the edges e₁ < … < e_k | `age·..30`, `age·30..45`, `age·45..` | 1 for the bin with e_i ≤ x < e_{i+1}, 0 for all others |
//! | a spline with the knots k₁ < … < k_m | `age·@30` | 1 − \|x − k_i\|/(the distance to the neighbour on that side), at least 0 |
//! | waves of the period P | `hour·sin(j/24)`, `hour·cos(j/24)` | sin(2πjx/P), cos(2πjx/P) for j = 1, … h |
//!
//! Bins and splines take the place of the column's own feature. Waves are added to it. Beyond the
//! first and the last knot a spline is constant.

use super::PART;
use crate::names::Prefix;
use crate::rows::{FeatureSink, Space};
use serde::{Deserialize, Serialize};

/// The most knots of a curve.
pub(crate) const KNOTS_MAX: usize = 1000;

/// The most harmonics of waves.
pub(crate) const HARMONICS_MAX: u8 = 32;

/// A column of numbers that becomes several features.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Curve {
    /// The name of the column.
    pub column: String,
    /// The features that it becomes.
    pub shape: Shape,
}

/// The features that a column of numbers becomes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// One feature for each bin between these edges.
    Bins(Knots),
    /// One feature for each of these knots, which is 1 there and falls to 0 at its neighbours.
    Spline(Knots),
    /// Waves of a period.
    Waves(Waves),
}

/// Numbers that are finite and increase. There is at least one of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<f32>", into = "Vec<f32>")]
pub struct Knots(Vec<f32>);

/// All numbers are finite, so each equals itself.
impl Eq for Knots {}

impl Knots {
    /// The quantiles of `values` that part them into `parts` parts of about the same size. With
    /// `has_ends`, the least and the greatest value are among them. Returns none if all values are
    /// the same.
    pub(crate) fn quantiles(mut values: Vec<f32>, parts: usize, has_ends: bool) -> Option<Self> {
        values.sort_by(f32::total_cmp);
        let (least, last) = (*values.first()?, values.len() - 1);
        let quantile = |part: usize| values[(part * last + parts / 2) / parts] + 0.0;
        let mut knots: Vec<_> = match has_ends {
            true => (0..=parts).map(quantile).collect(),
            // Nothing would be below an edge at the least value.
            false => (1..parts).map(quantile).filter(|knot| *knot > least).collect(),
        };
        knots.dedup();
        Self::try_from(knots).ok().filter(|knots| knots.0.len() > usize::from(has_ends))
    }
}

impl From<Knots> for Vec<f32> {
    fn from(knots: Knots) -> Self {
        knots.0
    }
}

impl TryFrom<Vec<f32>> for Knots {
    type Error = String;

    fn try_from(knots: Vec<f32>) -> Result<Self, String> {
        let is_right = knots.iter().all(|knot| knot.is_finite())
            && knots.is_sorted_by(|one, next| one < next)
            && (1..=KNOTS_MAX).contains(&knots.len());
        match is_right {
            true => Ok(Self(knots)),
            false => Err(format!("from 1 to {KNOTS_MAX} finite numbers that increase")),
        }
    }
}

/// Waves: sines and cosines of a period and of its first harmonics.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "WaveParts")]
pub struct Waves {
    period: f32,
    harmonics: u8,
}

/// The period is finite, so it equals itself.
impl Eq for Waves {}

/// The fields of [`Waves`] before they are checked.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WaveParts {
    period: f32,
    harmonics: u8,
}

impl TryFrom<WaveParts> for Waves {
    type Error = String;

    fn try_from(WaveParts { period, harmonics }: WaveParts) -> Result<Self, String> {
        Self::new(period, harmonics)
    }
}

impl Waves {
    /// Waves of this period, and of its first harmonics.
    pub fn new(period: f32, harmonics: u8) -> Result<Self, String> {
        if !(period.is_normal() && period > 0.0) {
            return Err(format!("a period that is a positive number, not {period}"));
        }
        if !(1..=HARMONICS_MAX).contains(&harmonics) {
            return Err(format!("from 1 to {HARMONICS_MAX} harmonics, not {harmonics}"));
        }
        Ok(Self { period, harmonics })
    }
}

impl Shape {
    /// The names of the features, as they follow the name of the column.
    fn names(&self) -> Vec<String> {
        match self {
            Self::Bins(Knots(edges)) => {
                let last = edges.last().map(|edge| format!("{}..", short(*edge)));
                let first = edges.first().map(|edge| format!("..{}", short(*edge)));
                let inner = edges.windows(2).map(|e| format!("{}..{}", short(e[0]), short(e[1])));
                first.into_iter().chain(inner).chain(last).collect()
            }
            Self::Spline(Knots(knots)) => knots.iter().map(|k| format!("@{}", short(*k))).collect(),
            Self::Waves(Waves { period, harmonics }) => (1..=*harmonics)
                .flat_map(|j| ["sin", "cos"].map(|wave| format!("{wave}({j}/{})", short(*period))))
                .collect(),
        }
    }

    /// Whether the features take the place of the column's own.
    pub(crate) fn replaces(&self) -> bool {
        !matches!(self, Self::Waves(_))
    }

    /// Calls `take` with the number and the value of every feature that is not 0.
    fn each(&self, x: f32, mut take: impl FnMut(usize, f32)) {
        match self {
            Self::Bins(Knots(edges)) => take(edges.partition_point(|edge| *edge <= x), 1.0),
            Self::Spline(Knots(knots)) => hats(knots, x, take),
            Self::Waves(waves) => waves.each(x, take),
        }
    }

    /// A description of the shape, for a person.
    pub(crate) fn described(&self) -> String {
        let list = |knots: &Knots| {
            let knots: Vec<_> = knots.0.iter().map(|knot| short(*knot)).collect();
            crate::schema::listed_up_to(SHOWN, &knots)
        };
        match self {
            Self::Bins(edges) => format!("{} bins, parted at {}", edges.0.len() + 1, list(edges)),
            Self::Spline(knots) => format!("a spline with knots at {}", list(knots)),
            Self::Waves(Waves { period, harmonics }) => {
                format!("{harmonics} waves of the period {}", short(*period))
            }
        }
    }
}

/// The number of knots that a note shows.
const SHOWN: usize = 12;

/// Calls `take` with the hat functions around x. The hat of a knot is 1 there, and 0 from the
/// neighbours on. Beyond the outermost knots, their hats stay 1.
fn hats(knots: &[f32], x: f32, mut take: impl FnMut(usize, f32)) {
    let above = knots.partition_point(|knot| *knot <= x);
    if above == 0 || above == knots.len() {
        return take(above.saturating_sub(1), 1.0);
    }
    let (low, high) = (f64::from(knots[above - 1]), f64::from(knots[above]));
    let share = (f64::from(x) - low) / (high - low);
    take(above - 1, (1.0 - share) as f32);
    if share > 0.0 {
        take(above, share as f32);
    }
}

impl Waves {
    fn each(self, x: f32, mut take: impl FnMut(usize, f32)) {
        // The rest after whole periods is exact, so that the phase is right for large numbers too.
        let phase = f64::from(x) % f64::from(self.period) / f64::from(self.period);
        for j in 0..usize::from(self.harmonics) {
            let (sin, cos) = (std::f64::consts::TAU * phase * (j + 1) as f64).sin_cos();
            take(2 * j, sin as f32);
            take(2 * j + 1, cos as f32);
        }
    }
}

/// A number as short as it can be written.
fn short(number: f32) -> String {
    let size = number.abs();
    let is_plain = size == 0.0 || (1e-4..1e9).contains(&size);
    if is_plain { number.to_string() } else { format!("{number:e}") }
}

/// The curves of one column, worked out before the first row.
#[derive(Debug)]
pub(crate) struct ColumnCurves {
    shapes: Vec<(Shape, Vec<String>)>,
    /// Whether the number itself remains a feature.
    keeps_number: bool,
}

impl ColumnCurves {
    /// The curves of a column. Returns none if it has none.
    pub(crate) fn new(curves: &[Curve], column: &str) -> Option<Self> {
        let own = curves.iter().filter(|curve| curve.column == column);
        let shapes: Vec<_> = own.map(|curve| (curve.shape.clone(), curve.shape.names())).collect();
        let keeps_number = !shapes.iter().any(|(shape, _)| shape.replaces());
        (!shapes.is_empty()).then_some(Self { shapes, keeps_number })
    }

    /// The text between the name of a column and the names of its features.
    pub(crate) fn prefix(column: &str) -> Prefix {
        Prefix::new(format!("{column}{PART}"))
    }

    /// Adds the features of a number in the column `name`. Its features begin with `prefix`.
    pub(crate) fn add(
        &self,
        prefix: &Prefix,
        name: &[u8],
        x: f32,
        space: &Space,
        rows: &mut impl FeatureSink,
    ) {
        if self.keeps_number && x != 0.0 {
            rows.add_named(space, &Prefix::NONE, name, x);
        }
        for (shape, names) in &self.shapes {
            shape.each(x, |feature, value| {
                rows.add_named(space, prefix, names[feature].as_bytes(), value);
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn knots(knots: &[f32]) -> Knots {
        Knots::try_from(knots.to_vec()).unwrap()
    }

    fn values(shape: &Shape, x: f32) -> Vec<(String, f32)> {
        let (names, mut values) = (shape.names(), Vec::new());
        shape.each(x, |feature, value| values.push((names[feature].clone(), value)));
        values
    }

    fn named(values: &[(&str, f32)]) -> Vec<(String, f32)> {
        values.iter().map(|&(name, value)| (name.to_owned(), value)).collect()
    }

    #[test]
    fn a_number_is_in_one_bin() {
        let bins = Shape::Bins(knots(&[-1.5, 30.0, 4.5e10]));
        for (x, bin) in [
            (-2.0, "..-1.5"),
            (-1.5, "-1.5..30"),
            (29.9, "-1.5..30"),
            (30.0, "30..4.5e10"),
            (1e20, "4.5e10.."),
        ] {
            assert_eq!(values(&bins, x), named(&[(bin, 1.0)]));
        }
    }

    #[test]
    fn a_spline_is_1_at_its_knots_and_straight_between() {
        let spline = Shape::Spline(knots(&[0.0, 2.0, 10.0]));
        for (x, expected) in [
            (-5.0, &[("@0", 1.0)][..]),
            (0.0, &[("@0", 1.0)]),
            (0.5, &[("@0", 0.75), ("@2", 0.25)]),
            (2.0, &[("@2", 1.0)]),
            (8.0, &[("@2", 0.25), ("@10", 0.75)]),
            (10.0, &[("@10", 1.0)]),
            (11.0, &[("@10", 1.0)]),
        ] {
            assert_eq!(values(&spline, x), named(expected), "{x}");
        }
        assert_eq!(values(&Shape::Spline(knots(&[3.0])), 1.0), named(&[("@3", 1.0)]));
    }

    #[test]
    fn waves_come_back_after_a_period() {
        let waves = Shape::Waves(Waves::new(24.0, 2).unwrap());
        let six = values(&waves, 6.0);
        let names = ["sin(1/24)", "cos(1/24)", "sin(2/24)", "cos(2/24)"];
        assert_eq!(six.iter().map(|value| &*value.0).collect::<Vec<_>>(), names);
        for (value, expected) in six.iter().zip([1.0, 0.0, 0.0, -1.0]) {
            assert!((value.1 - expected).abs() < 1e-6, "{value:?}");
        }
        for far in [30.0, -18.0, 24.0 * 1e5 + 6.0] {
            for (near, far) in six.iter().zip(values(&waves, far)) {
                assert!((near.1 - far.1).abs() < 1e-6, "{near:?} {far:?}");
            }
        }
    }

    #[test]
    fn quantiles_part_values_evenly() {
        let list: Vec<f32> = (0_u8..=100).map(f32::from).collect();
        assert_eq!(Knots::quantiles(list.clone(), 4, false), Some(knots(&[25.0, 50.0, 75.0])));
        assert_eq!(Knots::quantiles(list, 2, true), Some(knots(&[0.0, 50.0, 100.0])));
        assert_eq!(Knots::quantiles(vec![0.0, 1.0, 0.0, 0.0], 10, false), Some(knots(&[1.0])));
        assert_eq!(Knots::quantiles(vec![0.0, 1.0, 0.0], 10, true), Some(knots(&[0.0, 1.0])));
        assert_eq!(Knots::quantiles(vec![3.0; 9], 10, false), None);
        assert_eq!(Knots::quantiles(vec![3.0; 9], 10, true), None);
        assert_eq!(Knots::quantiles(Vec::new(), 10, true), None);
    }

    #[test]
    fn numbers_that_make_no_curve_are_refused() {
        for wrong in [&[][..], &[1.0, 1.0], &[2.0, 1.0], &[f32::NAN], &[f32::INFINITY]] {
            assert!(Knots::try_from(wrong.to_vec()).is_err(), "{wrong:?}");
        }
        assert!(Knots::try_from(vec![0.0; KNOTS_MAX + 1]).is_err());
        for (period, harmonics) in [(0.0, 1), (-1.0, 1), (f32::NAN, 1), (24.0, 0), (24.0, 33)] {
            assert!(Waves::new(period, harmonics).is_err());
        }
    }

    proptest! {
        /// The weights that a piecewise linear function has at the knots make the spline equal to it.
        #[test]
        fn a_spline_is_any_piecewise_linear_function(
            steps in proptest::collection::vec((0.01_f32..10.0, -5.0_f32..5.0), 2..9),
            place in 0.0_f64..1.0,
        ) {
            let mut at = -3.0;
            let points: Vec<(f32, f32)> = steps.iter().map(|&(step, y)| { at += step; (at, y) }).collect();
            let spline = Shape::Spline(knots(&points.iter().map(|point| point.0).collect::<Vec<_>>()));
            let (first, last) = (f64::from(points[0].0), f64::from(at));
            let x = (first + place * (last - first)) as f32;
            let pair = points.windows(2).find(|pair| x <= pair[1].0).unwrap_or(&points[points.len() - 2..]);
            let [(x0, y0), (x1, y1)] = [pair[0], pair[1]].map(|(x, y)| (f64::from(x), f64::from(y)));
            let straight = y0 + (y1 - y0) * (f64::from(x) - x0) / (x1 - x0);
            let (mut learned, mut sum) = (0.0, 0.0);
            spline.each(x, |knot, value| {
                learned += f64::from(points[knot].1) * f64::from(value);
                sum += f64::from(value);
            });
            prop_assert!((learned - straight).abs() < 1e-5, "{learned} {straight}");
            prop_assert!((sum - 1.0).abs() < 1e-6);
        }
    }
}
