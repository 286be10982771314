//! `--why`: the chain of wakes that led one coroutine to where it is.

pub mod causes;
pub mod model;
pub mod text;
