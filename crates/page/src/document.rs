//! The files: pages, and their main pictures alone.

use crate::escape::escape;
use crate::figure::{self, Section, curve, standing};
use crate::paint::{page_style, picture_style};
use crate::svg::{Canvas, Spoken, shortened, wrapped};
use crate::table::pairs;
use crate::{Comparison, Fact, Page};

/// The picture alone keeps a margin, for there is no page around it.
const MARGIN: f64 = 28.0;
/// The page may load nothing and run nothing, whatever names it holds.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// What every page has around its pictures.
struct Frame<'a> {
    title: &'a str,
    subtitle: &'a str,
    facts: &'a [Fact],
    parameters: &'a [(String, String)],
    data: &'a [(String, String)],
    notes: &'a [String],
}

impl<'a> From<&'a Page> for Frame<'a> {
    fn from(page: &'a Page) -> Self {
        let Page { title, subtitle, facts, parameters, data, notes, .. } = page;
        Self { title, subtitle, facts, parameters, data, notes }
    }
}

impl<'a> From<&'a Comparison> for Frame<'a> {
    fn from(page: &'a Comparison) -> Self {
        let Comparison { title, subtitle, facts, parameters, data, notes, .. } = page;
        Self { title, subtitle, facts, parameters, data, notes }
    }
}

pub(crate) fn html(page: &Page) -> String {
    Frame::from(page).around(&figure::all(page))
}

pub(crate) fn comparison_html(page: &Comparison) -> String {
    Frame::from(page).around(&standing::all(page))
}

impl Frame<'_> {
    fn around(&self, figures: &[Section]) -> String {
        let figures: String = figures.iter().map(Section::html).collect();
        format!(
            "<!doctype html>\n<html lang=\"en\">\n{}<body>\n<main>\n{}{figures}{}</main>\n\
             <footer>Made by rueful, an online learner that knows its own regret.</footer>\n\
             </body>\n</html>\n",
            self.head(),
            self.masthead(),
            self.back_matter()
        )
    }

    fn head(&self) -> String {
        format!(
            "<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>{} · rueful</title>\n{}</head>\n",
            escape(self.title),
            page_style()
        )
    }

    fn masthead(&self) -> String {
        let facts: String = self.facts.iter().map(fact).collect();
        let facts =
            if facts.is_empty() { facts } else { format!("<dl class=\"facts\">\n{facts}</dl>\n") };
        format!(
            "<header class=\"masthead\">\n<p class=\"mark\">rueful</p>\n<h1><bdi>{}</bdi></h1>\n\
             <p class=\"subtitle\">{}</p>\n{facts}</header>\n",
            escape(self.title),
            escape(self.subtitle)
        )
    }

    /// Parameters, data and notes.
    fn back_matter(&self) -> String {
        let list = |items: &[(String, String)]| (!items.is_empty()).then(|| pairs(items));
        let notes = (!self.notes.is_empty()).then(|| notes(self.notes));
        let parts = [
            ("parameters", "Parameters", list(self.parameters)),
            ("data", "Data", list(self.data)),
            ("notes", "Notes", notes),
        ];
        let written = parts.into_iter();
        written.filter_map(|(id, heading, body)| Some(section(id, heading, &body?))).collect()
    }
}

fn fact(fact: &Fact) -> String {
    let note = fact.note.iter().map(|note| format!("<dd class=\"note\">{}</dd>", escape(note)));
    format!(
        "<div><dt>{}</dt><dd class=\"value\">{}</dd>{}</div>\n",
        escape(&fact.label),
        escape(&fact.value),
        note.collect::<String>()
    )
}

fn notes(notes: &[String]) -> String {
    let items: String = notes.iter().map(|note| format!("<li>{}</li>\n", escape(note))).collect();
    format!("<ul class=\"notes\">\n{items}</ul>\n")
}

fn section(id: &str, heading: &str, body: &str) -> String {
    format!("<section id=\"{id}\">\n<header><h2>{heading}</h2></header>\n{body}</section>\n")
}

pub(crate) fn svg(page: &Page) -> String {
    let description = page.curve.last().map(|last| curve::finding(page, last)).unwrap_or_default();
    picture(&Frame::from(page), curve::HEADING, &description, |canvas, top| {
        curve::draw(page, canvas, top, MARGIN);
    })
}

pub(crate) fn comparison_svg(page: &Comparison) -> String {
    let names: Vec<&str> = page.rivals.iter().map(|rival| &*rival.name).collect();
    picture(&Frame::from(page), "risk over time", &names.join(", "), |canvas, top| {
        standing::draw_over_time(page, canvas, top, MARGIN);
    })
}

/// A picture with its own title and ground.
fn picture(
    frame: &Frame<'_>,
    heading: &str,
    description: &str,
    draw: impl Fn(&mut Canvas, f64),
) -> String {
    let mut canvas = Canvas::new(960.0, 580.0);
    let room = canvas.width - 2.0 * MARGIN;
    canvas.rect((0.0, 0.0), (canvas.width, canvas.height), "ground");
    let mut top = MARGIN + 18.0;
    canvas.text((MARGIN, top), "title", &shortened(frame.title, 23.0, room));
    for line in wrapped(frame.subtitle, 12.0, room, 2) {
        top += 22.0;
        canvas.text((MARGIN, top), "soft", &line);
    }
    draw(&mut canvas, top + 18.0);
    let title = format!("{}: {heading}", frame.title);
    let spoken = Spoken { id: "rueful", title: &title, description };
    canvas.finish("picture", &spoken, &picture_style())
}
