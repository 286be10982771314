//! The bytes of a trace: the file header, the chunks, and their payloads.

pub(crate) mod block;
pub(crate) mod chunk;
pub(crate) mod definition;
pub(crate) mod fields;
pub(crate) mod header;
pub(crate) mod inspection;
pub(crate) mod list;
pub(crate) mod payload;
pub(crate) mod plain;
pub(crate) mod varint;
