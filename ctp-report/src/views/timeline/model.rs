//! The geometry of a timeline: which coroutines are shown, in which rows, and where on the time axis.
//!
//! A trace is read twice. In the first pass, [`ObservedPopulation`] collects the coroutines, and
//! [`pick()`] selects which to show. In the second pass, [`collect()`] collects the events of the
//! selected coroutines. Short spans are merged, so that a row stays small however long the trace is.
//! `svg` draws the result.

mod arrows;
mod collect;
mod lane;
mod marks;
mod population;
mod row;
mod selection;
mod threads;
mod track;

pub use arrows::{Arrow, Arrows};
pub use collect::collect;
pub use lane::{Bar, BarStyle, bars, of_leaf, open, visible_marks, wakes};
pub use marks::{MarkAuthor, RowMark};
pub use population::{ObservedPopulation, RowCandidate, alive};
pub use row::Row;
pub use selection::{RowGroup, ShownRows, pick};
pub use threads::{ShownThreads, ThreadSpan};
pub use track::{Piece, PieceKind, PieceTrack};
