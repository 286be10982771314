//! Lanes: one ring of records per thread, which holds the complete history.
//!
//! ```text
//!   the thread (and its signal handlers)        the recorder
//!   T1 head -> h            (relaxed)           S1 head -> limit                  (relaxed)
//!   T2 tail -> t            (acquire, S5)       S2 ring[r].commit -> lap of r?    (acquire, T6)
//!      full if h - t >= length: lost += 1,       else not committed yet: stop
//!      unless head != h: T1
//!   T3 read the clock                           S3 payload -> copy                (relaxed)
//!   T4 head: h -> h + 1     (one instruction)   S4 r += 1, to S2 while r < limit
//!      else a handler came between: T1          S5 tail = r                       (release)
//!   T5 ring[h].payload      (relaxed)
//!   T6 ring[h].commit       (release)
//! ```
//! The result of T2 holds for all positions up to t + length. So a thread keeps it as a [`Room`],
//! and reads the tail again only when the room is used up.
//!
//! The clock is read before the position is taken, and read again if a handler took the position,
//! so a lane's times never go back. A position that was taken is always filled, unless the thread
//! dies first. In that case [`Ring::is_abandoned`] detects the gap once another thread has the
//! lane. No thread ever waits; a record that finds no room is counted.
//!
//! In the recording of a flight recorder a ring is overwritten, and the recorder gives no room
//! back:
//! ```text
//!   T2 one lap before, is it committed?         O1 ring[r].commit -> lap of r?    (acquire, T6)
//!      else an interrupted caller of this       O2 ring[r].payload -> copy        (relaxed)
//!      very thread will fill it in: full        O3 fence                          (acquire, T4)
//!   T4 and a fence           (release)          O4 head - r > length: overwritten
//! ```
//! `tail` then holds the first record of the lane that belongs to this thread, because an earlier
//! thread may have died before it filled in what it took.

mod claim;
mod copy;
mod oldest;
mod own_ring;
mod prefetch;
mod record;
mod reserved_record;
mod ring;
mod rings;
mod room;

pub(crate) use claim::should_prepare_lanes;
pub use claim::{LANES_AHEAD, LaneRequest, Pool, give_back};
pub use copy::{Before, Copied, MAX_WORDS, Word};
pub(crate) use own_ring::{OwnRing, RingMark};
pub use record::{
    HELD_BY_COROUTINE, HELD_BY_THREAD, HELD_BY_UNKNOWN, HELD_SHARED, Payload, ThreadEventKind,
};
pub use reserved_record::ReservedRecord;
pub use ring::{RecordState, Ring};
pub use room::Room;
