//! The program rueful.

fn main() {}
