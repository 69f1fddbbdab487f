//! The pictures of the page. Each has a finding, a caption that says how to read it, and its
//! numbers.

pub(crate) mod calibration;
pub(crate) mod curve;
pub(crate) mod ladder;
pub(crate) mod radii;
pub(crate) mod shares;
pub(crate) mod standing;
pub(crate) mod weights;
pub(crate) mod windows;

use crate::escape::escape;
use crate::number::short;
use crate::svg::{Canvas, Spoken};
use crate::table::Table;
use crate::{Figure, Interval, Page};

/// The class and width of the two sizes in which every picture is drawn. The page shows one of
/// them.
const SIZES: [(&str, f64); 2] = [("wide", 720.0), ("narrow", 340.0)];

/// A section of the page.
#[derive(Debug, Default)]
pub(crate) struct Section {
    pub(crate) id: &'static str,
    pub(crate) heading: &'static str,
    /// A sentence about this run.
    pub(crate) finding: String,
    /// How to read the picture.
    pub(crate) caption: &'static str,
    /// The picture in both sizes. It is empty if there is nothing to draw.
    pub(crate) pictures: Vec<String>,
    /// The numbers of the picture.
    pub(crate) numbers: Table,
}

impl Section {
    /// Adds the pictures, drawn in both sizes.
    fn drawn(mut self, draw: impl Fn(f64) -> Canvas) -> Self {
        for (class, width) in SIZES {
            let id = format!("{}-{class}", self.id);
            let spoken = Spoken { id: &id, title: self.heading, description: self.caption };
            self.pictures.push(draw(width).finish(class, &spoken, ""));
        }
        self
    }

    pub(crate) fn html(&self) -> String {
        let (id, heading, finding) = (self.id, escape(self.heading), escape(&self.finding));
        let figure = self.figure();
        format!(
            "<section id=\"{id}\">\n<header><h2>{heading}</h2>\n<p class=\"finding\">{finding}</p>\
             </header>\n{figure}</section>\n"
        )
    }

    fn figure(&self) -> String {
        if self.pictures.is_empty() {
            return String::new();
        }
        format!(
            "<figure>\n{}<figcaption>{}</figcaption>\n<details><summary>Numbers</summary>\n{}\
             </details></figure>\n",
            self.pictures.concat(),
            escape(self.caption),
            self.numbers.html()
        )
    }
}

/// All pictures, in the order of the page.
pub(crate) fn all(page: &Page) -> Vec<Section> {
    let sections: [fn(&Page) -> Option<Section>; 7] = [
        curve::figure,
        ladder::figure,
        radii::figure,
        windows::figure,
        calibration::figure,
        shares::figure,
        weights::figure,
    ];
    sections.iter().filter_map(|figure| figure(page)).collect()
}

/// Writes an interval, or one number if its ends look the same.
fn range(value: Interval) -> String {
    let ends = [Figure::at_least(value.lower), Figure::at_most(value.upper)].map(short);
    if ends[0] == ends[1] { ends[1].clone() } else { ends.join(" to ") }
}
