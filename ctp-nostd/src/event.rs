//! What an event does, from one end to the other: what it says, its steps, and where it is written.
//!
//! Read `event/said.rs`, then `event/seat.rs`, then `event/slot.rs`; `event/amid.rs` and `event/switch.rs` take the same steps where
//! a handler comes between them, and for two events at a time.

mod amid;
pub mod dialect;
pub(crate) mod manner;
pub(crate) mod noted;
mod runs_here;
mod said;
mod seat;
pub mod slot;
mod switch;

pub(crate) use runs_here::RunsHere;
pub(crate) use said::Said;
pub(crate) use seat::Seat;
