//! Writes numbers in full, beside axes, and as coordinates. Numbers for people are
//! [`Figure`](crate::Figure)s.

use crate::Figure;

/// Numbers larger than this are not drawn, so that no sum of drawn numbers overflows.
const LARGEST: f64 = 1e150;

/// Whether a number can have a place in a picture.
pub(crate) fn drawable(value: f64) -> bool {
    value.abs() <= LARGEST
}

/// A figure with the typographic minus sign in place of the hyphen.
pub(crate) fn short(figure: Figure) -> String {
    figure.to_string().replace('-', "−")
}

/// All digits that are needed to read the same number back, with the typographic minus sign.
pub(crate) fn exact(value: f64) -> String {
    if value.is_finite() { format!("{value:?}").replace('-', "−") } else { "–".to_owned() }
}

/// The same as [`exact`], with a dash for a missing value.
pub(crate) fn exact_or_dash(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), exact)
}

/// A count with commas: 1,234,567.
pub(crate) fn count(value: u64) -> String {
    let digits = value.to_string();
    let lead = digits.len() % 3;
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && i % 3 == lead {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A round number beside an axis. Rounding errors behind its twelfth digit are dropped.
pub(crate) fn tick(value: f64) -> String {
    let value = format!("{value:.11e}").parse().unwrap_or(value);
    let text = match value.abs() {
        0.0 => "0".to_owned(),
        size @ 1e3..1e7 if size.fract() == 0.0 => signed(value, &count(size as u64)),
        1e-4..1e7 => format!("{value}"),
        _ => format!("{value:e}"),
    };
    text.replace('-', "−")
}

fn signed(value: f64, size: &str) -> String {
    if value < 0.0 { format!("-{size}") } else { size.to_owned() }
}

/// A coordinate, rounded to a tenth of a pixel.
pub(crate) fn px(value: f64) -> String {
    let tenths = (value * 10.0).round() / 10.0;
    // Adding zero turns −0 into 0.
    if tenths.is_finite() { format!("{}", tenths + 0.0) } else { "0".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_forms() {
        assert_eq!(short(Figure::measured(-12.345_6)), "−12.35");
        assert_eq!(short(Figure::at_most(1e-7)), "1.000e−7");
        assert_eq!(exact(0.1 + 0.2), "0.30000000000000004");
        assert_eq!(exact(1.0), "1.0");
        assert_eq!(exact(-1e-7), "−1e−7");
        assert_eq!(exact(f64::NAN), "–");
        assert_eq!(px(-0.04), "0");
        assert_eq!(px(12.345), "12.3");
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(tick(0.1 + 0.2), "0.3");
        assert_eq!(tick(-10_000.0), "−10,000");
        assert_eq!(tick(0.000_01), "1e−5");
        assert_eq!(tick(1e9), "1e9");
    }

    #[test]
    fn counts_are_grouped() {
        for (value, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(count(value), text);
        }
    }
}
