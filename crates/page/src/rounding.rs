//! Writes numbers as people read them: with a few digits, rounded to the side on which they stay
//! true.
//!
//! A measured number is rounded to the nearest. A quantity that is at most some number is also at
//! most any larger one, so upper bounds are rounded up. In the same way, lower bounds are rounded
//! down.

use std::fmt;

/// A number that will be printed, and the direction in which it may be rounded.
///
/// ```
/// use rueful_page::Figure;
/// assert_eq!(Figure::measured(0.123_44).to_string(), "0.1234");
/// assert_eq!(Figure::at_most(0.123_41).to_string(), "0.1235");
/// assert_eq!(Figure::at_least(0.123_49).to_string(), "0.1234");
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figure {
    value: f64,
    side: Side,
}

/// The side to which a number may be rounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Either,
    Up,
    Down,
}

impl Figure {
    /// A number that was measured or set. It is rounded to the nearest.
    pub fn measured(value: f64) -> Self {
        Self { value, side: Side::Either }
    }

    /// An upper bound. It is rounded up.
    pub fn at_most(value: f64) -> Self {
        Self { value, side: Side::Up }
    }

    /// A lower bound. It is rounded down.
    pub fn at_least(value: f64) -> Self {
        Self { value, side: Side::Down }
    }

    /// The total over all rounds, from the figure of one round.
    #[must_use]
    pub fn times(self, count: u64) -> Self {
        let count = count as f64;
        let product = self.value * count;
        self.moved(product, self.value.mul_add(count, -product))
    }

    /// The figure of one round, from the total over all rounds.
    #[must_use]
    pub fn over(self, count: u64) -> Self {
        let count = count as f64;
        let quotient = self.value / count;
        self.moved(quotient, (-quotient).mul_add(count, self.value))
    }

    /// The figure with the result of an operation. `missing` has the sign of the true result minus
    /// the computed one. A bound on the wrong side of the true result moves to the next double.
    fn moved(self, result: f64, missing: f64) -> Self {
        let value = match self.side {
            Side::Up if missing > 0.0 => result.next_up(),
            Side::Down if missing < 0.0 => result.next_down(),
            _ => result,
        };
        Self { value, ..self }
    }

    /// The figure with this many digits behind the point.
    pub fn decimals(self, decimals: u8) -> String {
        self.written(Form::Decimals(decimals))
    }

    /// The figure, which is a share, in percent.
    pub fn percent(self) -> String {
        format!("{} %", self.times(100).decimals(2))
    }

    fn written(self, form: Form) -> String {
        if !self.value.is_finite() {
            return "–".to_owned();
        }
        let nearest = form.nearest(self.value);
        form.write(match self.side {
            Side::Up if nearest.value() < self.value => form.next(nearest, 1),
            Side::Down if nearest.value() > self.value => form.next(nearest, -1),
            _ => nearest,
        })
    }
}

/// Writes four significant digits, and an exponent only if the number would be long without it.
impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.written(Form::Short))
    }
}

/// The number digits · 10^exponent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Decimal {
    digits: i64,
    exponent: i32,
}

impl Decimal {
    /// Parses a number as the standard library writes it. A text that is no number gives 0.
    fn read(text: &str) -> Self {
        let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        Self {
            digits: format!("{whole}{fraction}").parse().unwrap_or(0),
            exponent: exponent.parse().unwrap_or(0) - fraction.len() as i32,
        }
    }

    /// The double nearest to it.
    fn value(self) -> f64 {
        format!("{}e{}", self.digits, self.exponent).parse().unwrap_or(f64::NAN)
    }

    /// The exponent of the power of ten of its first digit.
    fn order(self) -> i32 {
        self.exponent + self.digits.unsigned_abs().checked_ilog10().unwrap_or(0) as i32
    }

    fn sign(self) -> &'static str {
        if self.digits < 0 { "-" } else { "" }
    }

    /// Writes all digits, with a point among them or zeros behind them.
    fn plain(self) -> String {
        let decimals = self.exponent.min(0).unsigned_abs() as usize;
        let zeros = "0".repeat(self.exponent.max(0) as usize);
        let digits = format!("{:0>1$}{zeros}", self.digits.unsigned_abs(), decimals + 1);
        let (whole, fraction) = digits.split_at(digits.len() - decimals);
        let point = if decimals > 0 { "." } else { "" };
        format!("{}{whole}{point}{fraction}", self.sign())
    }

    /// Writes one digit, a point, the other digits, and a power of ten.
    fn scientific(self) -> String {
        let digits = self.digits.unsigned_abs().to_string();
        let (whole, fraction) = digits.split_at(1);
        format!("{}{whole}.{fraction}e{}", self.sign(), self.order())
    }
}

/// The form in which a number is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Four digits, or all digits of a whole number that has at most seven.
    Short,
    /// This many digits behind the point.
    Decimals(u8),
}

impl Form {
    /// How many digits are shown, and the smallest number that has one digit more.
    const DIGITS: usize = 4;
    const FULL: i64 = 10_000;

    /// The nearest number that can be written in this form.
    fn nearest(self, value: f64) -> Decimal {
        let short = Decimal::read(&format!("{value:.*e}", Self::DIGITS - 1));
        match self {
            Self::Short if (4..7).contains(&short.order()) => Decimal::read(&format!("{value:.0}")),
            Self::Decimals(decimals) if short.order() < 12 => {
                Decimal::read(&format!("{value:.*}", usize::from(decimals)))
            }
            _ => short,
        }
    }

    /// The next number up or down that can be written in this form.
    fn next(self, from: Decimal, step: i64) -> Decimal {
        let Decimal { digits, exponent } = from;
        // The number below 1.000 is 0.9999, and the number above 0.9999 is 1.000.
        let is_first = self == Self::Short && digits.abs() == Self::FULL / 10;
        if is_first && digits.signum() != step {
            return Decimal { digits: 10 * digits + step, exponent: exponent - 1 };
        }
        let next = Decimal { digits: digits + step, exponent };
        let most = if exponent == 0 { 10_000_000 } else { Self::FULL };
        let is_long = next.digits.abs() == most;
        if self == Self::Short && is_long {
            return Decimal { digits: step * Self::FULL / 10, exponent: next.order() - 3 };
        }
        next
    }

    fn write(self, number: Decimal) -> String {
        match (self, number.order()) {
            (Self::Short, _) if number.digits == 0 => "0".to_owned(),
            (Self::Short, -4..7) | (Self::Decimals(_), ..12) => number.plain(),
            _ => number.scientific(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_stay_short() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "0"),
            (1.0, "1.000"),
            (0.031_256, "0.03126"),
            (-12.345_6, "-12.35"),
            (99.999_99, "100.0"),
            (1_234.56, "1235"),
            (123_456.7, "123457"),
            (9_999_999.7, "1.000e7"),
            (1e-4, "0.0001000"),
            (1e-7, "1.000e-7"),
            (3e12, "3.000e12"),
            (f64::NAN, "–"),
            (f64::INFINITY, "–"),
        ] {
            assert_eq!(Figure::measured(value).to_string(), text);
        }
        assert_eq!(Figure::measured(0.1234).percent(), "12.34 %");
        assert_eq!(Figure::measured(0.0).percent(), "0.00 %");
        assert_eq!(Figure::measured(1.0).decimals(4), "1.0000");
        assert_eq!(format!("{:>8}", Figure::measured(1.0)), "   1.000");
    }

    #[test]
    fn bounds_go_to_their_side() {
        for (value, down, up) in [
            (0.1, "0.1000", "0.1000"),
            (0.123_41, "0.1234", "0.1235"),
            (-0.123_41, "-0.1235", "-0.1234"),
            (0.999_96, "0.9999", "1.000"),
            (-0.999_96, "-1.000", "-0.9999"),
            (9_999.2, "9999", "10000"),
            (999.96, "999.9", "1000"),
            (123_456.7, "123456", "123457"),
            (9_999_999.2, "9999000", "1.000e7"),
            (-9_999_999.2, "-1.000e7", "-9999000"),
            (9_999_499.2, "9999499", "9999500"),
            (10_000_001.0, "1.000e7", "1.001e7"),
            (0.000_099_996, "9.999e-5", "0.0001000"),
            (f64::MAX, "1.797e308", "1.798e308"),
        ] {
            assert_eq!(Figure::at_least(value).to_string(), down);
            assert_eq!(Figure::at_most(value).to_string(), up);
        }
        assert_eq!(Figure::at_most(0.123_41).percent(), "12.35 %");
        assert_eq!(Figure::at_least(-1e-9).decimals(2), "-0.01");
        assert_eq!(Figure::at_most(1e15).decimals(2), "1.000e15");
    }

    /// Exact quotients and products are not moved. Inexact ones are.
    #[test]
    fn what_is_exact_is_not_moved() {
        assert_eq!(Figure::at_most(3.5).over(7).to_string(), "0.5000");
        assert_eq!(Figure::at_most(0.5).times(7).to_string(), "3.500");
        let third = Figure::at_most(1.0).over(3);
        assert!(third.value > 1.0 / 3.0 && third.times(3).value > 1.0);
        assert!(Figure::at_least(1.0).over(5).value < 0.2);
    }

    fn any_number() -> impl Strategy<Value = f64> {
        let any =
            proptest::num::f64::NORMAL | proptest::num::f64::SUBNORMAL | proptest::num::f64::ZERO;
        // These numbers are near those that can be written, and so near ties and powers of ten.
        let near =
            (-99_999_i64..99_999, -12..9_i32, -2..=2_i32).prop_map(|(digits, exponent, ulps)| {
                let value: f64 = format!("{digits}e{exponent}").parse().expect("a number");
                (0..ulps.abs())
                    .fold(value, |v, _| if ulps > 0 { v.next_up() } else { v.next_down() })
            });
        prop_oneof![any, -2.0..2.0, -1e8..1e8, near]
    }

    fn read(text: &str) -> f64 {
        text.trim_end_matches(" %").parse().expect("a number")
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        /// The printed number, read back, is on the right side of the number, and near it.
        #[test]
        fn what_is_printed_holds(value in any_number()) {
            let [down, near, up] = [Figure::at_least, Figure::measured, Figure::at_most]
                .map(|figure| read(&figure(value).to_string()));
            prop_assert!(down <= value && value <= up, "{down} ≤ {value} ≤ {up}");
            prop_assert!(near == down || near == up, "{near} is {down} or {up}");
            // The unit is one of the last of four digits, plus the spacing of the smallest doubles.
            let unit = 1.000_001e-3 * value.abs() + 1e-323;
            prop_assert!(up <= value + unit && down >= value - unit, "{down} ≤ {value} ≤ {up}");
        }

        #[test]
        fn decimals_hold(value in any_number(), decimals in 0..6_u8) {
            let [down, up] = [Figure::at_least, Figure::at_most]
                .map(|figure| read(&figure(value).decimals(decimals)));
            prop_assert!(down <= value && value <= up, "{down} ≤ {value} ≤ {up}");
        }

        /// Totals and averages hold exactly: the error of the product, computed exactly, has the
        /// right sign.
        #[test]
        fn totals_hold(value in -1e6..1e6, count in 1_u64..1 << 40) {
            let (up, down) = (Figure::at_most(value), Figure::at_least(value));
            let rest = |figure: Figure| value.mul_add(count as f64, -figure.times(count).value);
            prop_assert!(rest(up) <= 0.0 && rest(down) >= 0.0);
            let rest = |figure: Figure| figure.over(count).value.mul_add(count as f64, -value);
            prop_assert!(rest(up) >= 0.0 && rest(down) <= 0.0);
        }
    }
}
