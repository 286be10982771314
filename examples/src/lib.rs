//! The snippets of `README.md` and of `docs/write-a-probe.md`, compiled and run as tests.
#![doc = include_str!("../../README.md")]

#[cfg(doctest)]
#[doc = include_str!("../../docs/write-a-probe.md")]
mod write_a_probe {}
