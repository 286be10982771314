//! The geometry of a timeline: who is shown, in which rows, and where on the line of time.
//!
//! A trace is read twice. The first time, [`Crowd`] learns who there is, and [`pick()`] chooses whom
//! to show. The second time, [`collect()`] keeps what those did, merged so far that a row stays small
//! however long the trace. Nothing here draws; that is `view::timeline`.

mod arrows;
mod collect;
mod crowd;
mod lane;
mod marks;
mod pick;
mod row;
mod scale;
mod threads;
mod track;

pub use arrows::{Arrow, Arrows};
pub use collect::collect;
pub use crowd::{Crowd, Member};
pub use lane::{Bar, Lane, Layer, Look, Pin, lane};
pub use marks::{By, Mark};
pub use pick::{Group, Selection, pick};
pub use row::Row;
pub use scale::{Scale, Tick, UNITS};
pub use threads::{Shown, Thread};
pub use track::{Doing, Piece};
