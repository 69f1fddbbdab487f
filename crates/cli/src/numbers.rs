//! Numbers as people read them. Figures are rounded to the side on which they hold, and counts are
//! whole numbers.

pub(crate) use rueful_core::words::count;
pub(crate) use rueful_page::Figure;

/// A number of things with their noun, such as "1 example" and "2 examples".
pub(crate) fn counted(value: u64, noun: &str) -> String {
    let ending = match noun {
        _ if value == 1 => "",
        noun if noun.ends_with('s') => "es",
        _ => "s",
    };
    format!("{} {noun}{ending}", count(value))
}

/// A number that was measured or set. It is rounded to the nearest.
pub(crate) fn measured(value: f64) -> String {
    Figure::measured(value).to_string()
}

/// A proved upper bound. It is rounded up.
pub(crate) fn at_most(value: f64) -> String {
    Figure::at_most(value).to_string()
}

/// A proved lower bound. It is rounded down.
pub(crate) fn at_least(value: f64) -> String {
    Figure::at_least(value).to_string()
}

/// A measured share in percent.
pub(crate) fn percent(share: f64) -> String {
    Figure::measured(share).percent()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_has_no_plural() {
        assert_eq!(counted(1, "example"), "1 example");
        assert_eq!(counted(0, "example"), "0 examples");
        assert_eq!(counted(1234, "example"), "1,234 examples");
        assert_eq!((counted(1, "pass"), counted(2, "pass")), ("1 pass".into(), "2 passes".into()));
    }

    #[test]
    fn shares_are_percentages() {
        assert_eq!(percent(0.1234), "12.34 %");
    }
}
