//! Reads decimal numbers within a piece of text.
//!
//! Each function takes the whole text and the place where a number should begin, and returns the
//! place where it ends. So the fast paths carry only one length and one position along. One
//! multiplication or division settles almost all numbers. The rest go the long way through
//! `fast_float2`.

use rueful_machine::rounds_like_its_neighbours;

/// Integers up to this one are exact as `f64`.
const EXACT_MANTISSA: u64 = 1 << 53;

/// Any run of this many digits fits in 63 bits. Signed integers become `f64` faster.
const EXACT_DIGITS: usize = 18;

/// The powers of ten that are exact as `f64`.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// The factor by which appending this many digits multiplies an integer.
const SHIFTS: [u64; 9] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// An exponent of this size decides the value, whatever the digits of any line that fits in memory.
/// Larger ones have the same effect.
const EXPONENT_CAP: i64 = 1 << 50;

/// Reads the number at `at`, correctly rounded, and returns where it ends. A number has an optional
/// sign, digits with an optional point among or around them, and an optional exponent. Words and
/// hexadecimals are not numbers. A number that is too large is infinite.
#[inline]
pub(crate) fn double_at(text: &[u8], at: usize) -> Option<(f64, usize)> {
    let decimal = Decimal::at(text, at)?;
    let value = if decimal.is_exact() { decimal.nearly() } else { None };
    Some((value.unwrap_or_else(|| the_long_way(&text[at..decimal.end])), decimal.end))
}

/// Reads the number at `at` in single precision, and returns where it ends. The result is the `f32`
/// that is nearest to the written number, not the one nearest to its `f64`.
#[inline(always)] // A call would pass its result through memory.
pub(crate) fn single_at(text: &[u8], at: usize) -> Option<(f32, usize)> {
    let decimal = Decimal::at(text, at)?;
    let value = match decimal.nearly() {
        Some(value) if rounds_like_its_neighbours(value) => value as f32,
        _ => single_the_long_way(&text[at..decimal.end]),
    };
    Some((value, decimal.end))
}

/// The integer at `at`, at most `u64::MAX`, and the place where it ends, which is `at` if there is
/// none.
#[inline(always)]
pub(crate) fn integer_at(text: &[u8], at: usize) -> (u64, usize) {
    let (number, end) = append_digits(text, at, 0);
    if end - at > EXACT_DIGITS { (saturating(&text[at..end]), end) } else { (number, end) }
}

#[cold]
fn saturating(digits: &[u8]) -> u64 {
    let append =
        |number: u64, digit: &u8| number.saturating_mul(10).saturating_add(u64::from(digit - b'0'));
    digits.iter().fold(0, append)
}

// The syntax has been checked before a number goes the long way, so there always is a value. If
// there were none after all, the result is NaN, which every caller refuses.

#[cold]
fn the_long_way(number: &[u8]) -> f64 {
    fast_float2::parse(number).unwrap_or(f64::NAN)
}

/// Whole numbers beyond 2^24 often lie in the middle of two singles. They are exact as doubles, so
/// a single rounding decides. The facts about the number are worked out again here, so that the
/// fast way need not keep them.
#[cold]
#[inline(never)]
fn single_the_long_way(number: &[u8]) -> f32 {
    match Decimal::at(number, 0) {
        Some(whole) if whole.exponent == 0 && whole.is_exact() => {
            signed(whole.mantissa as f64, whole.negative) as f32
        }
        _ => fast_float2::parse(number).unwrap_or(f32::NAN),
    }
}

/// A number as it is written: ±mantissa · 10^exponent.
#[derive(Debug, Clone, Copy)]
struct Decimal {
    negative: bool,
    mantissa: u64,
    /// Whether `mantissa` holds all the digits. If not, its value is meaningless.
    is_whole: bool,
    exponent: i64,
    end: usize,
}

impl Decimal {
    #[inline(always)]
    fn at(text: &[u8], at: usize) -> Option<Self> {
        let (negative, start) = after_sign(text, at);
        let (mut mantissa, mut end) = append_digits(text, start, 0);
        let mut count = end - start;
        let mut exponent = 0;
        if text.get(end) == Some(&b'.') {
            let point_end = end + 1;
            (mantissa, end) = append_fraction(text, point_end, mantissa);
            count += end - point_end;
            exponent = -((end - point_end) as i64);
        }
        if count == 0 {
            return None;
        }
        let is_whole = count <= EXACT_DIGITS || significant(&text[start..end]) <= EXACT_DIGITS;
        if let Some(b'e' | b'E') = text.get(end) {
            let (written, exponent_end) = exponent_at(text, end + 1)?;
            (exponent, end) = (exponent + written, exponent_end);
        }
        Some(Self { negative, mantissa, is_whole, exponent, end })
    }

    /// Whether the mantissa is exact as `f64`. Then [`nearly`](Self::nearly) is one operation on
    /// exact numbers, and so correctly rounded.
    #[inline(always)]
    fn is_exact(self) -> bool {
        self.is_whole && self.mantissa <= EXACT_MANTISSA
    }

    /// Its value, with one rounding for a mantissa above 2^53 and one for the power of ten. It is
    /// less than three units in the last place from the written number. Returns none if digits are
    /// missing or the power is not exact.
    #[inline(always)]
    fn nearly(self) -> Option<f64> {
        if !self.is_whole {
            return None;
        }
        let mantissa = self.mantissa as i64 as f64;
        let size = match self.exponent {
            0 => mantissa,
            ..0 => mantissa / POWERS.get(self.exponent.unsigned_abs() as usize)?,
            _ => mantissa * POWERS.get(self.exponent as usize)?,
        };
        Some(signed(size, self.negative))
    }
}

/// Returns ±size without a branch, because in many files half of the numbers are negative.
#[inline(always)]
fn signed(size: f64, negative: bool) -> f64 {
    f64::from_bits(size.to_bits() ^ u64::from(negative) << 63)
}

/// Whether a minus sign is at `at`, and where the sign ends if there is any.
#[inline(always)]
fn after_sign(text: &[u8], at: usize) -> (bool, usize) {
    match text.get(at) {
        Some(b'-') => (true, at + 1),
        Some(b'+') => (false, at + 1),
        _ => (false, at),
    }
}

/// The exponent after its letter, capped, and the place where it ends.
#[inline(always)]
fn exponent_at(text: &[u8], at: usize) -> Option<(i64, usize)> {
    let (negative, start) = after_sign(text, at);
    let (size, end) = integer_at(text, start);
    let size = size.min(EXPONENT_CAP as u64) as i64;
    (end > start).then_some((if negative { -size } else { size }, end))
}

/// Appends the digits from `at` on to `number`, and returns where they end. The number wraps around
/// if there are too many.
#[inline(always)]
fn append_digits(text: &[u8], mut at: usize, mut number: u64) -> (u64, usize) {
    while let Some(byte) = text.get(at) {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        number = number.wrapping_mul(10).wrapping_add(u64::from(digit));
        at += 1;
    }
    (number, at)
}

/// Appends digits after a point. They are many, and their number cannot be predicted, so they are
/// taken eight at a time and counted by arithmetic.
#[inline(always)]
fn append_fraction(text: &[u8], mut at: usize, mut number: u64) -> (u64, usize) {
    while let Some(chunk) = text.get(at..).and_then(|rest| rest.first_chunk()) {
        let (digits, count) = leading_of_eight(*chunk);
        if count < 8 {
            return (number.wrapping_mul(SHIFTS[count]).wrapping_add(digits), at + count);
        }
        number = number.wrapping_mul(SHIFTS[8]).wrapping_add(digits);
        at += 8;
    }
    append_digits(text, at, number)
}

/// The integer with which eight bytes begin, and the number of its digits.
#[inline(always)]
fn leading_of_eight(chunk: [u8; 8]) -> (u64, usize) {
    const ONES: u64 = 0x0101_0101_0101_0101;
    // The first byte is the lowest. A digit is now 0 to 9, and anything else is more.
    let bytes = u64::from_le_bytes(chunk) ^ (0x30 * ONES);
    // The top bit of a byte says that the byte is 10 or more. Carries spoil only the bytes above
    // such a byte, and only the lowest such byte counts.
    let others = (bytes.wrapping_add(0x76 * ONES) | bytes) & (0x80 * ONES);
    let bits = others.trailing_zeros() & !7;
    // The last digit goes to the top byte, and zeros lead the number.
    let digits = bytes.checked_shl(64 - bits).unwrap_or(0);
    let pairs = (digits * 10 + (digits >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs * 100 + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    let eight = (fours * 10_000 + (fours >> 32)) & 0xffff_ffff;
    (eight, bits as usize / 8)
}

/// The number of digits after the leading zeros of a number.
#[cold]
fn significant(digits_and_point: &[u8]) -> usize {
    let digits = digits_and_point.iter().filter(|&&byte| byte != b'.');
    digits.skip_while(|&&byte| byte == b'0').count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The value that the standard library reads from the whole text. Words are not numbers.
    fn obvious(text: &str) -> Option<f64> {
        let is_word = text.contains(|char: char| char.is_alphabetic() && !"eE".contains(char));
        if is_word { None } else { text.parse().ok() }
    }

    fn whole(text: &str) -> Option<f64> {
        let (value, length) = double_at(text.as_bytes(), 0)?;
        (length == text.len()).then_some(value)
    }

    fn single(text: &str) -> Option<f32> {
        single_at(text.as_bytes(), 0).map(|(value, _)| value)
    }

    fn single_bits(text: &str) -> Option<u32> {
        single(text).map(f32::to_bits)
    }

    fn obvious_single(text: &str) -> Option<u32> {
        text.parse::<f32>().ok().map(f32::to_bits)
    }

    fn bits(value: Option<f64>) -> Option<u64> {
        value.map(f64::to_bits)
    }

    #[test]
    fn awkward_numbers_are_read_as_the_standard_library_reads_them() {
        for text in [
            "0",
            "-0",
            "+0",
            "1",
            "+1",
            "-1",
            "1.",
            ".5",
            "-.5",
            "+.5e1",
            "1.e1",
            "007",
            "0.1",
            "9007199254740992",
            "9007199254740993",
            "9007199254740993.0",
            "1e22",
            "1e23",
            "1e-22",
            "1e-23",
            "123456789012345678",
            "12345678901234567890",
            "99999999999999999999999999",
            "0.000000000000000000000000000001",
            "1e308",
            "1.7976931348623157e308",
            "1e309",
            "-1e400",
            "4.9e-324",
            "2e-324",
            "1e-400",
            "0e400",
            "0e99999999999999999999",
            "1e99999999999999999",
            "1e-99999999999999999999999",
            "2.2250738585072011e-308",
            "1E5",
            "1e+5",
            "1e05",
            "",
            "-",
            "+",
            ".",
            "-.",
            "e5",
            "1e",
            "1e+",
            "1e-",
            "--1",
            "+-1",
            "1.2.3",
            "1e5.0",
            "1 ",
            " 1",
            "nan",
            "NaN",
            "inf",
            "-inf",
            "infinity",
            "0x10",
            "1_000",
            "1,5",
            "1f",
            "1d5",
            "½",
        ] {
            assert_eq!(bits(whole(text)), bits(obvious(text)), "{text:?}");
        }
    }

    #[test]
    fn a_number_ends_where_its_syntax_does() {
        let leading = |text: &str| double_at(text.as_bytes(), 0);
        assert_eq!(leading("1.5 2:3"), Some((1.5, 3)));
        assert_eq!(leading("-1#"), Some((-1.0, 2)));
        assert_eq!(leading("1.2.3"), Some((1.2, 3)));
        assert_eq!(leading("0x10"), Some((0.0, 1)));
        assert_eq!(leading("1ex"), None);
    }

    #[test]
    fn a_long_exponent_meets_as_long_a_fraction() {
        let text = format!("0.{}1e5000", "0".repeat(4999));
        assert_eq!(whole(&text), Some(1.0));
        let text = format!("1{}e-5000", "0".repeat(5000));
        assert_eq!(whole(&text), Some(1.0));
    }

    /// Each of these becomes a different single if it becomes a double first.
    #[test]
    fn what_two_roundings_get_wrong() {
        for (text, one, two) in [
            // 1 + 2^-24 and a little: the middle of 1 and its neighbour, for a double.
            ("1.0000000596046448", 1.000_000_1, 1.0),
            ("1.00000005960464477539062500000001", 1.000_000_1, 1.0),
            ("-1.0000000596046448", -1.000_000_1, -1.0),
            // 1 + 3·2^-24 and a little less.
            ("1.0000001788139343", 1.000_000_1, 1.000_000_2),
            // 2^24 + 1 and a little more.
            ("16777217.000000001", 16_777_218.0, 16_777_216.0),
            ("0.5000000298023224", 0.500_000_06, 0.5),
            ("8589972991.9999999999", 8_589_972_480.0, 8_589_973_504.0),
            // The end of the singles, less than half a double's unit below it.
            ("340282356779733661637539395458142568447", f32::MAX, f32::INFINITY),
            ("3.40282356779733661637e38", f32::MAX, f32::INFINITY),
            // A subnormal single: 2^-149 / 2 and a little more is the least there is, not 0.
            ("7.006492321624085354619e-46", f32::from_bits(1), 0.0),
        ] {
            assert_eq!(single(text).map(f32::to_bits), Some(f32::to_bits(one)), "{text}");
            assert_eq!(text.parse(), Ok(one), "{text}");
            let twice = text.parse::<f64>().unwrap() as f32;
            assert_eq!(twice.to_bits(), two.to_bits(), "{text} is no example");
        }
    }

    #[test]
    fn singles_end_where_the_standard_library_says() {
        for text in (340_282_356_779_733_500u64..340_282_356_779_733_800)
            .map(|mantissa| format!("{mantissa}e21"))
            .chain(
                ["1e38", "1e39", "999999999999999999e22", "9007199254740993e-22"].map(Into::into),
            )
        {
            assert_eq!(single(&text), text.parse().ok(), "{text}");
        }
    }

    #[test]
    fn integers_saturate() {
        assert_eq!(integer_at(b"12:3", 0), (12, 2));
        assert_eq!(integer_at(b":3", 0), (0, 0));
        assert_eq!(integer_at(b"9999999999999999999", 0), (9_999_999_999_999_999_999, 19));
        assert_eq!(integer_at(b"18446744073709551615", 0), (u64::MAX, 20));
        assert_eq!(integer_at(b"18446744073709551617", 0), (u64::MAX, 20));
        assert_eq!(integer_at(b"000000000000000000000042", 0), (42, 24));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn decimals_are_correctly_rounded(
            text in "[+-]?[0-9]{0,25}(\\.[0-9]{0,25})?([eE][+-]?[0-9]{1,3})?"
        ) {
            prop_assert_eq!(bits(whole(&text)), bits(obvious(&text)));
            if obvious(&text).is_some() {
                prop_assert_eq!(single_bits(&text), obvious_single(&text));
            }
        }

        #[test]
        fn short_decimals_are_correctly_rounded(
            text in "-?[0-9]{1,4}(\\.[0-9]{1,9})?(e-?[0-9]{1,2})?"
        ) {
            prop_assert_eq!(bits(whole(&text)), bits(obvious(&text)));
            prop_assert_eq!(single_bits(&text), obvious_single(&text));
        }

        #[test]
        fn singles_are_rounded_once_even_about_the_middle_of_two(
            neighbour in any::<f32>(), off in -9i64..9, digits in 15usize..19
        ) {
            let middle = f64::from(neighbour).to_bits() as i64 + (1 << 28);
            let value = f64::from_bits((middle + off) as u64);
            prop_assume!(value.is_finite());
            for text in [format!("{value:.digits$e}"), value.to_string()] {
                prop_assert_eq!(single_bits(&text), obvious_single(&text));
            }
        }

        #[test]
        fn singles_of_common_size_are_rounded_once_even_about_the_middle_of_two(
            neighbour in -1e4f32..1e4, off in -9i64..9, digits in 10usize..19
        ) {
            let middle = f64::from(neighbour).to_bits() as i64 + (1 << 28);
            let value = f64::from_bits((middle + off) as u64);
            for text in [format!("{value:.digits$}"), value.to_string()] {
                prop_assert_eq!(single_bits(&text), obvious_single(&text));
            }
        }

        #[test]
        fn whole_numbers_are_rounded_once(number in any::<i64>(), bits in 1u32..64) {
            let text = (number >> (64 - bits)).to_string();
            prop_assert_eq!(single_bits(&text), obvious_single(&text));
        }

        #[test]
        fn a_single_that_is_printed_is_read_back(value in any::<f32>()) {
            prop_assume!(value.is_finite());
            for text in [value.to_string(), format!("{value:e}"), f64::from(value).to_string()] {
                prop_assert_eq!(single_bits(&text), Some(value.to_bits()));
            }
        }

        #[test]
        fn eight_bytes_are_read_as_single_ones_are(chunk in any::<[u8; 8]>(), digits in 0usize..9) {
            let mut chunk = chunk;
            chunk[..digits].iter_mut().for_each(|byte| *byte = b'0' + *byte % 10);
            prop_assert_eq!(leading_of_eight(chunk), append_digits(&chunk, 0, 0));
        }

        #[test]
        fn what_is_printed_is_read_back(value in any::<f64>()) {
            prop_assume!(value.is_finite());
            prop_assert_eq!(bits(whole(&value.to_string())), bits(Some(value)));
            prop_assert_eq!(bits(whole(&format!("{value:e}"))), bits(Some(value)));
        }

        #[test]
        fn what_is_no_number_is_refused_alike(text in "[-+.eE0-9naifx ]{0,6}") {
            prop_assert_eq!(bits(whole(&text)), bits(obvious(&text)));
        }
    }
}
