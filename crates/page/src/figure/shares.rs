//! The shares of the learners that are mixed: who was trusted when.

use super::Section;
use crate::chart::{Area, Chart, Series, narrow};
use crate::number::{count, drawable};
use crate::scale::{Kind, Scale};
use crate::svg::{Canvas, Marker, TEXT, shortened};
use crate::table::{Table, numbers, words};
use crate::{Figure, Interval, Page, Share};

const CAPTION: &str = "The prediction is a mixture, and a band is as wide as the share of one \
    learner in it. Shares follow the losses: where the stream changes, another learner does \
    better, and the bands move.";
/// The room for a name. The table has the full name.
const NAME: f64 = 88.0;
/// The colours. The learners with the largest shares have one each.
const COLOURS: [&str; 4] = ["certificate", "comparator", "regret", "risk"];

pub(crate) fn figure(page: &Page) -> Option<Section> {
    let bands = bands(&page.shares);
    let most =
        bands.first().filter(|_| page.shares.first().is_some_and(|one| one.points.len() > 1))?;
    let figure = Section {
        id: "shares",
        heading: "Who was trusted when",
        finding: finding(most),
        caption: CAPTION,
        numbers: table(&page.shares),
        ..Section::default()
    };
    Some(figure.drawn(|width| draw(&bands, width)))
}

/// The bands that are drawn: the learners with the largest shares, and all others together.
fn bands(shares: &[Share]) -> Vec<Share> {
    let largest = |one: &Share| one.points.iter().map(|point| point.1).fold(0.0, f64::max);
    let mut bands = shares.to_vec();
    bands.sort_by(|a, b| largest(b).total_cmp(&largest(a)));
    if bands.len() > COLOURS.len() {
        let others = bands.split_off(COLOURS.len());
        bands.push(together(&others));
    }
    bands
}

fn together(others: &[Share]) -> Share {
    let mut sum = Share { name: format!("{} others", others.len()), ..others[0].clone() };
    for other in &others[1..] {
        let points = sum.points.iter_mut().zip(&other.points);
        points.for_each(|(sum, point)| sum.1 += point.1);
    }
    sum
}

fn draw(bands: &[Share], width: f64) -> Canvas {
    let mut canvas = Canvas::new(width, if narrow(width) { 270.0 } else { 300.0 });
    let series = stacked(bands);
    let area = Area::within(&canvas, 0.0, 0.0);
    let Some(mut chart) = Chart::of(&mut canvas, &series, area, Kind::Linear) else {
        return canvas;
    };
    chart.y = Scale::tight(Kind::Linear, &[0.0, 1.0], (area.bottom, area.top));
    chart.axes(&mut canvas, "rounds t", "share");
    chart.bands(&mut canvas, &series);
    chart.labels(&mut canvas, &series);
    canvas
}

/// Stacks every band on those before it.
fn stacked(bands: &[Share]) -> Vec<Series> {
    let mut below = vec![0.0; bands.first().map_or(0, |band| band.points.len())];
    let classes = COLOURS.into_iter().chain(["bound"]);
    let mut series = Vec::new();
    for (band, class) in bands.iter().zip(classes) {
        let points = band.points.iter().zip(&mut below).map(|(&(t, share), below)| {
            let lower = *below;
            *below += share;
            (t as f64, Some(Interval { lower, upper: *below }))
        });
        let points: Vec<_> = points.collect();
        let now = band.points.last().map_or(0.0, |point| point.1);
        series.push(
            Series::new(
                (&*shortened(&band.name, TEXT, NAME), class),
                Marker::Circle,
                points.into_iter(),
                Figure::measured,
            )
            .saying(percent(now)),
        );
    }
    series
}

fn percent(share: f64) -> String {
    if !drawable(share) {
        return "–".to_owned();
    }
    format!("{:.0} %", 100.0 * share)
}

fn finding(most: &Share) -> String {
    let top = most.points.iter().filter(|point| drawable(point.1));
    match top.max_by(|a, b| a.1.total_cmp(&b.1)) {
        None => "No share can be shown.".to_owned(),
        Some(&(t, share)) => {
            let now = most.points.last().map_or(0.0, |point| point.1);
            let (share, now, t) = (percent(share), percent(now), count(t));
            let name = &most.name;
            format!("The largest share was {share}, after round {t}, and is {now} now: {name}")
        }
    }
}

/// The share of every learner at the end, and the largest that it ever had.
fn table(shares: &[Share]) -> Table {
    let row = |one: &Share| {
        let now = one.points.last().map_or(0.0, |point| point.1);
        let most = one.points.iter().map(|point| point.1).fold(0.0, f64::max);
        vec![one.name.clone(), format!("{now:.6}"), format!("{most:.6}")]
    };
    Table {
        columns: vec![words("learner"), numbers("share now"), numbers("largest share")],
        rows: shares.iter().map(row).collect(),
    }
}
