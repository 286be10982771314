//! The geometry of a timeline: who is shown, in which rows, and where on the line of time.
//!
//! A trace is read twice. The first time, [`ObservedPopulation`] learns who there is, and [`pick()`] chooses whom
//! to show. The second time, [`collect()`] keeps what those did, merged so far that a row stays small
//! however long the trace. Nothing here draws; that is `svg`.

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
pub use lane::{Bar, Look, bars, open, seen, wakes};
pub use marks::{By, Mark};
pub use population::{Member, ObservedPopulation};
pub use row::Row;
pub use selection::{Group, Selection, pick};
pub use threads::{Shown, Thread};
pub use track::{Activity, Piece, Track};
