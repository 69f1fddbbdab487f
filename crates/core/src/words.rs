//! Numbers in the form in which people read them.

/// The number with four significant digits. It has an exponent only where it would be long
/// otherwise.
pub fn short(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    // The number is rounded to four digits first, because 99.999 has as many decimals as 100.
    let rounded = format!("{value:.3e}");
    let exponent = rounded.split_once('e').and_then(|(_, exponent)| exponent.parse::<i32>().ok());
    match exponent {
        Some(exponent @ -4..7) => format!("{value:.*}", (3 - exponent).max(0) as usize),
        _ => rounded,
    }
}

/// The number with commas: 1,234,567.
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let groups: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .filter_map(|group| std::str::from_utf8(group).ok())
        .collect();
    groups.join(",")
}

/// The names as a choice: "one, another or a third".
pub fn either(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [others @ .., last] => format!("{} or {last}", others.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_short() {
        for (value, text) in [
            (0.0, "0"),
            (1.0, "1.000"),
            (0.031_256, "0.03126"),
            (-12.345_6, "-12.35"),
            (99.999_99, "100.0"),
            (1_234.56, "1235"),
            (123_456.7, "123457"),
            (1e-7, "1.000e-7"),
            (3e12, "3.000e12"),
        ] {
            assert_eq!(short(value), text);
        }
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1_234_567), "1,234,567");
    }

    #[test]
    fn names_are_listed() {
        assert_eq!(either(&["a"]), "a");
        assert_eq!(either(&["a", "b"]), "a or b");
        assert_eq!(either(&["a", "b", "c"]), "a, b or c");
    }
}
