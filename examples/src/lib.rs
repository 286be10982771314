//! The snippets of `README.md`, compiled and run as tests.
#![doc = include_str!("../../README.md")]
