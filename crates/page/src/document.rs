//! Writes the files: pages, and their main pictures as files of their own.

use crate::escape::escape;
use crate::figure::{self, Section, curve, standing};
use crate::paint::{page_style, picture_style};
use crate::svg::{Canvas, Spoken, shortened, wrapped};
use crate::table::pairs;
use crate::{Comparison, Fact, Origin, Page};

/// The margin of a stand-alone picture, which has no page around it.
const MARGIN: f64 = 28.0;
/// The page may load nothing and run nothing, whatever names it contains.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// The parts that every page has around its pictures.
struct Frame<'a> {
    title: &'a str,
    subtitle: &'a str,
    facts: &'a [Fact],
    figures: &'a [(String, String)],
    parameters: &'a [(String, String)],
    data: &'a [(String, String)],
    notes: &'a [String],
    origin: &'a Origin,
}

impl<'a> From<&'a Page> for Frame<'a> {
    fn from(page: &'a Page) -> Self {
        let Page { title, subtitle, facts, figures, parameters, data, notes, origin, .. } = page;
        Self { title, subtitle, facts, figures, parameters, data, notes, origin }
    }
}

impl<'a> From<&'a Comparison> for Frame<'a> {
    fn from(page: &'a Comparison) -> Self {
        let Comparison { title, subtitle, facts, parameters, data, notes, origin, .. } = page;
        Self { title, subtitle, facts, figures: &[], parameters, data, notes, origin }
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
        let pictures: String = figures.iter().map(Section::html).collect();
        let figures = list("figures", "In figures", self.figures);
        format!(
            "<!doctype html>\n<html lang=\"en\">\n{}<body>\n<main>\n{}{figures}{pictures}{}</main>\n\
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

    /// The parameters, the data, the notes, and how the page was made.
    fn back_matter(&self) -> String {
        let notes = if self.notes.is_empty() {
            String::new()
        } else {
            section("notes", "Notes", &notes(self.notes))
        };
        let (parameters, data) =
            (list("parameters", "Parameters", self.parameters), list("data", "Data", self.data));
        parameters + &data + &notes + &origin(self.origin)
    }
}

/// A section of names and values, or nothing if there are none.
fn list(id: &str, heading: &str, items: &[(String, String)]) -> String {
    if items.is_empty() { String::new() } else { section(id, heading, &pairs(items)) }
}

/// The section about the version, the command and the description.
fn origin(origin: &Origin) -> String {
    let told = [("version", &origin.version), ("command", &origin.command)];
    let told: Vec<(String, String)> = told
        .into_iter()
        .filter(|(_, text)| !text.is_empty())
        .map(|(name, text)| (name.to_owned(), text.clone()))
        .collect();
    let spec = if origin.spec.is_empty() {
        String::new()
    } else {
        let text = escape(&origin.spec);
        format!(
            "<details><summary>Description</summary>\n<div class=\"scroll\" \
             tabindex=\"0\"><pre>{text}</pre></div>\n</details>\n"
        )
    };
    if told.is_empty() && spec.is_empty() {
        return String::new();
    }
    section("origin", "How this page was made", &format!("<div>\n{}{spec}</div>\n", pairs(&told)))
}

fn fact(fact: &Fact) -> String {
    let note = fact.note.iter().map(|note| format!("<dd class=\"note\">{}</dd>", escape(note)));
    format!(
        "<div><dt>{}</dt><dd class=\"value\">{}</dd>{}</div>\n",
        escape(&fact.label),
        escape(&fact.value.replace('-', "−")),
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

/// A stand-alone picture with its own title and background.
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
