//! The two files: the page, and the main picture alone.

use crate::escape::escape;
use crate::figure::{self, Section, curve};
use crate::paint::{page_style, picture_style};
use crate::svg::{Canvas, Spoken, shortened, wrapped};
use crate::table::pairs;
use crate::{Fact, Page};

/// The picture alone keeps a margin, for there is no page around it.
const MARGIN: f64 = 28.0;
/// The page may load nothing and run nothing, whatever names it holds.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

pub(crate) fn html(page: &Page) -> String {
    let figures: String = figure::all(page).iter().map(Section::html).collect();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n{}<body>\n<main>\n{}{figures}{}</main>\n\
         <footer>Made by rueful, an online learner that knows its own regret.</footer>\n\
         </body>\n</html>\n",
        head(page),
        masthead(page),
        back_matter(page)
    )
}

fn head(page: &Page) -> String {
    format!(
        "<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{} · rueful</title>\n{}</head>\n",
        escape(&page.title),
        page_style()
    )
}

fn masthead(page: &Page) -> String {
    let facts: String = page.facts.iter().map(fact).collect();
    let facts =
        if facts.is_empty() { facts } else { format!("<dl class=\"facts\">\n{facts}</dl>\n") };
    format!(
        "<header class=\"masthead\">\n<p class=\"mark\">rueful</p>\n<h1><bdi>{}</bdi></h1>\n\
         <p class=\"subtitle\">{}</p>\n{facts}</header>\n",
        escape(&page.title),
        escape(&page.subtitle)
    )
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

/// Parameters, data and notes.
fn back_matter(page: &Page) -> String {
    let list = |items: &[(String, String)]| (!items.is_empty()).then(|| pairs(items));
    let notes = (!page.notes.is_empty()).then(|| notes(&page.notes));
    let parts = [
        ("parameters", "Parameters", list(&page.parameters)),
        ("data", "Data", list(&page.data)),
        ("notes", "Notes", notes),
    ];
    parts.into_iter().filter_map(|(id, heading, body)| Some(section(id, heading, &body?))).collect()
}

fn notes(notes: &[String]) -> String {
    let items: String = notes.iter().map(|note| format!("<li>{}</li>\n", escape(note))).collect();
    format!("<ul class=\"notes\">\n{items}</ul>\n")
}

fn section(id: &str, heading: &str, body: &str) -> String {
    format!("<section id=\"{id}\">\n<header><h2>{heading}</h2></header>\n{body}</section>\n")
}

pub(crate) fn svg(page: &Page) -> String {
    let mut canvas = Canvas::new(960.0, 580.0);
    let room = canvas.width - 2.0 * MARGIN;
    canvas.rect((0.0, 0.0), (canvas.width, canvas.height), "ground");
    let mut top = MARGIN + 18.0;
    canvas.text((MARGIN, top), "title", &shortened(&page.title, 23.0, room));
    for line in wrapped(&page.subtitle, 12.0, room, 2) {
        top += 22.0;
        canvas.text((MARGIN, top), "soft", &line);
    }
    curve::draw(page, &mut canvas, top + 18.0, MARGIN);
    let description = page.curve.last().map(|last| curve::finding(page, last)).unwrap_or_default();
    let title = format!("{}: {}", page.title, curve::HEADING);
    let spoken = Spoken { id: "rueful", title: &title, description: &description };
    canvas.finish("picture", &spoken, &picture_style())
}
