//! Streams, adversaries, slow references and the conformance suites of rueful.
