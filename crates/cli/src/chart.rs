//! A small chart in characters. Both axes are logarithmic, and every point is one mark. A value
//! that is not positive has no place on a logarithmic axis, so such values get a row of their own
//! below.

use crate::numbers::{count, measured};

const HEIGHT: usize = 10;
const WIDTH: usize = 60;
const MARGIN: usize = 10;
/// The mark for places where several series meet.
const BOTH: char = '◉';

/// The label of the row for values that are not positive.
const NOT_POSITIVE: &str = "≤ 0";

/// Points (t, value) that are drawn with one mark.
pub(crate) struct Series<'a> {
    pub(crate) name: &'a str,
    pub(crate) mark: char,
    pub(crate) points: Vec<(u64, f64)>,
}

/// Draws the series into one frame. The result is empty if there is nothing to see.
pub(crate) fn draw(series: &[Series<'_>]) -> String {
    let Some(frame) = Frame::around(series) else { return String::new() };
    let mut grid = vec![vec![' '; WIDTH]; frame.rows + usize::from(frame.reaches_zero)];
    let mut legend = Vec::new();
    for series in series.iter().filter(|series| !series.points.is_empty()) {
        for &(t, value) in &series.points {
            let cell = &mut grid[frame.row(value)][frame.column(t)];
            *cell = if *cell == ' ' { series.mark } else { BOTH };
        }
        legend.push(format!("{} {}", series.mark, series.name));
    }
    if grid.iter().flatten().any(|&cell| cell == BOTH) {
        legend.push(format!("{BOTH} more than one"));
    }
    frame.render(&grid, &legend)
}

struct Frame {
    low: f64,
    span: f64,
    last: u64,
    /// The number of rows for positive values.
    rows: usize,
    /// Whether there is a row below them for values that are not positive.
    reaches_zero: bool,
}

impl Frame {
    /// Makes a frame with room for every point. There is none if there are too few rounds, or if no
    /// value is positive.
    fn around(series: &[Series<'_>]) -> Option<Self> {
        let points = || series.iter().flat_map(|series| &series.points);
        let logarithms = || points().filter(|point| point.1 > 0.0).map(|point| point.1.ln());
        let last = points().map(|point| point.0).max().filter(|&last| last >= 2)?;
        let (low, high) = (logarithms().reduce(f64::min)?, logarithms().reduce(f64::max)?);
        let reaches_zero = points().any(|point| point.1 <= 0.0);
        let rows = HEIGHT - usize::from(reaches_zero);
        Some(Self { low, span: (high - low).max(1e-9), last, rows, reaches_zero })
    }

    fn row(&self, value: f64) -> usize {
        if value <= 0.0 {
            return self.rows;
        }
        let height = (value.ln() - self.low) / self.span;
        self.rows - 1 - (height * (self.rows - 1) as f64).round() as usize
    }

    fn column(&self, t: u64) -> usize {
        ((t as f64).ln() / (self.last as f64).ln() * (WIDTH - 1) as f64).round() as usize
    }

    fn label(&self, row: usize) -> String {
        if row == self.rows {
            return NOT_POSITIVE.to_owned();
        }
        if ![0, self.rows / 2, self.rows - 1].contains(&row) {
            return String::new();
        }
        let height = (self.rows - 1 - row) as f64 / (self.rows - 1) as f64;
        measured((self.low + height * self.span).exp())
    }

    fn render(&self, grid: &[Vec<char>], legend: &[String]) -> String {
        let mut text = String::new();
        for (row, cells) in grid.iter().enumerate() {
            let axis = if row == self.rows { '┊' } else { '│' };
            let cells: String = cells.iter().collect();
            text += &format!("{:>MARGIN$} {axis}{}\n", self.label(row), cells.trim_end());
        }
        text += &format!("{:>MARGIN$} └{}\n", "", "─".repeat(WIDTH));
        let end = count(self.last);
        let right = WIDTH - 1;
        text += &format!("{:>MARGIN$}  1{end:>right$} rounds, both axes logarithmic\n", "");
        text + &format!("{:>MARGIN$}  {}\n", "", legend.join("   "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_land_where_they_belong() {
        let risk =
            Series { name: "risk", mark: '●', points: vec![(1, 1.0), (4, 0.1), (16, 0.01)] };
        let other = Series { name: "other", mark: '○', points: vec![(1, 1.0), (16, -1.0)] };
        let chart = draw(&[risk, other]);
        let lines: Vec<&str> = chart.lines().collect();
        assert_eq!(lines[0], "     1.000 │◉");
        assert!(lines[8].starts_with("   0.01000 │") && lines[8].ends_with('●'));
        assert!(lines[9].starts_with("       ≤ 0 ┊") && lines[9].ends_with('○'), "{chart}");
        assert_eq!(lines[9].chars().count(), MARGIN + 2 + WIDTH);
        assert!(lines[11].ends_with("16 rounds, both axes logarithmic"));
        assert_eq!(lines[12].trim(), "● risk   ○ other   ◉ more than one");
    }

    #[test]
    fn nothing_to_see_draws_nothing() {
        assert_eq!(draw(&[Series { name: "risk", mark: '●', points: vec![(1, 0.0)] }]), "");
    }
}
