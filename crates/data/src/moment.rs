//! Dates and times, and the features that are made of them.
//!
//! | feature | value |
//! |---|---|
//! | `column·years` | years since the beginning of 2000, as a fraction: a slow trend |
//! | `column·month=1` … `12` | 1 |
//! | `column·weekday=monday` … `sunday` | 1 |
//! | `column·hour=0` … `23` | 1, where there is a time of day |
//!
//! Moments are written as in ISO 8601: `2026-11-16`, `2026-11-16 13:05:00.25`, `2026-11-16T13:05Z`,
//! `2026/11/16 13:05+01:00`, or as a time of day alone, `13:05`. A moment that says how far it is
//! from UTC is converted to UTC, like the moments that binary files store.

use crate::expansion::PART;
use crate::names::Prefix;
use crate::rows::{FeatureSink, Space};

/// The seconds of a day.
const DAY: i64 = 86_400;

/// The day 2000-01-01, counted from 1970-01-01.
const DAY_2000: i64 = 10_957;

/// The average number of days in a year.
const YEAR_DAYS: f64 = 365.2425;

const WEEKDAYS: [&[u8]; 7] =
    [b"monday", b"tuesday", b"wednesday", b"thursday", b"friday", b"saturday", b"sunday"];

/// Whole numbers as text.
const NUMBERS: [&[u8]; 24] = [
    b"0", b"1", b"2", b"3", b"4", b"5", b"6", b"7", b"8", b"9", b"10", b"11", b"12", b"13", b"14",
    b"15", b"16", b"17", b"18", b"19", b"20", b"21", b"22", b"23",
];

/// A date, a time of day, or both.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moment {
    /// The day, counted from 1970-01-01.
    day: Option<i32>,
    /// The second of the day.
    second: Option<f64>,
}

impl Moment {
    /// A date: the day, counted from 1970-01-01.
    pub fn date(day: i32) -> Self {
        Self { day: Some(day), second: None }
    }

    /// A time of day, in whole units of which `per_second` make a second. Returns none outside a
    /// day.
    pub fn time(units: i64, per_second: i64) -> Option<Self> {
        let second = units as f64 / per_second as f64;
        let is_time = (0.0..DAY as f64).contains(&second);
        is_time.then_some(Self { day: None, second: Some(second) })
    }

    /// A moment in whole units since 1970, of which `per_second` make a second. Returns none for a
    /// moment that is millions of years away.
    pub fn since_1970(units: i64, per_second: i64) -> Option<Self> {
        let day = units.div_euclid(per_second * DAY);
        let second = units.rem_euclid(per_second * DAY) as f64 / per_second as f64;
        Some(Self { day: Some(i32::try_from(day).ok()?), second: Some(second) })
    }

    /// Reads the moment that a text says.
    ///
    /// ```
    /// use rueful_data::Moment;
    /// assert_eq!(Moment::parse(b"1970-01-02"), Some(Moment::date(1)));
    /// let noon = Moment::since_1970(36 * 3600, 1);
    /// assert_eq!(Moment::parse(b"1970-01-02T12:00:00Z"), noon);
    /// assert_eq!(Moment::parse(b"1970-01-02 13:00+01:00"), noon);
    /// assert_eq!(Moment::parse(b"16.11.2026"), None);
    /// ```
    pub fn parse(text: &[u8]) -> Option<Self> {
        let mut rest = Rest { text };
        if text.get(2) == Some(&b':') {
            let second = rest.time()?;
            return rest.is_empty().then_some(Self { day: None, second: Some(second) });
        }
        let day = rest.date()?;
        if rest.is_empty() {
            return Some(Self::date(i32::try_from(day).ok()?));
        }
        if !(rest.take(b'T') || rest.take(b't') || rest.take(b' ')) {
            return None;
        }
        let second = rest.time()? - rest.offset()?;
        if !rest.is_empty() {
            return None;
        }
        let days = (second / DAY as f64).floor();
        let day = i32::try_from(day + days as i64).ok()?;
        Some(Self { day: Some(day), second: Some(second - days * DAY as f64) })
    }

    /// Whether a text is a date, with or without a time of day.
    pub(crate) fn is_date(text: &[u8]) -> bool {
        Self::parse(text).is_some_and(|moment| moment.day.is_some())
    }

    /// Years since the beginning of 2000.
    fn years(self) -> Option<f64> {
        let days = (i64::from(self.day?) - DAY_2000) as f64;
        Some((days + self.second.unwrap_or(0.0) / DAY as f64) / YEAR_DAYS)
    }
}

/// The date that is `years` years after the beginning of 2000, as text.
pub(crate) fn date_after(years: f64) -> String {
    let day = (years * YEAR_DAYS).round() as i64 + DAY_2000;
    let (year, month, day) = calendar(day);
    format!("{year:04}-{month:02}-{day:02}")
}

/// The names of the features of a column of moments.
#[derive(Debug)]
pub(crate) struct MomentNames {
    trend: Prefix,
    month: Prefix,
    weekday: Prefix,
    hour: Prefix,
}

/// The part of the trend's name that follows the name of the column.
pub(crate) const TREND: &str = "years";

impl MomentNames {
    pub(crate) fn new(column: &str) -> Self {
        let prefix = |part: &str| Prefix::new(format!("{column}{PART}{part}"));
        Self {
            trend: prefix(""),
            month: prefix("month="),
            weekday: prefix("weekday="),
            hour: prefix("hour="),
        }
    }

    /// Adds the features of a moment to a row.
    pub(crate) fn add(&self, moment: Moment, space: &Space, rows: &mut impl FeatureSink) {
        if let (Some(day), Some(years)) = (moment.day, moment.years()) {
            rows.add_named(space, &self.trend, TREND.as_bytes(), years as f32);
            let (_, month, _) = calendar(day.into());
            rows.add_named(space, &self.month, NUMBERS[month as usize], 1.0);
            // 1970-01-01 was a Thursday.
            let weekday = (i64::from(day) + 3).rem_euclid(7);
            rows.add_named(space, &self.weekday, WEEKDAYS[weekday as usize], 1.0);
        }
        if let Some(second) = moment.second {
            let hour = (second / 3600.0) as usize;
            rows.add_named(space, &self.hour, NUMBERS[hour.min(23)], 1.0);
        }
    }
}

/// Year, month and day of a day counted from 1970-01-01. The Gregorian calendar is used for all
/// times. Years begin in March here, so that a leap day is the last day of its year.
fn calendar(day: i64) -> (i64, u32, u32) {
    let since = day + 719_468; // from 0000-03-01 on
    let (era, of_era) = (since.div_euclid(146_097), since.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (year, month) = if month < 10 { (year, month + 3) } else { (year + 1, month - 9) };
    (year + era * 400, month as u32, day as u32)
}

/// The day, counted from 1970-01-01, of a date. Returns none if the date does not exist.
fn day_of(year: i64, month: i64, day: i64) -> Option<i64> {
    if !(1..=12).contains(&month) {
        return None;
    }
    let march_year = if month > 2 { year } else { year - 1 };
    let (era, of_era) = (march_year.div_euclid(400), march_year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let since = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    let exists = calendar(since) == (year, month as u32, day as u32);
    exists.then_some(since)
}

/// The part of a text that is not read yet.
struct Rest<'a> {
    text: &'a [u8],
}

impl Rest<'_> {
    fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    fn take(&mut self, byte: u8) -> bool {
        let is = self.text.first() == Some(&byte);
        self.text = &self.text[usize::from(is)..];
        is
    }

    /// A number of exactly `count` digits.
    fn digits(&mut self, count: usize) -> Option<i64> {
        let (digits, rest) = self.text.split_at_checked(count)?;
        let is_number = digits.iter().all(u8::is_ascii_digit);
        self.text = rest;
        is_number.then(|| digits.iter().fold(0, |sum, byte| 10 * sum + i64::from(byte - b'0')))
    }

    /// Reads `2026-11-16` or `2026/11/16`.
    fn date(&mut self) -> Option<i64> {
        let year = self.digits(4)?;
        let mark = self.text.first().copied().filter(|mark| b"-/".contains(mark))?;
        self.take(mark);
        let month = self.digits(2)?;
        self.take(mark).then_some(())?;
        day_of(year, month, self.digits(2)?)
    }

    /// Reads `13:05`, `13:05:59` or `13:05:59.25`, in seconds.
    fn time(&mut self) -> Option<f64> {
        let hour = self.digits(2).filter(|&hour| hour < 24)?;
        self.take(b':').then_some(())?;
        let minute = self.digits(2).filter(|&minute| minute < 60)?;
        let mut seconds = (60 * (60 * hour + minute)) as f64;
        if self.take(b':') {
            // A leap second counts as the second before it.
            let second = self.digits(2).filter(|&second| second <= 60)?;
            seconds += second.min(59) as f64 + self.fraction()?;
        }
        Some(seconds)
    }

    /// The fraction after a point or comma, below 1. It is 0 if there is neither.
    fn fraction(&mut self) -> Option<f64> {
        if !self.take(b'.') && !self.take(b',') {
            return Some(0.0);
        }
        let digits = self.text.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (digits, rest) = self.text.split_at(digits);
        self.text = rest;
        let fraction =
            digits.iter().rev().fold(0.0, |sum, byte| (sum + f64::from(byte - b'0')) / 10.0);
        // The fraction stays below the next second, however many digits it has.
        (!digits.is_empty()).then_some(fraction.min(0.999_999_999))
    }

    /// The number of seconds that the time is ahead of UTC: `Z`, `+01`, `+0100`, `-01:30`, or
    /// nothing.
    fn offset(&mut self) -> Option<f64> {
        if self.is_empty() || self.take(b'Z') || self.take(b'z') {
            return Some(0.0);
        }
        let sign = if self.take(b'+') { 1.0 } else { -1.0 };
        if sign < 0.0 && !self.take(b'-') {
            return None;
        }
        let hours = self.digits(2).filter(|&hours| hours < 24)?;
        let has_mark = self.take(b':');
        let minutes = match self.is_empty() {
            true if has_mark => return None,
            true => 0,
            false => self.digits(2).filter(|&minutes| minutes < 60)?,
        };
        Some(sign * (60 * (60 * hours + minutes)) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::Rows;
    use proptest::prelude::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (text, day) in [
            ("1970-01-01", 0),
            ("1969-12-31", -1),
            ("2000-02-29", 11_016),
            ("2000/03/01", 11_017),
            ("1600-02-29", -135_081),
            ("9999-12-31", 2_932_896),
            ("0000-01-01", -719_528),
        ] {
            assert_eq!(Moment::parse(text.as_bytes()), Some(Moment::date(day)), "{text}");
        }
    }

    #[test]
    fn what_is_no_moment_is_none() {
        for text in [
            "",
            "2026",
            "2026-11",
            "2026-11-31",
            "1900-02-29",
            "2026-13-01",
            "2026-00-10",
            "2026-11-00",
            "2026-11/16",
            "26-11-16",
            "16-11-2026",
            "2026-11-16x",
            "2026-11-16 ",
            "2026-11-16 24:00",
            "2026-11-16 1:00",
            "2026-11-16T10:60",
            "2026-11-16T10:00:61",
            "2026-11-16T10:00:00.",
            "2026-11-16T10:00+1",
            "2026-11-16T10:00+01:",
            "12:3",
            "24:00",
            "20261116",
            "2026-11-16T10:00+-01",
            "2026-11-16T10:00 Z",
            "+026-11-16",
        ] {
            assert_eq!(Moment::parse(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn times_are_in_utc() {
        let at = |second| Moment::since_1970(second, 1);
        for (text, second) in [
            ("1970-01-01T00:00", 0),
            ("1970-01-01 23:59:60", DAY - 1),
            ("1970-01-01T01:00:00+01:00", 0),
            ("1970-01-01t00:30:00+0100", -1800),
            ("1969-12-31T23:00-02", 3600),
            ("1970-01-01 00:00:00z", 0),
        ] {
            assert_eq!(Moment::parse(text.as_bytes()), at(second), "{text}");
        }
        assert_eq!(Moment::parse(b"00:00:01.5"), Moment::time(1500, 1000));
        assert_eq!(Moment::time(DAY, 1), None);
        assert_eq!(Moment::since_1970(i64::MAX, 1), None);
    }

    #[test]
    fn a_moment_is_a_trend_a_month_a_weekday_and_an_hour() {
        let (names, mut rows) = (MomentNames::new("when"), Rows::default());
        let space = Space { bits: crate::Bits::default(), max_index: 1 << 26 };
        rows.begin(false);
        names.add(Moment::parse(b"2026-11-16 13:05").unwrap(), &space, &mut rows);
        rows.finish(0.0, rueful_core::Importance::ONE).unwrap();
        let mut known = crate::Names::default();
        known.learn(&rows.names);
        let x = rows.batch.get(0).features;
        let mut found: Vec<_> =
            x.iter().map(|(index, value)| (known.get(index as u32).unwrap(), value)).collect();
        found.sort_by(|a, b| a.0.cmp(&b.0));
        let named = |place: usize| found[place].0.as_str();
        assert_eq!(
            [named(0), named(1), named(2)],
            ["when·hour=13", "when·month=11", "when·weekday=monday"]
        );
        assert_eq!(named(3), "when·years");
        let days = 9816.0 + (13.0 * 60.0 + 5.0) / 1440.0;
        assert_eq!(found[3].1 as f32, (days / 365.2425) as f32);
    }

    proptest! {
        #[test]
        fn every_day_is_written_and_read(day in -700_000_i32..2_900_000) {
            let (year, month, of_month) = calendar(day.into());
            let text = format!("{year:04}-{month:02}-{of_month:02}");
            prop_assert_eq!(Moment::parse(text.as_bytes()), Some(Moment::date(day)));
            let years = Moment::date(day).years().unwrap();
            prop_assert_eq!(date_after(years), text);
        }

        #[test]
        fn no_bytes_do_harm(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let _ = Moment::parse(&bytes);
        }

        #[test]
        fn nearly_moments_do_no_harm(text in "[0-9]{2,4}[-/:][0-9]{2}[-/:T ][0-9:.Z+-]{0,16}") {
            if let Some(Moment { second: Some(second), .. }) = Moment::parse(text.as_bytes()) {
                prop_assert!((0.0..86_400.0).contains(&second), "{}", text);
            }
        }
    }
}
