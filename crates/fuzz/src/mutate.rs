//! Ways to spoil an input.

use crate::random::Random;

/// The length of the longest input.
const LONGEST: usize = 400_000;

/// Tokens that some reader may stumble over, whatever the format.
const TOKENS: [&str; 46] = [
    "0",
    "-0",
    "1",
    "-1",
    "+1",
    "1e39",
    "-1e39",
    "3.4028235e38",
    "3.4028236e38",
    "1e-46",
    "1e400",
    "1e-400",
    "1e",
    "e",
    ".",
    "-",
    "+",
    "0.1",
    "00",
    "9007199254740993",
    "4294967295",
    "4294967296",
    "67108864",
    "18446744073709551616",
    "-9223372036854775809",
    "nan",
    "NaN",
    "inf",
    "-inf",
    "\n",
    "\r\n",
    "\r",
    "\n\n",
    " ",
    "\t",
    "\0",
    "\u{feff}",
    "\u{1b}[2J",
    "\u{202e}",
    "é",
    "\"",
    "'",
    "\\",
    "#",
    ",",
    ":",
];

/// Changes `input` in a few places. It may be spliced with `others`, and `tokens` are the tokens of
/// its format.
pub(crate) fn mutate(
    input: &mut Vec<u8>,
    others: &[Vec<u8>],
    tokens: &[&str],
    random: &mut Random,
) {
    let times = 1 + random.small(8);
    for _ in 0..times {
        change(input, others, tokens, random);
    }
    input.truncate(LONGEST);
}

fn change(input: &mut Vec<u8>, others: &[Vec<u8>], tokens: &[&str], random: &mut Random) {
    let at = random.below(input.len() + 1);
    match random.below(16) {
        0 => flip(input, at, random),
        1 => set(input, at, random.next() as u8),
        2 => drop(input.drain(at..(at + 1 + random.small(8)).min(input.len()).max(at))),
        3 => drop(input.drain(at..(at + random.small(200)).min(input.len()))),
        4..=6 => insert(input, at, random.pick(&TOKENS).as_bytes()),
        7..=9 if !tokens.is_empty() => insert(input, at, random.pick(tokens).as_bytes()),
        10 if !tokens.is_empty() => replace_word(input, at, random.pick(tokens).as_bytes()),
        11 => replace_word(input, at, random.pick(&TOKENS).as_bytes()),
        12 => copy_part(input, at, random),
        13 => {
            let other = random.pick(others);
            splice(input, at, other, random);
        }
        14 if random.once_in(4) => input.truncate(at),
        15 if random.once_in(12) => repeat(input, at, random),
        _ => flip(input, at, random),
    }
}

fn set(input: &mut [u8], at: usize, byte: u8) {
    if let Some(place) = input.get_mut(at) {
        *place = byte;
    }
}

fn flip(input: &mut [u8], at: usize, random: &mut Random) {
    let byte = input.get(at).copied().unwrap_or(0);
    set(input, at, byte ^ (1 << random.below(8)));
}

fn insert(input: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    drop(input.splice(at..at, bytes.iter().copied()));
}

/// Replaces the word at a place by a token.
fn replace_word(input: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b".+-_".contains(byte);
    let start = input[..at].iter().rposition(|byte| !is_part(byte)).map_or(0, |end| end + 1);
    let end =
        input[at..].iter().position(|byte| !is_part(byte)).map_or(input.len(), |end| at + end);
    drop(input.splice(start..end, bytes.iter().copied()));
}

/// Copies a part of the input to another place.
fn copy_part(input: &mut Vec<u8>, at: usize, random: &mut Random) {
    let from = random.below(input.len() + 1);
    let part = input[from..(from + random.small(120)).min(input.len())].to_vec();
    insert(input, at, &part);
}

/// Continues the input with the rest of another one.
fn splice(input: &mut Vec<u8>, at: usize, other: &[u8], random: &mut Random) {
    input.truncate(at);
    input.extend_from_slice(&other[random.below(other.len() + 1)..]);
}

/// Repeats a part so often that lines get too long, or that the input is cut into several pieces.
fn repeat(input: &mut Vec<u8>, at: usize, random: &mut Random) {
    let part = input[at..(at + 1 + random.small(200)).min(input.len())].to_vec();
    if !part.is_empty() {
        let size = *random.pick(&[4096, 5000, 20_000, 160_000, 300_000]);
        insert(input, at, &part.repeat(size / part.len()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_inputs() {
        let others = [b"1 2:3\n".to_vec(), Vec::new()];
        let inputs = |seed| {
            let mut random = Random::new(seed);
            let mut input = b"1 1:2 3:4\n".to_vec();
            for _ in 0..2000 {
                mutate(&mut input, &others, &["a", "|"], &mut random);
                assert!(input.len() <= LONGEST);
                if input.len() > 5000 {
                    input.clear();
                }
            }
            input
        };
        assert_eq!(inputs(7), inputs(7));
        assert_ne!(inputs(7), inputs(8));
    }
}
