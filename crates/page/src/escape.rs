//! Makes text of unknown origin safe for HTML and XML, and shows characters that would be
//! invisible.

/// The text with markup escaped. Characters that are invisible, or that change the direction of the
/// text after them, are shown by name.
pub(crate) fn escape(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut out, c| {
        push(&mut out, c);
        out
    })
}

fn push(out: &mut String, c: char) {
    match c {
        '&' => out.push_str("&amp;"),
        '<' => out.push_str("&lt;"),
        '>' => out.push_str("&gt;"),
        '"' => out.push_str("&quot;"),
        '\'' => out.push_str("&#39;"),
        _ => push_visible(out, c),
    }
}

fn push_visible(out: &mut String, c: char) {
    match c {
        // Unicode has a picture for each of these.
        '\0'..='\x1f' => out.extend(char::from_u32(0x2400 + u32::from(c))),
        '\x7f' => out.push('\u{2421}'),
        _ if hides(c) => out.push_str(&format!("⟨U+{:04X}⟩", u32::from(c))),
        _ => out.push(c),
    }
}

/// Whether a character is a control, a mark of direction, invisible, or not allowed in XML.
fn hides(c: char) -> bool {
    let code = u32::from(c);
    matches!(c,
        '\u{80}'..='\u{9f}' | '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}'
        | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}')
        || (0xfdd0..=0xfdef).contains(&code)
        || code & 0xfffe == 0xfffe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_becomes_text() {
        assert_eq!(escape("<a href=\"x\">&'"), "&lt;a href=&quot;x&quot;&gt;&amp;&#39;");
    }

    #[test]
    fn what_hides_is_shown() {
        assert_eq!(escape("a\0b\nc\u{7f}"), "a␀b␊c␡");
        assert_eq!(escape("exe.\u{202e}txt"), "exe.⟨U+202E⟩txt");
        assert_eq!(escape("\u{ffff}\u{85}"), "⟨U+FFFF⟩⟨U+0085⟩");
        assert_eq!(escape("‖u‖ ≤ 10, naïve, 日本"), "‖u‖ ≤ 10, naïve, 日本");
    }
}
