//! Readers: bytes to batches of examples.
