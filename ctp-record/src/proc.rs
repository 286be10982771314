//! What the kernel tells of processes and files.

pub mod file_id;
pub mod maps;
pub mod namespace;
pub mod processes;
pub mod time_namespace;
