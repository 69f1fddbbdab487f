//! The few shapes that pictures are made of.

use crate::escape::escape;
use crate::number::px;

/// The size of most text, in pixels.
pub(crate) const TEXT: f64 = 12.0;

/// A picture under construction.
pub(crate) struct Canvas {
    pub(crate) width: f64,
    pub(crate) height: f64,
    body: String,
}

/// The names of a picture: an id for the document, and a title and a description for screen
/// readers.
pub(crate) struct Spoken<'a> {
    pub(crate) id: &'a str,
    pub(crate) title: &'a str,
    pub(crate) description: &'a str,
}

/// The shape of a point. Each line has its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Marker {
    Circle,
    Square,
    Triangle,
    Diamond,
    /// The shape for a line of one point.
    Bar,
}

impl Canvas {
    pub(crate) fn new(width: f64, height: f64) -> Self {
        Self { width, height, body: String::new() }
    }

    pub(crate) fn text(&mut self, (x, y): (f64, f64), class: &str, text: &str) {
        let (x, y, text) = (px(x), px(y), escape(text));
        self.body += &format!("<text x=\"{x}\" y=\"{y}\" class=\"{class}\">{text}</text>\n");
    }

    /// Writes a name in a colour, and a value behind it.
    pub(crate) fn named(&mut self, (x, y): (f64, f64), class: &str, name: &str, value: &str) {
        let (x, y, name, value) = (px(x), px(y), escape(name), escape(value));
        self.body += &format!(
            "<text x=\"{x}\" y=\"{y}\"><tspan class=\"strong {class}\">{name}</tspan> \
             <tspan>{value}</tspan></text>\n"
        );
    }

    pub(crate) fn line(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64), class: &str) {
        self.path(&format!("M{} {}L{} {}", px(x1), px(y1), px(x2), px(y2)), class);
    }

    pub(crate) fn path(&mut self, d: &str, class: &str) {
        self.body += &format!("<path d=\"{d}\" class=\"{class}\"/>\n");
    }

    /// Draws a rectangle between two opposite corners, given in any order.
    pub(crate) fn rect(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64), class: &str) {
        let (x, y, w, h) =
            (px(x1.min(x2)), px(y1.min(y2)), px((x2 - x1).abs()), px((y2 - y1).abs()));
        self.body += &format!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" class=\"{class}\"/>\n"
        );
    }

    /// Draws a point with a tooltip.
    pub(crate) fn marker(&mut self, at: (f64, f64), marker: Marker, class: &str, tip: &str) {
        let (x, y, d, tip) = (px(at.0), px(at.1), outline(marker, at), escape(tip));
        self.body += &format!(
            "<g><title>{tip}</title><circle cx=\"{x}\" cy=\"{y}\" r=\"9\" class=\"hit\"/>\
             <path d=\"{d}\" class=\"mark {class}\"/></g>\n"
        );
    }

    /// Starts a group with a tooltip. It ends with [`Canvas::close`].
    pub(crate) fn open(&mut self, tip: &str) {
        self.body += &format!("<g><title>{}</title>\n", escape(tip));
    }

    pub(crate) fn close(&mut self) {
        self.body += "</g>\n";
    }

    /// The finished picture. `style` is its own style, or empty if the page around it has one.
    pub(crate) fn finish(self, class: &str, spoken: &Spoken<'_>, style: &str) -> String {
        let (w, h, id, body) = (px(self.width), px(self.height), spoken.id, self.body);
        let (title, description) = (escape(spoken.title), escape(spoken.description));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w} {h}\" width=\"{w}\" \
             height=\"{h}\" class=\"{class}\" role=\"img\" \
             aria-labelledby=\"{id}-title {id}-desc\">\n<title id=\"{id}-title\">{title}</title>\n\
             <desc id=\"{id}-desc\">{description}</desc>\n{style}{body}</svg>\n"
        )
    }
}

fn outline(marker: Marker, (x, y): (f64, f64)) -> String {
    let at = |dx: f64, dy: f64| format!("{} {}", px(x + dx), px(y + dy));
    match marker {
        Marker::Circle => {
            format!("M{}a3 3 0 1 0 6 0a3 3 0 1 0 -6 0Z", at(-3.0, 0.0))
        }
        Marker::Bar => format!("M{}h11v3.6h-11Z", at(-5.5, -1.8)),
        Marker::Square => format!("M{}h5.6v5.6h-5.6Z", at(-2.8, -2.8)),
        Marker::Triangle => format!("M{}L{}L{}Z", at(0.0, -3.8), at(3.6, 2.8), at(-3.6, 2.8)),
        Marker::Diamond => {
            format!("M{}L{}L{}L{}Z", at(0.0, -4.2), at(4.2, 0.0), at(0.0, 4.2), at(-4.2, 0.0))
        }
    }
}

/// About how wide a text will be. Fonts differ, and the estimate errs on the wide side.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    text.chars().map(|c| size * em(c)).sum()
}

fn em(c: char) -> f64 {
    match c {
        'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | ' ' => 0.33,
        'f' | 'r' | 't' | '(' | ')' | '[' | ']' | '-' | '/' => 0.42,
        'm' | 'w' | 'M' | 'W' | '%' | '@' => 0.92,
        'A'..='Z' | '<' | '>' | '=' | '+' | '≤' | '−' | '&' => 0.74,
        // Escaping replaces these characters by pictures or by their names.
        '\0'..='\x1f' => 1.0,
        '\u{80}'..='\u{9f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' => 4.5,
        '\u{2010}'..='\u{2025}' | '\u{2027}'..='\u{2bff}' => 0.75,
        '\u{1100}'.. => 1.05,
        _ => 0.6,
    }
}

/// The text, or its two ends if it is too wide.
pub(crate) fn shortened(text: &str, size: f64, room: f64) -> String {
    if width(text, size) <= room {
        return text.to_owned();
    }
    let half = (room - size * em('…')) / 2.0;
    let head: String = fitting(text.chars(), size, half).collect();
    let tail: Vec<char> = fitting(text.chars().rev(), size, half).collect();
    let tail: String = tail.into_iter().rev().collect();
    format!("{head}…{tail}")
}

fn fitting(
    letters: impl Iterator<Item = char>,
    size: f64,
    mut room: f64,
) -> impl Iterator<Item = char> {
    letters.take_while(move |&c| {
        room -= size * em(c);
        room >= 0.0
    })
}

/// The text in at most `most` lines. The rest is shortened.
pub(crate) fn wrapped(text: &str, size: f64, room: f64, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if lines_on(line, word, size, room) => *line += &format!(" {word}"),
            _ => lines.push(word.to_owned()),
        }
    }
    if lines.len() > most && most > 0 {
        let rest = lines.split_off(most - 1).join(" ");
        lines.push(rest);
    }
    lines.iter().map(|line| shortened(line, size, room)).collect()
}

fn lines_on(line: &str, word: &str, size: f64, room: f64) -> bool {
    width(line, size) + width(word, size) + size * em(' ') <= room
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_keep_both_ends() {
        assert_eq!(shortened("age", TEXT, 100.0), "age");
        let name = shortened("marital-status=Married-civ-spouse", TEXT, 100.0);
        assert!(name.starts_with("mar") && name.ends_with("use") && name.contains('…'), "{name}");
        assert!(width(&name, TEXT) <= 100.0);
        assert_eq!(shortened("some long name", TEXT, 0.0), "…");
    }

    #[test]
    fn text_is_wrapped_at_words() {
        let lines = wrapped("from the run's own steps and gradients", TEXT, 120.0, 3);
        assert_eq!(lines.join(" "), "from the run's own steps and gradients");
        assert!(lines.len() > 1 && lines.iter().all(|line| width(line, TEXT) <= 120.0));
        assert_eq!(wrapped("a b c", TEXT, 1.0, 2).len(), 2);
        assert!(wrapped("", TEXT, 100.0, 2).is_empty());
    }
}
