//! `--last-words`: what each coroutine did last that was alive at the end.

pub mod model;
pub mod text;
