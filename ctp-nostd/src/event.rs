//! What an event does, from one end to the other: what it says, its steps, and where it is written.
//!
//! In this folder read `payload.rs`, then `seat.rs`, then `slot.rs`; `amid.rs` and `switch.rs` take the
//! same steps where a handler comes between them, and for two events at a time.

mod amid;
pub mod dialect;
pub(crate) mod mode;
pub(crate) mod noted;
mod payload;
mod runs_here;
mod seat;
pub mod slot;
mod switch;

pub(crate) use payload::EventPayload;
pub(crate) use runs_here::RunsHere;
pub(crate) use seat::Seat;
