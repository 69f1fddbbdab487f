//! Maps values to pixels: linear, logarithmic, or logarithmic on both sides of zero.

use crate::number::drawable;

/// The most decades of a logarithmic axis. Values that are smaller still are near zero anyway.
const MOST_DECADES: f64 = 9.0;

/// The function that is applied to values before they are laid out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    Linear,
    Log,
    /// sign(v)·log₁₀(1 + |v|/c): nearly linear below c, logarithmic above.
    Symmetric(f64),
}

impl Kind {
    /// The kind that suits the values. It is logarithmic if all are positive and span more than one
    /// decade, but not too many. Other values that differ much get a symmetric axis. Values that are
    /// alike get a linear one.
    pub(crate) fn of(values: &[f64]) -> Self {
        let (low, high) = extent(values);
        if values.is_empty() || (low > 0.0 && high <= 10.0 * low) {
            return Self::Linear;
        }
        if low > 0.0 && (high / low).log10() <= MOST_DECADES {
            return Self::Log;
        }
        Self::around_zero(values)
    }

    fn around_zero(values: &[f64]) -> Self {
        let mut sizes: Vec<f64> = values.iter().map(|v| v.abs()).filter(|v| *v > 0.0).collect();
        sizes.sort_by(f64::total_cmp);
        let (Some(median), Some(largest)) = (sizes.get(sizes.len() / 2), sizes.last()) else {
            return Self::Linear;
        };
        // The small values still get room of their own. A power of ten below 1e-300 has too few
        // digits to divide by.
        let small = sizes[sizes.len() / 8];
        let near = 10f64.powf(small.log10().floor()).max(1e-6 * largest).max(1e-290);
        if *largest > 20.0 * median { Self::Symmetric(near) } else { Self::Linear }
    }

    fn bend(self, value: f64) -> f64 {
        match self {
            Self::Linear => value,
            Self::Log => value.log10(),
            Self::Symmetric(near) => (value.abs() / near).ln_1p().copysign(value) / 10f64.ln(),
        }
    }

    /// The name of the kind in the label of an axis.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Log => "logarithmic",
            Self::Symmetric(_) => "logarithmic on both sides of zero",
        }
    }
}

/// The smallest and the largest value, or (0, 0) if there are none.
pub(crate) fn extent(values: &[f64]) -> (f64, f64) {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if low <= high { (low, high) } else { (0.0, 0.0) }
}

/// An axis. Transformed values from `low` to `high` lie from pixel `from` to pixel `to`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scale {
    pub(crate) kind: Kind,
    low: f64,
    high: f64,
    pub(crate) from: f64,
    pub(crate) to: f64,
}

impl Scale {
    /// An axis that holds all values, with zero on it if it is linear.
    pub(crate) fn fit(kind: Kind, values: &[f64], pixels: (f64, f64)) -> Self {
        let (low, high) = extent(values);
        let (low, high) = match kind {
            Kind::Linear => rounded(low.min(0.0), high.max(0.0)),
            _ => padded(kind.bend(low), kind.bend(high)),
        };
        Self { kind, low, high, from: pixels.0, to: pixels.1 }
    }

    /// An axis from exactly the smallest value to the largest.
    pub(crate) fn tight(kind: Kind, values: &[f64], pixels: (f64, f64)) -> Self {
        let (low, high) = extent(values);
        let (low, high) = widened(kind.bend(low), kind.bend(high));
        Self { kind, low, high, from: pixels.0, to: pixels.1 }
    }

    /// The pixel of a value, or `None` if the value has no place on this axis.
    pub(crate) fn place(&self, value: f64) -> Option<f64> {
        let share = (self.kind.bend(value) - self.low) / (self.high - self.low);
        let inside = drawable(value) && (-1e-9..=1.0 + 1e-9).contains(&share);
        inside.then_some(self.from + share * (self.to - self.from))
    }

    /// Round values on the axis, about `wished` of them, each with its pixel.
    pub(crate) fn ticks(&self, wished: usize) -> Vec<(f64, f64)> {
        let values = match self.kind {
            Kind::Linear => linear_ticks(self.low, self.high, wished),
            Kind::Log => log_ticks(self.low, self.high, wished),
            Kind::Symmetric(near) => symmetric_ticks(near, self.low, self.high, wished),
        };
        values.into_iter().filter_map(|value| Some((value, self.place(value)?))).collect()
    }
}

/// Extends a range to round ends.
fn rounded(low: f64, high: f64) -> (f64, f64) {
    let (low, high) = widened(low, high);
    let step = round_step((high - low) / 5.0);
    ((low / step).floor() * step, (high / step).ceil() * step)
}

/// Adds some room at both ends.
fn padded(low: f64, high: f64) -> (f64, f64) {
    let (low, high) = widened(low, high);
    let air = 0.05 * (high - low);
    (low - air, high + air)
}

/// A range of more than one point. On a logarithmic axis a bound can be log 0 only if there is
/// nothing to draw, and then any range will do.
fn widened(low: f64, high: f64) -> (f64, f64) {
    if !(low.is_finite() && high.is_finite()) {
        return (0.0, 1.0);
    }
    let size = low.abs().max(high.abs());
    if high - low > (1e-9 * size).max(1e-290) {
        return (low, high);
    }
    let air = if size > 1e-280 { 0.1 * size } else { 0.5 };
    (low - air, high + air)
}

/// The step rounded up to 1, 2, 5 or 10 times a power of ten.
fn round_step(step: f64) -> f64 {
    let power = 10f64.powf(step.log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * power >= 0.999 * step);
    factor.unwrap_or(10.0) * power
}

fn linear_ticks(low: f64, high: f64, wished: usize) -> Vec<f64> {
    let step = round_step((high - low) / wished.max(1) as f64);
    let first = (low / step).ceil();
    let ticks = (0..=2 * wished).map(|i| (first + i as f64) * step);
    ticks.take_while(|tick| *tick <= high + 1e-9 * step).collect()
}

/// The ticks are 1, 2, 5, 10, … if these fit. Otherwise they are powers of ten, or some of these.
fn log_ticks(low: f64, high: f64, wished: usize) -> Vec<f64> {
    let ladders: [(&[f64], i32); 2] = [(&[1.0, 2.0, 5.0], 1), (&[1.0], 1)];
    let fine = ladders.into_iter().map(|(factors, stride)| decades(low, high, factors, stride));
    let coarse = (2..=200).map(|stride| decades(low, high, &[1.0], stride));
    let ticks = fine.chain(coarse).find(|ticks| ticks.len() <= wished).unwrap_or_default();
    if ticks.len() >= 2 {
        return ticks;
    }
    linear_ticks(10f64.powf(low), 10f64.powf(high), wished)
}

/// Multiples of powers of ten whose logarithms lie between `low` and `high`.
fn decades(low: f64, high: f64, factors: &[f64], stride: i32) -> Vec<f64> {
    let first = (low.floor() as i32).div_euclid(stride) * stride;
    let powers = (first..=high.ceil() as i32).step_by(stride.unsigned_abs() as usize);
    let values = powers.flat_map(|power| factors.iter().map(move |f| f * 10f64.powi(power)));
    values.filter(|value| (low - 1e-9..=high + 1e-9).contains(&value.log10())).collect()
}

/// The ticks are zero and the powers of ten on both sides of it, or some of these.
fn symmetric_ticks(near: f64, low: f64, high: f64, wished: usize) -> Vec<f64> {
    let reach = high.max(-low).ceil() as i32;
    let inside = |value: &f64| (low..=high).contains(&Kind::Symmetric(near).bend(*value));
    let every = |stride: usize| -> Vec<f64> {
        let sizes = (0..=reach).step_by(stride).map(|power| near * 10f64.powi(power));
        let values = sizes.flat_map(|size| [-size, size]).filter(inside);
        std::iter::once(0.0).chain(values).collect()
    };
    (1..500).map(every).find(|ticks| ticks.len() <= wished.max(3)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(scale: &Scale, wished: usize) -> Vec<f64> {
        scale.ticks(wished).into_iter().map(|(value, _)| value).collect()
    }

    #[test]
    fn the_kind_follows_the_values() {
        assert_eq!(Kind::of(&[0.3, 0.5]), Kind::Linear);
        assert_eq!(Kind::of(&[0.03, 0.5]), Kind::Log);
        assert_eq!(Kind::of(&[-0.1, 0.5]), Kind::Linear);
        assert_eq!(Kind::of(&[-0.1, 0.02, 0.03, 0.04, 20.0]), Kind::Symmetric(0.01));
        assert_eq!(Kind::of(&[0.0, 0.0]), Kind::Linear);
        assert_eq!(Kind::of(&[]), Kind::Linear);
    }

    #[test]
    fn rounds_are_marked_by_powers_of_ten() {
        let scale = Scale::tight(Kind::Log, &[1.0, 32_561.0], (0.0, 100.0));
        assert_eq!(values(&scale, 6), [1.0, 10.0, 100.0, 1_000.0, 10_000.0]);
        assert_eq!(scale.place(1.0), Some(0.0));
        assert_eq!(scale.place(0.0), None);
    }

    #[test]
    fn a_linear_axis_shows_zero_and_round_ends() {
        let scale = Scale::fit(Kind::Linear, &[0.31, 0.47], (0.0, 100.0));
        assert_eq!(values(&scale, 5), [0.0, 0.1, 0.2, 0.30000000000000004, 0.4, 0.5]);
        assert_eq!(scale.place(0.5), Some(100.0));
    }

    #[test]
    fn both_sides_of_zero_have_ticks() {
        let scale = Scale::fit(Kind::Symmetric(0.01), &[-0.1, 20.0], (0.0, 100.0));
        let ticks = values(&scale, 8);
        assert!(
            ticks.contains(&0.0) && ticks.contains(&-0.1) && ticks.contains(&10.0),
            "{ticks:?}"
        );
    }

    #[test]
    fn no_values_have_an_axis() {
        for kind in [Kind::Linear, Kind::Log, Kind::Symmetric(0.1)] {
            assert!(Scale::tight(kind, &[], (0.0, 100.0)).ticks(5).len() < 12);
            assert!(Scale::fit(kind, &[], (0.0, 100.0)).ticks(5).len() < 12);
        }
    }

    #[test]
    fn one_value_has_a_place() {
        for kind in [Kind::Linear, Kind::Log] {
            let scale = Scale::fit(kind, &[3.0], (0.0, 100.0));
            assert!(scale.place(3.0).is_some() && !scale.ticks(5).is_empty());
        }
    }
}
