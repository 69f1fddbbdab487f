//! Reading and writing of [`Lines`], as vectors.

use rueful_machine::Lines;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub(crate) fn serialize<T, S>(lines: &Lines<T>, to: S) -> Result<S::Ok, S::Error>
where
    T: Copy + Serialize,
    S: Serializer,
{
    (**lines).serialize(to)
}

pub(crate) fn deserialize<'de, T, D>(from: D) -> Result<Lines<T>, D::Error>
where
    T: Copy + Deserialize<'de>,
    D: Deserializer<'de>,
{
    Vec::deserialize(from).map(|elements| Lines::from(&elements[..]))
}
