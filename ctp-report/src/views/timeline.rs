//! `--timeline`: which coroutine ran and waited when, as a picture.

pub mod model;
pub mod svg;
