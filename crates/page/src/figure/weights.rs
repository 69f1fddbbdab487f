//! The largest weights.

use super::Section;
use crate::chart::narrow;
use crate::number::{count, drawable, exact, short};
use crate::scale::{Kind, Scale, extent};
use crate::svg::{Canvas, TEXT, shortened};
use crate::table::{Table, numbers, words};
use crate::{Figure, Page, Weight};

const CAPTION: &str = "A bar to the right raises the prediction when its feature does, a bar to \
    the left lowers it. Weights are per unit of their feature, so features on different scales do \
    not compare.";
/// The most weights that are drawn. The table has all of them.
const MOST: usize = 30;
/// The room for a number beside a bar.
const NUMBER: f64 = 68.0;

pub(crate) fn figure(page: &Page) -> Option<Section> {
    let largest = largest(&page.weights);
    let first = largest.first()?;
    let figure = Section {
        id: "weights",
        heading: "Largest weights",
        finding: finding(first, page.weights_left_out),
        caption: CAPTION,
        numbers: table(&page.weights),
        ..Section::default()
    };
    Some(figure.drawn(|width| draw(&largest, width)))
}

/// The weights that are drawn, the largest first.
fn largest(weights: &[Weight]) -> Vec<&Weight> {
    let mut weights: Vec<&Weight> = weights.iter().filter(|w| drawable(w.value)).collect();
    weights.sort_by(|a, b| b.value.abs().total_cmp(&a.value.abs()));
    weights.truncate(MOST);
    weights
}

fn finding(first: &Weight, left_out: u64) -> String {
    let name = shortened(&first.name, TEXT, 400.0);
    let left_out = match left_out {
        0 => String::new(),
        1 => "One smaller weight is left out. ".to_owned(),
        many => format!("{} smaller weights are left out. ", count(many)),
    };
    // The name comes last, so that a name written from right to left moves nothing else.
    let largest = short(Figure::measured(first.value));
    format!("{left_out}The largest in size, {largest}, belongs to {name}")
}

/// The layout of the rows. Names stand beside their bars, or above them on a small screen.
#[derive(Debug, Clone, Copy)]
struct Layout {
    names: f64,
    row: f64,
    bar: f64,
}

impl Layout {
    fn of(width: f64) -> Self {
        if narrow(width) {
            return Self { names: width, row: 35.0, bar: 17.0 };
        }
        Self { names: 250.0, row: 20.0, bar: 1.0 }
    }
}

fn draw(weights: &[&Weight], width: f64) -> Canvas {
    let layout = Layout::of(width);
    let mut canvas = Canvas::new(width, layout.row * weights.len() as f64 + 4.0);
    let left = if narrow(width) { 0.5 } else { layout.names + 10.0 };
    let scale = scale(weights, (left, width - 4.0));
    for (i, weight) in weights.iter().enumerate() {
        let top = 2.0 + layout.row * i as f64;
        canvas.open(&format!("{}: {}", weight.name, short(Figure::measured(weight.value))));
        name(&mut canvas, &weight.name, layout, top);
        bar(&mut canvas, &scale, weight.value, top + layout.bar);
        canvas.close();
    }
    canvas
}

fn name(canvas: &mut Canvas, name: &str, layout: Layout, top: f64) {
    let name = shortened(name, TEXT, layout.names - 4.0);
    if narrow(canvas.width) {
        canvas.text((0.0, top + 13.0), "", &name);
    } else {
        canvas.text((layout.names, top + 14.0), "end", &name);
    }
}

fn bar(canvas: &mut Canvas, scale: &Scale, value: f64, top: f64) {
    let (Some(zero), Some(end)) = (scale.place(0.0), scale.place(value)) else {
        return;
    };
    let down = value < 0.0;
    canvas.rect((zero, top + 3.0), (end, top + 15.0), if down { "regret" } else { "certificate" });
    // The pieces of the zero line join if names stand beside the bars. If names stand above the
    // bars, the pieces stay clear of them.
    let reach = if narrow(canvas.width) { 7.0 } else { 10.0 };
    canvas.line((zero, top + 9.0 - reach), (zero, top + 9.0 + reach), "zero");
    let (x, class) = if down { (end - 5.0, "small soft end") } else { (end + 5.0, "small soft") };
    canvas.text((x, top + 13.0), class, &short(Figure::measured(value)));
}

/// The axis. Numbers stand outside their bars, so a side with bars keeps room for them.
fn scale(weights: &[&Weight], (left, right): (f64, f64)) -> Scale {
    let values: Vec<f64> = weights.iter().map(|w| w.value).chain([0.0]).collect();
    let (low, high) = extent(&values);
    let from = if low < 0.0 { left + NUMBER } else { left };
    let to = if high > 0.0 || low == high { right - NUMBER } else { right };
    Scale::tight(Kind::Linear, &values, (from, to))
}

fn table(weights: &[Weight]) -> Table {
    let row = |w: &Weight| vec![w.name.clone(), exact(w.value)];
    Table {
        columns: vec![words("feature"), numbers("weight")],
        rows: weights.iter().map(row).collect(),
    }
}
