//! Lanes: one ring of records a thread, so that history is whole. Both halves.
//!
//! ```text
//!   the thread (and its signal handlers)        the recorder
//!   T1 head -> h            (relaxed)           S1 head -> limit                  (relaxed)
//!   T2 tail -> t            (acquire, S5)       S2 ring[r].commit -> lap of r?    (acquire, T6)
//!      full if h - t >= length: lost += 1,       else nobody has committed it yet: stop
//!      unless head != h: T1
//!   T3 what time is it                          S3 payload -> copy                (relaxed)
//!   T4 head: h -> h + 1     (one instruction)   S4 r += 1, to S2 while r < limit
//!      else a handler came between: T1          S5 tail = r                       (release)
//!   T5 ring[h].payload      (relaxed)
//!   T6 ring[h].commit       (release)
//! ```
//! What T2 finds holds for all places up to t + length, so a thread keeps that as a [`Room`], and
//! looks at the tail again where it ends.
//!
//! The time is read before the place is taken, and anew if a handler took it, so a lane's times
//! never go back. A place that was taken is always filled, unless the thread dies first: then
//! [`Ring::is_abandoned`] tells, once another thread has the lane. Nobody ever waits; a record for
//! which there is no room is counted.
//!
//! In the recording of a flight recorder a ring is written over, and nobody gives room back:
//! ```text
//!   T2 a ring before, is it committed?          O1 ring[r].commit -> lap of r?    (acquire, T6)
//!      else an interrupted caller of this       O2 ring[r].payload -> copy        (relaxed)
//!      very thread will fill it in: full        O3 fence                          (acquire, T4)
//!   T4 and a fence           (release)          O4 head - r > length: written over
//! ```
//! `tail` then says from which record on the lane is this thread's, since an earlier one may have
//! died before it had filled in what it took.

mod claim;
mod copy;
mod oldest;
mod own_ring;
mod place;
mod prefetch;
mod record;
mod ring;
mod rings;
mod room;

pub use claim::{Claimant, Pool, give_back};
pub use copy::{Before, Copied, MOST_WORDS, Word};
pub(crate) use own_ring::{OwnRing, RingMark};
pub use place::Place;
pub use record::{DeedKind, HELD_BY_COROUTINE, HELD_BY_THREAD, HELD_BY_UNKNOWN, Payload};
pub use ring::{RecordState, Ring};
pub use room::Room;
