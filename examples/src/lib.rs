//! The snippets of `README.md` and of the pages below, compiled and run as tests.
#![doc = include_str!("../../README.md")]

#[cfg(doctest)]
#[doc = include_str!("../../docs/tokio.md")]
mod tokio {}

#[cfg(doctest)]
#[doc = include_str!("../../docs/write-a-probe.md")]
mod write_a_probe {}

#[cfg(doctest)]
#[doc = include_str!("../../docs/bare-metal.md")]
mod bare_metal {}

#[cfg(doctest)]
#[doc = include_str!("../../docs/schedulers.md")]
mod schedulers {}
