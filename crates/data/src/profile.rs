//! A first look at the columns of a table: how far their values reach, how many differ, and what is
//! odd about them.
//!
//! The profile is made from rows as they are delivered, whatever the format. The name of a feature
//! tells which column it belongs to. Memory is bounded: beyond a limit, values are no longer told
//! apart.

use crate::expansion::{Expansion, MISSING, PART};
use crate::fit::KnownColumns;
use crate::moment::{TREND, date_after};
use crate::names::{Names, Prefix, numeric};
use crate::schema::{Column, Role};
use rueful_core::Rows;
use serde::Serialize;
use std::collections::{HashMap, HashSet};

/// The number of different values that are told apart in one column of numbers, and in all columns
/// together.
const NUMBERS_MAX: usize = 1000;
const NUMBERS_IN_ALL: usize = 1 << 22;

/// The number of features that are told apart by their names.
const FEATURES_MAX: usize = 1 << 20;

/// A table that has this many columns gets no new ones from the names of features.
const NEW_COLUMNS_MAX: usize = 1000;

/// The number of rows from which on a column can be odd for its missing or different values.
const ENOUGH: u64 = 20;

/// The ratio of largest values from which on two columns are reported as far apart.
const FAR_APART: f64 = 1e6;

/// A summary of the rows of a table, column by column.
///
/// ```
/// use rueful_data::{
///     Bits, Follow, Input, KnownColumns, LabelRule, Oddity, Profile, Reading, Source, FormatSettings,
///     open_inputs,
/// };
/// use rueful_core::Batch;
/// let text = "age,job,always\n31,clerk,7\n47,,7\n0,cook,7\n";
/// let input = Input::new("data.csv", text.as_bytes(), &Follow::No)?;
/// let format_settings = FormatSettings { unlabelled: true, ..FormatSettings::default() };
/// let mut opened = open_inputs(vec![input], &format_settings, &Reading::new(LabelRule::Any))?;
/// let known = KnownColumns::of(&opened.schema).unwrap();
///
/// let (mut profile, mut batch) = (Profile::new(&known), Batch::default());
/// while opened.reader.fill(&mut batch)? {
///     profile.see(batch.rows(), opened.reader.names());
/// }
/// let columns = profile.columns(opened.reader.missing());
/// assert_eq!((columns[0].least, columns[0].most), (Some(0.0), Some(47.0)));
/// assert_eq!((columns[1].distinct, columns[1].missing), (Some(2), 1));
/// assert_eq!(columns[2].oddity, Some(Oddity::Constant));
/// # Ok::<(), rueful_data::DataError>(())
/// ```
#[derive(Debug)]
pub struct Profile {
    columns: Vec<Seen>,
    /// The column of each feature, and whether the feature is its number or the value of a
    /// category.
    places: HashMap<u32, Place>,
    by_name: HashMap<String, usize>,
    /// The features that are made beside those of single cells. They are not counted.
    expansion: Expansion,
    /// Whether features of other columns make columns of their own.
    is_open: bool,
    rows: u64,
    /// Whether there were more features than are told apart.
    is_cut: bool,
    /// The number of different numbers that are told apart in each column.
    room: usize,
}

#[derive(Debug, Clone, Copy)]
enum Place {
    /// The number of a column.
    Number(usize),
    /// One of the values of a column.
    Value(usize),
    /// The feature belongs to no column that is counted.
    Elsewhere,
}

/// The record of one column.
#[derive(Debug)]
struct Seen {
    column: Column,
    /// Whether the column was known before the first row.
    is_known: bool,
    /// Whether its numbers are no features by themselves, so that nothing is known about them.
    is_replaced: bool,
    /// Numbers that are not 0: how many there are, how far they reach, and which ones.
    count: u64,
    least: f64,
    most: f64,
    numbers: HashSet<u32>,
    /// Whether no number occurred twice, as far as they are told apart, and whether all are whole.
    is_new: bool,
    is_whole: bool,
    /// Whether there are more different values than are told apart.
    is_more: bool,
    /// Values of a category, or words: the number of different ones, and the number of all
    /// occurrences.
    values: u64,
    occurrences: u64,
}

/// The oddities of a column that are reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Oddity {
    /// It has the same value in every row.
    Constant,
    /// It has a value in fewer than one row in twenty.
    NearlyAllMissing,
    /// It has a different value in every row.
    Identifier,
}

/// The profile of one column.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ColumnProfile {
    /// Its name and its role.
    #[serde(flatten)]
    pub column: Column,
    /// The number of cells without a value.
    pub missing: u64,
    /// The smallest number. For dates, it is in years since the beginning of 2000.
    pub least: Option<f64>,
    /// The largest number. For dates, it is in years since the beginning of 2000.
    pub most: Option<f64>,
    /// The number of different values. For running text, the number of different words.
    pub distinct: Option<u64>,
    /// Whether there are more different values than `distinct`, because no more are told apart.
    pub distinct_is_cut: bool,
    /// The oddity of the column, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oddity: Option<Oddity>,
}

/// Two columns of numbers whose sizes are far apart.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FarApart {
    /// The column of the largest number, and the size of that number.
    pub large: (String, f64),
    /// The column whose largest number is the smallest, and the size of that number.
    pub small: (String, f64),
}

impl Profile {
    /// An empty profile of a table with these columns.
    pub fn new(known: &KnownColumns) -> Self {
        let expansion = known.columns().expansion();
        let seen = |column: &Column| Seen {
            is_replaced: expansion.replaces(&column.name),
            ..Seen::new(column.clone())
        };
        let columns: Vec<_> = known.columns().iter().map(seen).collect();
        let max_index = crate::Limits::default().max_index;
        let index_of = |name: &str| {
            let hashed = || known.bits().index(Prefix::NONE.hash(name.as_bytes()));
            numeric(name.as_bytes(), max_index).unwrap_or_else(hashed)
        };
        let numbers = columns.iter().enumerate().filter(|(_, s)| s.column.role == Role::Number);
        let places = numbers.map(|(place, s)| (index_of(&s.column.name), Place::Number(place)));
        let by_name = columns.iter().enumerate().map(|(place, s)| (s.column.name.clone(), place));
        Self {
            places: places.collect(),
            by_name: by_name.collect(),
            expansion: expansion.clone(),
            is_open: known.is_open(),
            rows: 0,
            is_cut: false,
            room: (NUMBERS_IN_ALL / columns.len().max(1)).min(NUMBERS_MAX),
            columns,
        }
    }

    /// Adds rows whose features have the names in `names`. The constant is not a column.
    pub fn see(&mut self, rows: Rows<'_>, names: &Names) {
        for example in rows.iter().filter(|example| !example.importance.is_zero()) {
            self.rows += 1;
            let x = example.features;
            for (&index, &value) in x.indices().iter().zip(x.values()).filter(|pair| *pair.0 != 0) {
                let place = match self.places.get(&index) {
                    Some(&place) => place,
                    None => self.meet(index, names),
                };
                match place {
                    Place::Number(column) => self.columns[column].number(value, self.room),
                    Place::Value(column) => self.columns[column].occurrences += 1,
                    Place::Elsewhere => {}
                }
            }
        }
    }

    /// Finds the column of a feature that is new.
    fn meet(&mut self, index: u32, names: &Names) -> Place {
        if self.places.len() >= FEATURES_MAX {
            self.is_cut = true;
            return Place::Elsewhere;
        }
        let place = names.get(index).map_or(Place::Elsewhere, |name| self.place_of(&name));
        self.places.insert(index, place);
        if let Place::Value(column) = place {
            self.columns[column].values += 1;
        }
        place
    }

    /// The column that the name of a feature begins with.
    fn place_of(&mut self, name: &str) -> Place {
        if self.is_made(name) {
            return Place::Elsewhere;
        }
        for (mark, role) in [("=", Role::Category), (":", Role::Text)] {
            for (at, _) in name.match_indices(mark) {
                if let Some(&column) = self.by_name.get(&name[..at])
                    && self.columns[column].column.role == role
                {
                    // A word has no mark in it, and an n-gram has.
                    let is_gram = role == Role::Text && name[at..].contains('^');
                    return if is_gram { Place::Elsewhere } else { Place::Value(column) };
                }
            }
        }
        if let Some((before, part)) = name.rsplit_once(PART)
            && let Some(&column) = self.by_name.get(before)
            && self.columns[column].column.role == Role::Date
        {
            return if part == TREND { Place::Number(column) } else { Place::Elsewhere };
        }
        self.new_column(name)
    }

    /// Whether a feature of this name is a cross, or part of a curve, or says that a cell has no
    /// value.
    fn is_made(&self, name: &str) -> bool {
        let part = name.rsplit_once(PART);
        let says_missing = part.is_some_and(|(column, part)| {
            part == MISSING && (self.is_open || self.by_name.contains_key(column))
        });
        self.expansion.missing && says_missing
            || self.expansion.has_crossed(name)
            || self.expansion.curve_of(name).is_some()
    }

    /// Makes a column that was not known before, if that is allowed.
    fn new_column(&mut self, name: &str) -> Place {
        if !self.is_open || self.columns.len() >= NEW_COLUMNS_MAX {
            return Place::Elsewhere;
        }
        let (name, role) = match name.split_once('=') {
            Some((name, _)) => (name, Role::Category),
            None => (name, Role::Number),
        };
        if self.by_name.contains_key(name) {
            return Place::Elsewhere;
        }
        let column = Column { name: name.to_owned(), role };
        self.by_name.insert(name.to_owned(), self.columns.len());
        self.columns.push(Seen { is_known: false, ..Seen::new(column) });
        let place = self.columns.len() - 1;
        if role == Role::Number { Place::Number(place) } else { Place::Value(place) }
    }

    /// The profiles of the columns. `missing` is the number of cells without a value in each of
    /// them.
    pub fn columns(&self, missing: &[u64]) -> Vec<ColumnProfile> {
        let columns = self.columns.iter().enumerate();
        let missing = |place: usize| missing.get(place).copied().unwrap_or(0);
        columns.map(|(place, seen)| seen.profile(self.rows, missing(place), self.is_cut)).collect()
    }

    /// Two columns whose numbers are of very different sizes, if there are such columns.
    pub fn far_apart(&self) -> Option<FarApart> {
        let numbers = self.columns.iter().filter(|s| s.column.role == Role::Number && s.count > 0);
        let mut sizes: Vec<_> = numbers
            .map(|seen| (seen.column.name.clone(), seen.least.abs().max(seen.most.abs())))
            .collect();
        sizes.sort_by(|one, other| one.1.total_cmp(&other.1));
        let (small, large) = (sizes.first()?.clone(), sizes.last()?.clone());
        (large.1 >= FAR_APART * small.1).then_some(FarApart { large, small })
    }
}

impl Seen {
    fn new(column: Column) -> Self {
        Self {
            column,
            is_known: true,
            is_replaced: false,
            count: 0,
            least: f64::INFINITY,
            most: f64::NEG_INFINITY,
            numbers: HashSet::new(),
            is_new: true,
            is_whole: true,
            is_more: false,
            values: 0,
            occurrences: 0,
        }
    }

    fn number(&mut self, value: f32, room: usize) {
        self.count += 1;
        self.least = self.least.min(value.into());
        self.most = self.most.max(value.into());
        self.is_whole &= value.fract() == 0.0;
        if self.is_more {
            return;
        }
        if self.numbers.len() < room {
            self.is_new &= self.numbers.insert(value.to_bits());
        } else {
            self.is_more = !self.numbers.contains(&value.to_bits());
        }
    }

    fn profile(&self, rows: u64, missing: u64, is_cut: bool) -> ColumnProfile {
        let is_number = matches!(self.column.role, Role::Number | Role::Date) && !self.is_replaced;
        let is_named = matches!(self.column.role, Role::Category | Role::Text);
        // Neither a value of 0 nor a missing value is stored.
        let zeros = rows.saturating_sub(missing + self.count);
        let has_zeros = zeros > 0 && self.column.role == Role::Number;
        let reach = |value: f64, with: fn(f64, f64) -> f64| {
            let value = if has_zeros { with(value, 0.0) } else { value };
            Some(value).filter(|value| is_number && value.is_finite())
        };
        let numbers = self.numbers.len() as u64 + u64::from(has_zeros);
        let distinct = if is_number { Some(numbers) } else { is_named.then_some(self.values) };
        let mut profile = ColumnProfile {
            column: self.column.clone(),
            missing,
            least: reach(self.least, f64::min),
            most: reach(self.most, f64::max),
            distinct,
            distinct_is_cut: is_number && self.is_more || is_named && is_cut,
            oddity: None,
        };
        profile.oddity = self.oddity(&profile, rows, zeros);
        profile
    }

    fn oddity(&self, profile: &ColumnProfile, rows: u64, zeros: u64) -> Option<Oddity> {
        let ColumnProfile { missing, distinct, distinct_is_cut, .. } = *profile;
        let distinct = distinct.filter(|_| self.is_known && self.column.role != Role::Text)?;
        let there = rows.saturating_sub(missing);
        let is_new = match self.column.role {
            Role::Number => self.is_new && self.is_whole && zeros <= 1,
            Role::Category => !distinct_is_cut && self.values == self.occurrences,
            _ => false,
        };
        if rows >= ENOUGH && there * 20 < rows {
            Some(Oddity::NearlyAllMissing)
        } else if distinct == 1 && there == rows && rows > 1 {
            Some(Oddity::Constant)
        } else if is_new && there >= ENOUGH && distinct > 1 {
            Some(Oddity::Identifier)
        } else {
            None
        }
    }
}

impl ColumnProfile {
    /// The first and the last date of a column of dates.
    pub fn dates(&self) -> Option<(String, String)> {
        let is_date = self.column.role == Role::Date;
        let both = self.least.zip(self.most).filter(|_| is_date);
        both.map(|(least, most)| (date_after(least), date_after(most)))
    }
}
