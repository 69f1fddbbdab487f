//! The certificate as a function of the comparators' norm.

use super::Section;
use crate::chart::{Area, Chart, Series, narrow};
use crate::number::{drawable, exact, short, tick};
use crate::scale::Kind;
use crate::svg::{Canvas, Marker};
use crate::table::{Table, numbers};
use crate::{Figure, Page, Radius};

const CAPTION: &str = "Each point bounds the regret per round against all linear predictors up to \
    that norm. All of them hold at once: the certificate is proved afterwards, so no radius had to \
    be chosen before. At or below zero, no such predictor was better than the run.";

pub(crate) fn figure(page: &Page) -> Option<Section> {
    if page.radii.is_empty() {
        return None;
    }
    let figure = Section {
        id: "radii",
        heading: "Certificate by radius",
        finding: finding(page),
        caption: CAPTION,
        numbers: table(&page.radii),
        ..Section::default()
    };
    Some(figure.drawn(|width| draw(page, width)))
}

fn draw(page: &Page, width: f64) -> Canvas {
    let mut canvas = Canvas::new(width, if narrow(width) { 270.0 } else { 300.0 });
    let series = [series(page)];
    let area = Area::within(&canvas, 0.0, 0.0);
    let Some(chart) = Chart::of(&mut canvas, &series, area, Kind::Log) else {
        return canvas;
    };
    chart.axes(&mut canvas, "radius U", "certificate per round");
    mark_own(&mut canvas, &chart, page.own_radius);
    chart.lines(&mut canvas, &series);
    chart.labels(&mut canvas, &series);
    canvas
}

fn mark_own(canvas: &mut Canvas, chart: &Chart, own: Option<f64>) {
    let Some((radius, x)) = own.and_then(|own| Some((own, chart.x.place(own)?))) else {
        return;
    };
    let Area { left, top, bottom, .. } = chart.area;
    canvas.line((x, top), (x, bottom), "own");
    // Certificates grow with the radius, so the curve leaves room to the left.
    let (x, class) = if x - left > 110.0 { (x - 6.0, "small end") } else { (x + 6.0, "small") };
    canvas.text((x, top + 9.0), class, &format!("this run, U = {}", tick(radius)));
}

fn series(page: &Page) -> Series {
    let mut points: Vec<&Radius> = drawn(page).collect();
    points.sort_by(|a, b| a.radius.total_cmp(&b.radius));
    let points = points.into_iter().map(|p| (p.radius, Some(p.certificate.into())));
    Series::new(("certificate", "certificate"), Marker::Square, points, Figure::at_most)
}

/// The radii that have a place on the axes.
fn drawn(page: &Page) -> impl Iterator<Item = &Radius> {
    page.radii.iter().filter(|p| p.radius > 0.0 && drawable(p.radius) && drawable(p.certificate))
}

fn finding(page: &Page) -> String {
    let own = page.own_radius.and_then(|own| drawn(page).find(|p| p.radius == own));
    let mut text = own.map_or_else(String::new, |own| {
        let (radius, value) = (tick(own.radius), short(Figure::at_most(own.certificate)));
        format!("At the run's own radius {radius} the certificate is {value}. ")
    });
    text += &match page.beaten_up_to {
        Some(f64::INFINITY) => "No predictor of any norm was better.".to_owned(),
        Some(radius) => {
            let radius = short(Figure::at_least(radius));
            format!("Up to radius {radius} no predictor was better at all.")
        }
        None => "At every radius some predictor may have been better.".to_owned(),
    };
    if let Some(radius) = page.says_nothing_from {
        let radius = short(Figure::measured(radius));
        text += &format!(" From radius {radius} on the certificate says nothing.");
    }
    text
}

fn table(radii: &[Radius]) -> Table {
    let row = |p: &Radius| vec![exact(p.radius), exact(p.certificate)];
    let columns = vec![numbers("radius"), numbers("certificate")];
    Table { columns, rows: radii.iter().map(row).collect() }
}
