//! The trace file: records, writer, reader, and the rule that says what is stuck.
//!
//! A trace is what a recorder learnt of the coroutines of a program, as one file: who they are,
//! when each ran and waited, where and for what, and how much of that was lost. It is written once
//! and read on any machine, also when the recorder, the program or the disk failed on the way.
//!
//! You provide a sink or the bytes of a file, and records in an order in which each comes after
//! those that it refers to. The crate provides
//!
//! - [`record`], what a trace can say, one type a fact,
//! - [`Writer`] and [`Reader`], the two directions, with the same records on both sides,
//! - [`Composer`] and [`ChunkWriter`], the halves of a writer, for one that has two threads,
//! - [`format`](mod@format), the document that says what each byte of the file means,
//! - [`TraceModel`], which takes the records in, and [`verdict`], the one rule for what is stuck,
//! - [`escape`], the one rule for what may be printed of a program's own text, and [`quantity`], for numbers.
//!
//! With the feature `output` it also finds the place of an output file, by the one rule of both tools for
//! what another user planted on the way.
//!
//! Without that feature it does not open files. It does not map or rename any, has no threads and no clock, looks up no names, and does
//! not check that a coroutine that an event names was ever born: a report has to cope with gaps.
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
mod hash;

pub mod quantity;

#[cfg(feature = "output")]
pub mod output;

pub use codec::chunk::{ChunkWriter, RawChunk};
pub use codec::header::check_header;
pub use duration::BadDuration;
pub use error::Error;
pub use model::{self as trace_model, TraceModel};
pub use reader::{Completeness, Reader};
pub use source::Source;
pub use writer::{Composer, Writer};
