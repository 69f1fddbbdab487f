//! Fast reading of tokens of the form `index:value`.
//!
//! Two things cost time when such tokens are read byte by byte. Numbers of different lengths make
//! the processor guess wrong where they end. And the beginning of a number is known only when the
//! number before it has been read. Here 32 bytes at once are compared with the digits and the minus
//! sign. The places of the other bytes give the positions of the colon, the point and the end,
//! whatever the sign. The digits are then combined by arithmetic that is the same for any number of
//! them. So there is little to guess, and while one token is being combined the next ones are
//! found.

/// The number of bytes that must exist before the beginning of a token, and below the number from
/// there on.
const BEFORE: usize = 16;
const WINDOW: usize = 32;

/// A token with the bytes before and behind it that may be read.
type Neighbourhood = [u8; BEFORE + WINDOW];

/// The largest number of decimals.
const DECIMALS: usize = 16;

/// The factor by which so many appended digits multiply a number.
const SHIFTS: [u64; DECIMALS + 1] = {
    let mut shifts = [1; DECIMALS + 1];
    let mut i = 1;
    while i <= DECIMALS {
        shifts[i] = 10 * shifts[i - 1];
        i += 1;
    }
    shifts
};

/// The factor for an integer with so many decimals, rounded: first for positive, then for negative
/// numbers.
const TENTHS: [[f64; DECIMALS + 1]; 2] = {
    let mut tenths = [[0.0; DECIMALS + 1]; 2];
    let mut i = 0;
    while i <= DECIMALS {
        let tenth = 1.0 / SHIFTS[i] as f64;
        (tenths[0][i], tenths[1][i]) = (tenth, -tenth);
        i += 1;
    }
    tenths
};

/// An index and a value, the length of the token, and the byte behind it, which is not a digit.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Pair {
    index: u32,
    value: f32,
    length: usize,
    after: u8,
}

/// Reads the tokens that follow each other from `at` on, separated by blanks, as long as they have
/// the usual form and there is room for them. Returns their number, and the place where the next
/// one may begin. The last token of a line is included if the line ends right behind it; the place
/// is then that of the line's end. Values are the nearest singles of the written numbers. Tokens of
/// another form, and those that take more than a few instructions to round, are left to a reader
/// that knows every form. So are the last tokens of a text with fewer than 32 bytes behind them.
///
/// ```
/// let text = [&[b' '; 16][..], b"3:0.5 17:-2 x", &[0; 32]].concat();
/// let (mut indices, mut values) = ([0; 8], [0.0; 8]);
/// let (count, next) = rueful_machine::pairs_at(&text, 16, &mut indices, &mut values);
/// assert_eq!((&indices[..count], &values[..count]), (&[3, 17][..], &[0.5, -2.0][..]));
/// assert_eq!(text[next], b'x');
/// ```
#[inline]
pub fn pairs_at(text: &[u8], at: usize, indices: &mut [u32], values: &mut [f32]) -> (usize, usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(machine) = Avx2::detect() {
        return machine.pairs_at(text, at, indices, values);
    }
    pairs_with::<Plain>(text, at, indices, values)
}

#[inline(always)] // The machine's instructions come from the caller.
fn pairs_with<M: Machine>(
    text: &[u8],
    mut at: usize,
    indices: &mut [u32],
    values: &mut [f32],
) -> (usize, usize) {
    let room = indices.len().min(values.len());
    let (indices, values) = (&mut indices[..room], &mut values[..room]);
    let mut count = 0;
    while count < room {
        let Some(around) = around(text, at) else { break };
        let marks = M::marks(around);
        let (ones, length) =
            short_pairs(around, &marks, &mut indices[count..], &mut values[count..]);
        if ones > 0 {
            (count, at) = (count + ones, at + length);
            continue;
        }
        let Some(Pair { index, value, length, after }) = pair::<M>(around, &marks) else { break };
        let is_last = after == b'\n';
        if after != b' ' && !is_last {
            break;
        }
        (indices[count], values[count]) = (index, value);
        count += 1;
        at += length;
        if is_last {
            break;
        }
        at += 1;
    }
    (count, at)
}

#[inline(always)]
fn around(text: &[u8], at: usize) -> Option<&Neighbourhood> {
    text.get(at.wrapping_sub(BEFORE)..)?.first_chunk()
}

#[inline(always)]
fn byte(around: &Neighbourhood, place: usize) -> u8 {
    around[BEFORE + (place & (WINDOW - 1))]
}

/// Reads the tokens with a single digit for a value, and the blanks behind them, with which the
/// window begins. Returns their number and their length.
#[inline(always)] // The machine's instructions come from the caller.
fn short_pairs(
    around: &Neighbourhood,
    marks: &Marks,
    indices: &mut [u32],
    values: &mut [f32],
) -> (usize, usize) {
    let mut others = marks.others;
    let (mut count, mut start) = (0, 0);
    for (index, value) in indices.iter_mut().zip(values) {
        let colon = others.trailing_zeros() as usize;
        let after_colon = others & others.wrapping_sub(1);
        let end = after_colon.trailing_zeros() as usize;
        let digits = colon.wrapping_sub(start);
        let is_short = end == colon + 2 && byte(around, end) == b' ' && end < WINDOW;
        let is_pair = byte(around, colon) == b':' && digits.wrapping_sub(1) < 8;
        if !is_short || !is_pair || marks.minuses != 0 {
            break;
        }
        *index = Plain::number(Plain::eight_before(around, colon), digits) as u32;
        *value = f32::from(byte(around, colon + 1) - b'0');
        others = after_colon & after_colon.wrapping_sub(1);
        (count, start) = (count + 1, end + 1);
    }
    (count, start)
}

/// Reads the token with which the window begins. It must consist of up to eight digits, a colon,
/// perhaps a minus sign, a digit, and perhaps a point and up to sixteen digits.
#[inline(always)] // So the caller's instructions apply, and the answer stays in registers.
fn pair<M: Machine>(around: &Neighbourhood, marks: &Marks) -> Option<Pair> {
    let byte = |place| byte(around, place);
    let &Marks { others, minuses } = marks;
    let colon = others.trailing_zeros() as usize;
    let after_colon = others & others.wrapping_sub(1);
    let point = after_colon.trailing_zeros() as usize;
    let after_point = after_colon & after_colon.wrapping_sub(1);
    let end = after_point.trailing_zeros() as usize;
    if byte(colon) != b':' || colon.wrapping_sub(1) > 7 {
        return None;
    }
    // The place where a minus may be, if there is one.
    let sign_place = (2_u32 << colon) & minuses;
    let negative = usize::from(sign_place != 0);
    let start = colon + 1 + negative;
    if point != start + 1 {
        return None;
    }
    // With a second minus this result is meaningless. The check below finds that.
    let first = u64::from(byte(start).wrapping_sub(b'0'));
    if byte(point) != b'.' {
        let is_clean = minuses & up_to_first(after_colon) == sign_place;
        let value = first as i64 as f64 * TENTHS[negative][0];
        let index = M::eight_digits(around, colon) as u32;
        let pair = Pair { index, value: value as f32, length: point, after: byte(point) };
        return is_clean.then_some(pair);
    }
    let decimals = end.wrapping_sub(point + 1);
    let is_clean = minuses & up_to_first(after_point) == sign_place;
    if end >= WINDOW || decimals > DECIMALS || !is_clean {
        return None;
    }
    let (index, fraction) = M::digits(around, colon, end, decimals);
    let mantissa = first * SHIFTS[decimals] + fraction;
    // There are three roundings: of a mantissa above 2^53, of the factor, and of the product.
    let value = mantissa as i64 as f64 * TENTHS[negative][decimals];
    if !rounds_like_its_neighbours(value) {
        return None;
    }
    Some(Pair { index, value: value as f32, length: end, after: byte(end) })
}

/// Whether all numbers within four units in the last place of `value` round to the same `f32`. They
/// do unless they lie near the middle between two neighbours, where the 29 dropped bits are a 1 and
/// 28 zeros. The largest single and infinity have such a middle, too. Subnormal singles have other
/// middles, so for values below 2^-126 other than 0 the answer means nothing.
#[inline]
pub fn rounds_like_its_neighbours(value: f64) -> bool {
    const MIDDLE: u64 = 1 << 28;
    let dropped = value.to_bits() & (2 * MIDDLE - 1);
    dropped.wrapping_sub(MIDDLE - 4) > 8
}

/// The bits up to and including the first that is set.
#[inline(always)]
fn up_to_first(bits: u32) -> u32 {
    bits ^ bits.wrapping_sub(1)
}

/// The kinds of the bytes in the window, with a bit for each byte.
struct Marks {
    /// The bytes that are neither digits nor minus signs.
    others: u32,
    minuses: u32,
}

/// The operations that depend on the processor. All implementations give the same results.
trait Machine {
    /// The kinds of the bytes in the window.
    fn marks(around: &Neighbourhood) -> Marks;

    /// The number formed by the `count` ≤ 8 digits with which the window begins.
    fn eight_digits(around: &Neighbourhood, count: usize) -> u64;

    /// The number formed by the `colon` ≤ 8 digits with which the window begins, and the number
    /// formed by the `decimals` ≤ 16 digits before `end`.
    fn digits(around: &Neighbourhood, colon: usize, end: usize, decimals: usize) -> (u32, u64);
}

/// The version for any processor: eight bytes at a time in ordinary registers.
struct Plain;

impl Plain {
    const ONES: u64 = 0x0101_0101_0101_0101;

    /// The eight bytes before place `end` of the window.
    #[inline(always)]
    fn eight_before(around: &Neighbourhood, end: usize) -> u64 {
        let start = BEFORE + (end & (WINDOW - 1)) - 8;
        u64::from_le_bytes(around[start..].first_chunk().copied().unwrap_or_default())
    }

    /// The number formed by the last `count` ≤ 8 of eight digits.
    #[inline(always)]
    fn number(eight: u64, count: usize) -> u64 {
        // The first byte is the lowest one. A count of 0 must leave nothing.
        let mask = u64::MAX.checked_shl(64 - 8 * count as u32).unwrap_or(0);
        let digits = (eight ^ (0x30 * Self::ONES)) & mask;
        let pairs = (digits.wrapping_mul(10) + (digits >> 8)) & 0x00ff_00ff_00ff_00ff;
        let fours = (pairs.wrapping_mul(100) + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
        (fours.wrapping_mul(10_000) + (fours >> 32)) & 0xffff_ffff
    }
}

impl Machine for Plain {
    #[inline(always)]
    fn marks(around: &Neighbourhood) -> Marks {
        let mut marks = Marks { others: 0, minuses: 0 };
        for (place, &byte) in around[BEFORE..].iter().enumerate() {
            let is_minus = byte == b'-';
            marks.minuses |= u32::from(is_minus) << place;
            marks.others |= u32::from(byte.wrapping_sub(b'0') > 9 && !is_minus) << place;
        }
        marks
    }

    #[inline(always)]
    fn eight_digits(around: &Neighbourhood, count: usize) -> u64 {
        Self::number(Self::eight_before(around, count), count)
    }

    #[inline(always)]
    fn digits(around: &Neighbourhood, colon: usize, end: usize, decimals: usize) -> (u32, u64) {
        let low_count = decimals.min(8);
        let low = Self::number(Self::eight_before(around, end), low_count);
        let high = Self::number(Self::eight_before(around, end - low_count), decimals - low_count);
        (Self::eight_digits(around, colon) as u32, high * SHIFTS[8] + low)
    }
}

/// The version for processors with AVX2, which nearly all with an x86_64 instruction set have.
#[cfg(target_arch = "x86_64")]
struct Avx2 {
    /// Only [`detect`](Self::detect) can make this value.
    _private: (),
}

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod avx2 {
    use super::{Avx2, BEFORE, Machine, Marks, Neighbourhood, SHIFTS, WINDOW};
    use std::arch::x86_64::{
        __m128i, __m256i, _mm_cvtsi128_si64, _mm_loadu_si128, _mm256_add_epi8, _mm256_and_si256,
        _mm256_andnot_si256, _mm256_castsi256_si128, _mm256_cmpeq_epi8, _mm256_cmpgt_epi8,
        _mm256_extracti128_si256, _mm256_loadu_si256, _mm256_madd_epi16, _mm256_maddubs_epi16,
        _mm256_movemask_epi8, _mm256_packus_epi32, _mm256_set_m128i, _mm256_set1_epi8,
        _mm256_set1_epi16, _mm256_set1_epi32, _mm256_sub_epi8,
    };

    /// Sixteen zeros, then sixteen bytes of ones. A load that begins `count` bytes after the first
    /// zero gives a mask that keeps the last `count` of sixteen bytes.
    const MASKS: [u8; 32] = {
        let mut masks = [0; 32];
        let mut i = 16;
        while i < 32 {
            masks[i] = 0xff;
            i += 1;
        }
        masks
    };

    impl Avx2 {
        /// The version for AVX2, if this processor has the instructions.
        #[inline]
        pub(super) fn detect() -> Option<Self> {
            let has_all = is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2");
            has_all.then_some(Self { _private: () })
        }

        #[inline]
        pub(super) fn pairs_at(
            self,
            text: &[u8],
            at: usize,
            indices: &mut [u32],
            values: &mut [f32],
        ) -> (usize, usize) {
            // SAFETY: the processor has the instructions, because only `detect` makes an `Avx2`.
            unsafe { Self::pairs_with_avx2(text, at, indices, values) }
        }

        #[target_feature(enable = "avx2,bmi1,bmi2")]
        fn pairs_with_avx2(
            text: &[u8],
            at: usize,
            indices: &mut [u32],
            values: &mut [f32],
        ) -> (usize, usize) {
            super::pairs_with::<Self>(text, at, indices, values)
        }
    }

    #[inline(always)]
    fn sixteen(bytes: &[u8], start: usize) -> __m128i {
        let sixteen: &[u8; 16] = bytes[start..].first_chunk().unwrap_or(&[0; 16]);
        // SAFETY: there are sixteen bytes to read, and the load needs no alignment.
        unsafe { _mm_loadu_si128(sixteen.as_ptr().cast()) }
    }

    impl Machine for Avx2 {
        #[inline(always)]
        fn marks(around: &Neighbourhood) -> Marks {
            let window: &[u8; WINDOW] = around.last_chunk().unwrap_or(&[0; WINDOW]);
            // SAFETY: only a processor with these instructions gets here, because only `detect`
            // makes an `Avx2`. There are 32 bytes to read, and the load needs no alignment.
            unsafe {
                let bytes = _mm256_loadu_si256(window.as_ptr().cast::<__m256i>());
                // The shift turns the digits into the ten highest signed bytes.
                let shifted = _mm256_add_epi8(bytes, _mm256_set1_epi8(0x7f - b'9' as i8));
                let not_digits = _mm256_cmpgt_epi8(_mm256_set1_epi8(0x76), shifted);
                let minuses = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(b'-' as i8));
                let others = _mm256_andnot_si256(minuses, not_digits);
                Marks {
                    others: _mm256_movemask_epi8(others) as u32,
                    minuses: _mm256_movemask_epi8(minuses) as u32,
                }
            }
        }

        #[inline(always)]
        fn eight_digits(around: &Neighbourhood, count: usize) -> u64 {
            super::Plain::eight_digits(around, count)
        }

        #[inline(always)]
        fn digits(around: &Neighbourhood, colon: usize, end: usize, decimals: usize) -> (u32, u64) {
            let index = sixteen(around, colon & 31);
            let fraction = sixteen(around, end & 31);
            let index_mask = sixteen(&MASKS, colon & 15);
            let fraction_mask = sixteen(&MASKS, decimals & 31);
            // SAFETY: as above.
            unsafe {
                let bytes = _mm256_set_m128i(fraction, index);
                let masks = _mm256_set_m128i(fraction_mask, index_mask);
                let values = _mm256_sub_epi8(bytes, _mm256_set1_epi8(b'0' as i8));
                let digits = _mm256_and_si256(values, masks);
                // The factors are 10, 1, 10, 1, … and so on. The first digit of each pair is the
                // lower one.
                let pairs = _mm256_maddubs_epi16(digits, _mm256_set1_epi16(0x010a));
                let fours = _mm256_madd_epi16(pairs, _mm256_set1_epi32(0x0001_0064));
                let packed = _mm256_packus_epi32(fours, fours);
                let eights = _mm256_madd_epi16(packed, _mm256_set1_epi32(0x0001_2710));
                let index = _mm_cvtsi128_si64(_mm256_castsi256_si128(eights)) as u64;
                let both = _mm_cvtsi128_si64(_mm256_extracti128_si256::<1>(eights)) as u64;
                ((index >> 32) as u32, (both & 0xffff_ffff) * SHIFTS[8] + (both >> 32))
            }
        }
    }

    const _: () = assert!(BEFORE == 16);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn padded(token: &str) -> Vec<u8> {
        [&[b' '; BEFORE][..], token.as_bytes(), b" ", &[0; WINDOW]].concat()
    }

    /// How many bytes from the first on satisfy `is`.
    fn run(bytes: &[u8], is: impl Fn(u8) -> bool) -> usize {
        bytes.iter().take_while(|&&byte| is(byte)).count()
    }

    /// The token as the standard library reads it: digits, a colon, a number without exponent.
    fn slowly(text: &[u8], at: usize) -> Option<Pair> {
        let colon = run(&text[at..], |byte| byte.is_ascii_digit());
        let value = &text[at + colon + 1..];
        let sign = usize::from(value.first() == Some(&b'-'));
        let whole = run(&value[sign..], |byte| byte.is_ascii_digit());
        let mut end = sign + whole;
        if value.get(end) == Some(&b'.') {
            end += 1 + run(&value[end + 1..], |byte| byte.is_ascii_digit());
        }
        let parsed = |bytes: &[u8]| str::from_utf8(bytes).ok()?.parse::<f32>().ok();
        let index = str::from_utf8(&text[at..at + colon]).ok()?.parse().ok()?;
        let (value, length) = (parsed(&value[..end])?, colon + 1 + end);
        let pair = Pair { index, value, length, after: text[at + length] };
        (text[at + colon] == b':').then_some(pair)
    }

    /// The token as all machines read it. They must agree.
    fn quickly(text: &[u8]) -> Option<Pair> {
        fn with<M: Machine>(text: &[u8]) -> Option<Pair> {
            let around = around(text, BEFORE)?;
            pair::<M>(around, &M::marks(around))
        }
        let plain = with::<Plain>(text);
        #[cfg(target_arch = "x86_64")]
        if Avx2::detect().is_some() {
            assert_eq!(with::<Avx2>(text), plain);
        }
        plain
    }

    /// Token by token, the results of the standard library, until a token has a form that `quickly`
    /// does not know.
    fn run_slowly(text: &[u8]) -> (Vec<(u32, f32)>, usize) {
        let (mut pairs, mut at) = (Vec::new(), BEFORE);
        while let Some(Pair { index, value, length, after }) = quickly(&text[at - BEFORE..]) {
            if after != b' ' && after != b'\n' {
                break;
            }
            assert_eq!(slowly(text, at).map(|pair| (pair.index, pair.value)), Some((index, value)));
            pairs.push((index, value));
            at += length + usize::from(after == b' ');
            if after == b'\n' {
                break;
            }
        }
        (pairs, at)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn an_answer_is_the_right_one(
            token in "[0-9]{0,9}:?[+-]?[0-9]{0,3}([.][0-9]{0,18})?(e-?[0-9])?|\
                      [0-9]{1,8}:-?[0-9][.][0-9]{0,17}",
            odd in prop::option::weighted(0.2, (any::<prop::sample::Index>(), any::<u8>())),
        ) {
            let mut text = padded(&token);
            if let Some((place, byte)) = odd {
                let place = BEFORE + place.index(token.len() + 1);
                text[place] = byte;
            }
            if let Some(pair) = quickly(&text) {
                prop_assert_eq!(Some(pair), slowly(&text, BEFORE));
            }
        }

        /// Values for which a double as an intermediate result would be rounded wrongly.
        #[test]
        fn values_are_rounded_once(neighbour in 0.0_f32..10.0, off in -9_i64..9, digits in 6_usize..17) {
            let middle = f64::from(neighbour).to_bits() as i64 + (1 << 28);
            let value = f64::from_bits((middle + off) as u64);
            let text = padded(&format!("7:{value:.digits$}"));
            if let Some(pair) = quickly(&text) {
                prop_assert_eq!(Some(pair), slowly(&text, BEFORE));
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(5_000))]

        #[test]
        fn tokens_in_a_row_are_the_tokens_one_by_one(
            tokens in prop::collection::vec(
                "[0-9]{1,3}:[0-9]|[0-9]{1,9}:-?[0-9]|[0-9]{1,5}:-?[0-9][.][0-9]{0,9}|[0-9:. -]{1,6}",
                0..20,
            ),
            end in prop::sample::select(vec!["\n", " \n", "\r\n", "\t", "#"]),
            room in 0_usize..25,
        ) {
            let text = padded(&(tokens.join(" ") + end));
            let (expected, expected_end) = run_slowly(&text);
            let (mut indices, mut values) = ([0; 25], [0.0; 25]);
            let (count, at) =
                pairs_at(&text, BEFORE, &mut indices[..room], &mut values[..room]);
            let pairs: Vec<_> = indices.into_iter().zip(values).take(count).collect();
            prop_assert_eq!(&pairs[..], &expected[..room.min(expected.len())]);
            if expected.len() < room {
                prop_assert_eq!(at, expected_end);
            }
        }
    }

    #[test]
    fn ordinary_tokens_get_an_answer() {
        for token in
            ["1:1", "12345678:-9", "3:0.5", "47000:0.088360146", "7:-1.234567890123456", "2:3."]
        {
            let text = padded(token);
            assert_eq!(quickly(&text), slowly(&text, BEFORE), "{token}");
            assert!(quickly(&text).is_some(), "{token}");
        }
        for token in ["123456789:1", "1:.5", "1:12.5", "1:+1", "1:-", "x:1", "1:", "1", "", "1:--1"]
        {
            assert_eq!(quickly(&padded(token)), None, "{token}");
        }
    }
}
