//! The colours and style rules, in one place for the page and for the stand-alone picture.
//!
//! The hues are those of Okabe and Ito, which people with any colour vision can tell apart. Their
//! lightness was changed until each stands out from the light background and from the dark one.

/// The name of a colour, its value in light mode, and its value in dark mode.
const COLOURS: [(&str, &str, &str); 10] = [
    ("paper", "#fdfdfb", "#15181b"),
    ("ink", "#1c1e21", "#e8e7e3"),
    ("soft", "#5d6268", "#a3a8ad"),
    ("rule", "#d9dad6", "#363b40"),
    ("faint", "#ebebe7", "#24282c"),
    ("risk", "#1c1e21", "#e8e7e3"),
    ("certificate", "#0067a8", "#5db8ee"),
    ("comparator", "#00795a", "#2fc79c"),
    ("regret", "#bf4a00", "#f0883e"),
    ("bound", "#71777d", "#90969c"),
];

/// The style of pictures: shapes and colours.
const PICTURE: &str = include_str!("picture.css");
/// The style of the page.
const PAGE: &str = include_str!("page.css");

/// The style of the page, with colours as variables.
pub(crate) fn page_style() -> String {
    let light = variables(|(name, light, _)| (name, light));
    let dark = variables(|(name, _, dark)| (name, dark));
    format!(
        "<style>\n:root{{color-scheme:light dark;{light}}}\n\
         @media (prefers-color-scheme:dark){{:root{{{dark}}}}}\n{PICTURE}{PAGE}</style>\n"
    )
}

type Colour = (&'static str, &'static str, &'static str);

fn variables(choose: impl Fn(Colour) -> (&'static str, &'static str)) -> String {
    COLOURS.into_iter().map(choose).map(|(name, colour)| format!("--{name}:{colour};")).collect()
}

/// The style of a stand-alone picture. Colours are written out, because not every program that
/// shows pictures supports variables.
pub(crate) fn picture_style() -> String {
    let light = COLOURS.into_iter().fold(PICTURE.to_owned(), |css, (name, light, _)| {
        css.replace(&format!("var(--{name})"), light)
    });
    let dark = COLOURS.into_iter().fold(PICTURE.to_owned(), |css, (name, _, dark)| {
        css.replace(&format!("var(--{name})"), dark)
    });
    format!("<style>\n{light}@media (prefers-color-scheme:dark){{\n{dark}}}\n</style>\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_alone_has_no_variables() {
        assert!(!picture_style().contains("var("));
    }

    /// The contrast of two colours, as the accessibility guidelines define it.
    fn contrast(a: &str, b: &str) -> f64 {
        let (a, b) = (luminance(a) + 0.05, luminance(b) + 0.05);
        a.max(b) / a.min(b)
    }

    fn luminance(colour: &str) -> f64 {
        let part = |i: usize| f64::from(u8::from_str_radix(&colour[i..i + 2], 16).unwrap()) / 255.0;
        let linear =
            |c: f64| if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) };
        0.2126 * linear(part(1)) + 0.7152 * linear(part(3)) + 0.0722 * linear(part(5))
    }

    #[test]
    fn text_can_be_read_on_its_ground() {
        let (_, light, dark) = COLOURS[0];
        for name in ["ink", "soft", "risk", "certificate", "comparator", "regret", "bound"] {
            let colour = COLOURS.iter().find(|colour| colour.0 == name).unwrap();
            assert!(contrast(light, colour.1) >= 4.4, "{name}: {}", contrast(light, colour.1));
            assert!(contrast(dark, colour.2) >= 4.4, "{name}: {}", contrast(dark, colour.2));
        }
    }
}
