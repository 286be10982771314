//! The protocols between probe and recorder. Each module has both halves of a protocol: what the probe does, and
//! what the recorder does.

pub mod aggregate;
pub mod attach_request;
pub mod audit;
pub mod branches;
pub mod chain;
pub mod clock;
pub mod control;
pub mod create;
pub mod dialect;
pub mod doorbell;
pub mod freeze;
pub mod half_written;
pub mod history;
// Counts clones of wakers in words of 64 bits, which the targets of the feature `linux` have.
#[cfg(all(target_has_atomic = "64", not(ctp_split_words)))]
pub mod holders;
pub mod inspect;
pub mod intern;
pub mod lane;
pub mod live_wakers;
pub mod slot;
pub mod station_copy;
pub mod suspended_stack;
pub(crate) mod wait;
pub mod wake;
