//! What `benches/look.rs` looks into: the program in the folder `look/`, and what it says of its tasks.

pub mod lives;
pub mod program;
