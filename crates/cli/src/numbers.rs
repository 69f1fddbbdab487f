//! Numbers as people read them.

pub(crate) use rueful_core::words::{count, short};

/// A share in percent.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.2} %", 100.0 * share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_percentages() {
        assert_eq!(percent(0.1234), "12.34 %");
    }
}
