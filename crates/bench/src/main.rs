//! Measurements of rueful, alone and beside others.

fn main() {}
