//! Files of modules: opened without waiting, read in parts, within one budget of memory.

pub(crate) mod budget;
pub(crate) mod checksums;
pub(crate) mod headers;
pub(crate) mod identity;
pub(crate) mod image;
pub(crate) mod parts;
pub(crate) mod regular;
