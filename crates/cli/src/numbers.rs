//! Numbers as people read them: figures, which are rounded to the side on which they hold, and counts.

pub(crate) use rueful_page::Figure;

/// What was measured or set, rounded to the nearest.
pub(crate) fn measured(value: f64) -> String {
    Figure::measured(value).to_string()
}

/// What something is proved not to exceed, rounded up.
pub(crate) fn at_most(value: f64) -> String {
    Figure::at_most(value).to_string()
}

/// What something is proved to reach, rounded down.
pub(crate) fn at_least(value: f64) -> String {
    Figure::at_least(value).to_string()
}

/// A measured share in percent.
pub(crate) fn percent(share: f64) -> String {
    Figure::measured(share).percent()
}

/// 1,234,567
pub(crate) fn count(value: u64) -> String {
    let digits = value.to_string();
    let groups: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .filter_map(|group| std::str::from_utf8(group).ok())
        .collect();
    groups.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_grouped() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1_234_567), "1,234,567");
    }
}
