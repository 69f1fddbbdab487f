//! A small chart of windows. Both axes are linear, so that values below zero can be shown.

use crate::numbers::{count, measured};
use rueful_run::WindowReport;

const HEIGHT: usize = 10;
const WIDTH: usize = 60;
const MARGIN: usize = 10;
const RISK: char = '●';
const CERTIFICATE: char = '○';
/// The mark of a cell on which both marks fall.
const BOTH: char = '◉';

/// Draws the risk and the certificate of every window. The chart is empty if there are fewer than
/// two windows.
pub(super) fn draw(windows: &[WindowReport]) -> String {
    let [first, .., last] = windows else { return String::new() };
    let frame = Frame::around(windows);
    let mut grid = vec![vec![' '; WIDTH]; HEIGHT];
    for (place, window) in windows.iter().enumerate() {
        let column = (place * (WIDTH - 1)).div_euclid(windows.len() - 1);
        let marks = [(Some(window.sequential_risk), RISK), (window.certificate, CERTIFICATE)];
        for (value, mark) in marks {
            if let Some(row) = value.map(|value| frame.row(value)) {
                let cell = &mut grid[row][column];
                *cell = if [' ', mark].contains(cell) { mark } else { BOTH };
            }
        }
    }
    frame.render(&grid, first.from, last.to)
}

/// The values at the bottom and at the top of the chart.
struct Frame {
    low: f64,
    high: f64,
}

impl Frame {
    /// A frame with room for every value and for zero.
    fn around(windows: &[WindowReport]) -> Self {
        let values = || {
            let risks = windows.iter().map(|window| window.sequential_risk);
            risks.chain(windows.iter().filter_map(|window| window.certificate))
        };
        let (low, high) = (values().fold(0.0, f64::min), values().fold(0.0, f64::max));
        Self { low, high: if high > low { high } else { low + 1.0 } }
    }

    /// The row of a value, counted from the top.
    fn row(&self, value: f64) -> usize {
        let height = (value - self.low) / (self.high - self.low);
        HEIGHT - 1 - (height * (HEIGHT - 1) as f64).round() as usize
    }

    fn label(&self, row: usize) -> String {
        if row == self.row(0.0) {
            "0".to_owned()
        } else if row == 0 {
            measured(self.high)
        } else if row == HEIGHT - 1 {
            measured(self.low)
        } else {
            String::new()
        }
    }

    fn render(&self, grid: &[Vec<char>], from: u64, to: u64) -> String {
        let mut text = String::new();
        for (row, cells) in grid.iter().enumerate() {
            let is_zero = row == self.row(0.0);
            let (axis, blank) = if is_zero { ('┼', '·') } else { ('│', ' ') };
            let cells: String =
                cells.iter().map(|&cell| if cell == ' ' { blank } else { cell }).collect();
            text += &format!("{:>MARGIN$} {axis}{}\n", self.label(row), cells.trim_end());
        }
        text += &format!("{:>MARGIN$} └{}\n", "", "─".repeat(WIDTH));
        let (from, to) = (count(from), count(to));
        let right = WIDTH - from.len();
        text += &format!("{:>MARGIN$}  {from}{to:>right$} examples\n", "");
        let both = if grid.iter().flatten().any(|&cell| cell == BOTH) {
            format!("   {BOTH} both")
        } else {
            String::new()
        };
        text + &format!(
            "{:>MARGIN$}  {RISK} sequential risk   {CERTIFICATE} certificate{both}\n",
            ""
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(risk: f64, certificate: f64) -> WindowReport {
        WindowReport {
            from: 1,
            to: 30,
            examples: 10,
            sequential_risk: risk,
            mistake_rate: None,
            figures: rueful_run::RatesReport::default(),
            certificate: Some(certificate),
            beats_every_linear_predictor: certificate < 0.0,
            regret: None,
        }
    }

    #[test]
    fn points_land_where_they_belong() {
        let chart = draw(&[window(0.8, -0.1), window(0.4, 0.4), window(0.1, 0.0)]);
        let lines: Vec<&str> = chart.lines().collect();
        assert_eq!(lines[0], "    0.8000 │●");
        assert!(lines[4].ends_with('◉'), "{chart}");
        assert!(lines[8].starts_with("         0 ┼···") && lines[8].ends_with('○'), "{chart}");
        assert_eq!(lines[9], "   -0.1000 │○");
        assert!(lines[11].ends_with("30 examples"));
        assert_eq!(lines[12].trim(), "● sequential risk   ○ certificate   ◉ both");
    }

    #[test]
    fn nothing_to_compare_draws_nothing() {
        assert_eq!(draw(&[window(1.0, 1.0)]), "");
        assert!(!draw(&[window(0.0, 0.0), window(0.0, 0.0)]).is_empty());
    }
}
