//! The settings with which a person asks for curves, and the knots that the first rows decide.

use super::curves::{Curve, Knots, Shape, Waves};
use crate::error::excerpt;
use crate::format::quoted;
use crate::schema::{Columns, Role, find};
use crate::{DataError, Phrase};

/// The number of rows at the beginning of the data whose values decide the knots.
pub const KNOT_ROWS: usize = 1000;

/// The number of bins, of knots and of harmonics, if none is named.
const BINS: usize = 10;
const KNOTS: usize = 10;
const HARMONICS: u8 = 2;

/// The kinds of curves, with the name of the setting for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Bins,
    Spline,
    Periodic,
}

impl Kind {
    fn setting(self) -> &'static str {
        match self {
            Self::Bins => "bins",
            Self::Spline => "spline",
            Self::Periodic => "periodic",
        }
    }

    /// The most numbers that may follow a column, with colons between them.
    fn numbers(self) -> usize {
        if self == Self::Periodic { 2 } else { 1 }
    }
}

/// The settings of curves. Each of them is a column, and perhaps numbers after colons.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CurveSettings {
    /// Columns that are parted into bins: `age`, `age:5` for 5 bins, or `age:18,30,65` for bins with
    /// these edges.
    pub bins: Vec<String>,
    /// Columns that become splines: `age`, `age:5` for 5 knots, or `age:18,30,65` for these knots.
    pub splines: Vec<String>,
    /// Columns that become waves: `hour:24` for waves of the period 24, or `hour:24:3` for three
    /// harmonics.
    pub periodic: Vec<String>,
}

/// A setting that was taken apart.
struct Wish<'a> {
    kind: Kind,
    column: &'a str,
    numbers: Vec<&'a str>,
}

impl CurveSettings {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all().next().is_none()
    }

    fn all(&self) -> impl Iterator<Item = (Kind, &str)> {
        let lists = [
            (Kind::Bins, &self.bins),
            (Kind::Spline, &self.splines),
            (Kind::Periodic, &self.periodic),
        ];
        lists.into_iter().flat_map(|(kind, list)| list.iter().map(move |one| (kind, one.as_str())))
    }

    /// The first setting that is given.
    pub(crate) fn first(&self) -> Option<&'static str> {
        self.all().next().map(|(kind, _)| kind.setting())
    }

    /// The columns that the settings mention, each after the name of its setting.
    pub(crate) fn columns(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.all().map(|(kind, setting)| (kind.setting(), Wish::new(kind, setting, &[]).column))
    }

    /// The curves of a table with these columns. `values` returns the first numbers of a column.
    pub(crate) fn curves(
        &self,
        file: &str,
        columns: &Columns,
        notes: &mut Vec<Phrase>,
        mut values: impl FnMut(usize) -> Vec<f32>,
    ) -> Result<Vec<Curve>, DataError> {
        let names: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
        let mut curves: Vec<Curve> = Vec::new();
        for (kind, setting) in self.all() {
            let wish = Wish::new(kind, setting, &names);
            let number = find(file, &names, kind.setting(), wish.column, notes)?;
            let column = names[number].clone();
            if columns[number].role != Role::Number {
                let found = format!("column {}, which has no numbers", quoted(&column));
                return Err(wrong(file, kind, found, "a column of numbers"));
            }
            let is_twice = |curve: &Curve| curve.column == column && kind.is(&curve.shape);
            if curves.iter().any(is_twice) {
                let found = format!("column {} twice", quoted(&column));
                return Err(wrong(file, kind, found, "every column once"));
            }
            let shape = wish.shape(file, &column, || values(number))?;
            let said = format!("column {} becomes {}", quoted(&column), shape.described());
            notes.push(said.into());
            curves.push(Curve { column, shape });
        }
        curves.sort_by(|one, other| one.column.cmp(&other.column));
        Ok(curves)
    }
}

#[cold]
fn wrong(file: &str, kind: Kind, found: String, expected: &str) -> DataError {
    let expected = Phrase::from(format!("{expected} for ")).setting(kind.setting());
    DataError::Unsuitable { file: file.to_owned(), found, expected }
}

impl Kind {
    fn is(self, shape: &Shape) -> bool {
        match shape {
            Shape::Bins(_) => self == Self::Bins,
            Shape::Spline(_) => self == Self::Spline,
            Shape::Waves(_) => self == Self::Periodic,
        }
    }
}

/// Whether a text is a list of numbers with commas between them.
fn is_numbers(text: &str) -> bool {
    text.split(',').all(|number| number.trim().parse::<f32>().is_ok())
}

impl<'a> Wish<'a> {
    /// Takes a setting apart. Numbers after colons belong to the name of the column if a column is
    /// called that.
    fn new(kind: Kind, setting: &'a str, names: &[String]) -> Self {
        let (mut column, mut numbers) = (setting.trim(), Vec::new());
        while numbers.len() < kind.numbers()
            && !names.iter().any(|name| name == column)
            && let Some((before, last)) = column.rsplit_once(':')
            && is_numbers(last)
        {
            (column, numbers) = (before, [vec![last], numbers].concat());
        }
        Self { kind, column, numbers }
    }

    /// The shape that is asked for. `values` returns the first numbers of the column.
    fn shape(
        &self,
        file: &str,
        column: &str,
        values: impl FnOnce() -> Vec<f32>,
    ) -> Result<Shape, DataError> {
        let told = || format!("\"{}\"", excerpt(self.numbers.join(":").as_bytes()));
        let unsuitable = |expected: String| wrong(file, self.kind, told(), &expected);
        match (self.kind, &self.numbers[..]) {
            (Kind::Periodic, []) => {
                let found = format!("no period for column {}", quoted(column));
                Err(wrong(file, self.kind, found, "a period, as in hour:24,"))
            }
            (Kind::Periodic, [period, rest @ ..]) => {
                let period = period.trim().parse().unwrap_or(f32::NAN);
                let harmonics = rest.first().map_or(Ok(HARMONICS), |number| number.trim().parse());
                let harmonics =
                    harmonics.map_err(|_| unsuitable("a whole number of harmonics".to_owned()))?;
                Waves::new(period, harmonics).map(Shape::Waves).map_err(unsuitable)
            }
            (kind, [list]) if list.contains(',') => {
                let knots = list.split(',').map(|knot| knot.trim().parse().unwrap_or(f32::NAN));
                let knots = Knots::try_from(knots.map(|knot: f32| knot + 0.0).collect::<Vec<_>>());
                knots.map(|knots| kind.with(knots)).map_err(unsuitable)
            }
            (kind, numbers) => {
                let count =
                    numbers.first().map_or(Ok(kind.usual()), |number| number.trim().parse());
                let count =
                    count.ok().filter(|count| (2..=super::curves::KNOTS_MAX).contains(count));
                let count = count.ok_or_else(|| {
                    unsuitable(format!("a whole number from 2 to {}", super::curves::KNOTS_MAX))
                })?;
                kind.decided(values(), count).ok_or_else(|| {
                    let name = quoted(column);
                    let found = format!("column {name}, whose first values do not differ");
                    wrong(file, kind, found, "different numbers, or knots as in age:18,30,65,")
                })
            }
        }
    }
}

impl Kind {
    /// The number of bins or knots, if none is named.
    fn usual(self) -> usize {
        if self == Self::Bins { BINS } else { KNOTS }
    }

    fn with(self, knots: Knots) -> Shape {
        if self == Self::Bins { Shape::Bins(knots) } else { Shape::Spline(knots) }
    }

    /// The shape with so many bins or knots, at quantiles of the values.
    fn decided(self, values: Vec<f32>, count: usize) -> Option<Shape> {
        let (parts, has_ends) = if self == Self::Bins { (count, false) } else { (count - 1, true) };
        Knots::quantiles(values, parts, has_ends).map(|knots| self.with(knots))
    }
}
