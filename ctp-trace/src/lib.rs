//! The trace file: records, writer, reader, and the rule that decides what is stuck.
//!
//! A trace is a file with what a recorder learnt of a program's coroutines: their identity, when each ran
//! and waited, where and for what, and how much of this was lost. A trace is written once and can be read
//! on any machine, even if the recorder, the program or the disk failed while it was written.
//!
//! You provide a sink or the bytes of a file. You write the records in an order in which each follows the
//! records that it refers to. The crate provides
//!
//! - [`record`], the contents of a trace, with one type per kind of fact,
//! - [`Writer`] and [`Reader`], the two directions, with the same records on both sides,
//! - [`Composer`] and [`ChunkWriter`], the halves of a writer, for writing with two threads,
//! - [`format`](mod@format), the document that defines each byte of the file,
//! - [`TraceModel`], which takes the records, and [`verdict`], the rule that decides what is stuck,
//! - [`escape`], the rule for printing text of unknown origin, and [`quantity`], for printing numbers,
//! - [`hash`], a map by id.
//!
//! With the feature `output`, the crate also finds where an output file belongs, without following links
//! or files that another user planted.
//!
//! Without that feature, the crate opens, maps and renames no files. It has no threads and no clock,
//! looks up no names, and does not check that an event's coroutine was ever born: a report has to cope
//! with gaps.
#![forbid(unsafe_code)]

pub mod record;

mod reader;
mod source;
mod writer;

pub mod format;

mod codec;

pub mod model;

pub mod verdict;

pub mod escape;
pub mod histogram;

mod duration;
mod error;
pub mod hash;

pub mod quantity;

#[cfg(feature = "output")]
pub mod output;

pub use codec::chunk::{ChunkWriter, RawChunk};
pub use codec::header::check_header;
pub use duration::BadDuration;
pub use error::Error;
pub use model::TraceModel;
pub use reader::{Completeness, Reader};
pub use source::{Source, read_file_at};
pub use writer::{Composer, Writer};
