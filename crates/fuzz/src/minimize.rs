//! Makes an input that fails nearly as small as possible.

/// The most times that an input is tried.
const TRIES: usize = 3000;

/// Leaves out parts of the input as long as `fails` returns true: halves first, then smaller parts.
pub(crate) fn minimize(mut input: Vec<u8>, fails: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let mut tries = 0;
    let mut size = input.len().div_ceil(2);
    while size > 0 && tries < TRIES {
        let mut at = 0;
        let before = input.len();
        while at < input.len() && tries < TRIES {
            let mut shorter = input.clone();
            shorter.drain(at..(at + size).min(input.len()));
            tries += 1;
            if fails(&shorter) { input = shorter } else { at += size }
        }
        if size > 1 || input.len() == before {
            size /= 2;
        }
    }
    input
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_matters_is_left() {
        let input: Vec<u8> = (0..=255).cycle().take(5000).collect();
        let small = minimize(input, |bytes| bytes.contains(&7) && bytes.contains(&200));
        assert_eq!(small.len(), 2);
        assert!(minimize(vec![1, 2, 3], |_| true).is_empty());
    }
}
