//! A small chart in characters: both axes logarithmic, one mark per point.

use crate::numbers::{count, measured};

const HEIGHT: usize = 10;
const WIDTH: usize = 60;
const MARGIN: usize = 10;
/// Where marks fall together.
const BOTH: char = '◉';

/// Points (t, value) drawn with one mark. Values that are not positive have no place on a
/// logarithmic axis and are left out.
pub(crate) struct Series<'a> {
    pub(crate) name: &'a str,
    pub(crate) mark: char,
    pub(crate) points: Vec<(u64, f64)>,
}

/// Draws the series into one frame; empty if there is nothing to see.
pub(crate) fn draw(series: &[Series<'_>]) -> String {
    let visible = || series.iter().flat_map(|s| &s.points).filter(|(_, value)| *value > 0.0);
    let last = series.iter().flat_map(|s| &s.points).map(|(t, _)| *t).max().unwrap_or(0);
    if last < 2 || visible().next().is_none() {
        return String::new();
    }
    let low = visible().map(|(_, value)| value.ln()).fold(f64::INFINITY, f64::min);
    let high = visible().map(|(_, value)| value.ln()).fold(f64::NEG_INFINITY, f64::max);
    let frame = Frame { low, span: (high - low).max(1e-9), last: (last as f64).ln() };

    let mut grid = vec![vec![' '; WIDTH]; HEIGHT];
    let mut legend = Vec::new();
    for series in series {
        for &(t, value) in series.points.iter().filter(|(_, value)| *value > 0.0) {
            let cell = &mut grid[frame.row(value)][frame.column(t)];
            *cell = if *cell == ' ' { series.mark } else { BOTH };
        }
        if series.points.iter().any(|(_, value)| *value > 0.0) {
            legend.push(format!("{} {}", series.mark, series.name));
        }
    }
    if grid.iter().flatten().any(|&cell| cell == BOTH) {
        legend.push(format!("{BOTH} more than one"));
    }
    frame.render(&grid, &legend, last)
}

struct Frame {
    low: f64,
    span: f64,
    last: f64,
}

impl Frame {
    fn row(&self, value: f64) -> usize {
        let height = (value.ln() - self.low) / self.span;
        HEIGHT - 1 - (height * (HEIGHT - 1) as f64).round() as usize
    }

    fn column(&self, t: u64) -> usize {
        ((t as f64).ln() / self.last * (WIDTH - 1) as f64).round() as usize
    }

    fn label(&self, row: usize) -> String {
        if ![0, HEIGHT / 2, HEIGHT - 1].contains(&row) {
            return String::new();
        }
        let height = (HEIGHT - 1 - row) as f64 / (HEIGHT - 1) as f64;
        measured((self.low + height * self.span).exp())
    }

    fn render(&self, grid: &[Vec<char>], legend: &[String], last: u64) -> String {
        let mut text = String::new();
        for (row, cells) in grid.iter().enumerate() {
            let cells: String = cells.iter().collect();
            text += &format!("{:>MARGIN$} │{}\n", self.label(row), cells.trim_end());
        }
        text += &format!("{:>MARGIN$} └{}\n", "", "─".repeat(WIDTH));
        let end = count(last);
        text += &format!("{:>MARGIN$}  1{:>right$} rounds\n", "", end, right = WIDTH - 1);
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
        assert!(lines[9].starts_with("   0.01000 │") && lines[9].ends_with('●'));
        assert_eq!(lines[9].chars().count(), MARGIN + 2 + WIDTH);
        assert!(lines[11].ends_with("16 rounds"));
        assert_eq!(lines[12].trim(), "● risk   ○ other   ◉ more than one");
    }

    #[test]
    fn nothing_to_see_draws_nothing() {
        assert_eq!(draw(&[Series { name: "risk", mark: '●', points: vec![(1, 0.0)] }]), "");
    }
}
