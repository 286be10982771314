//! What an event does, from one end to the other: what it says, its steps, and where it is written.
//!
//! In this folder read `payload.rs`, then `event/fast_path.rs`, then `slot.rs`; `event/slow_path.rs` and `switch.rs` take the
//! same steps where a handler comes between them, and for two events at a time.

pub(crate) mod announce;
mod current;
mod fast_path;
mod lane_place;
mod payload;
mod seat;
mod sites;
mod slow_path;
mod switch;
mod thread_lane;

pub(crate) use current::RunsHere;
pub(crate) use payload::EventPayload;
pub(crate) use seat::Seat;
pub(crate) use thread_lane::laneless_word;
