//! An event, from the call to the doorbell. `fast_path.rs` explains the steps E1 to E6.
//!
//! ```text
//!   handle/coroutine.rs               suspend(): what the coroutine waits for
//!   platform/attached.rs              is the coroutine recorded?
//!   event/fast_path.rs                does a filter keep the event? E1 to E6 call the files below
//!   event/sites.rs                    the site of the line that waits
//!   event/lane_record.rs              E2: which ring belongs to this thread?
//!   protocol/lane/own_ring.rs         E2: that ring, from a cache
//!   protocol/lane/room.rs             E2: takes a position in the lane
//!   protocol/lane/reserved_record.rs  E4: writes the record there, and commits it
//! ```
//! E4 also writes the slot (`protocol/slot.rs`), E5 updates aggregates (`protocol/aggregate.rs`), E6
//! rings (`protocol/doorbell.rs`). Any unusual condition falls through to `slow_path.rs`, where a
//! thread requests its lane (`thread_lane.rs`). `switch.rs` is the fast path of two events at the
//! same time.

pub(crate) mod announce;
mod current;
mod fast_path;
mod lane_record;
mod payload;
mod sites;
mod slow_path;
mod station_handle;
mod switch;
mod thread_lane;

pub(crate) use current::CurrentCoroutine;
pub(crate) use payload::EventPayload;
pub(crate) use station_handle::StationHandle;
pub(crate) use thread_lane::laneless_word;
