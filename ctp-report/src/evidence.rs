//! What speaks for a verdict or explains it: records, blockers, wakers, observations. Shared by findings and views.

pub mod blocker_text;
pub mod blockers;
pub mod busy_threads;
pub mod last_waker;
pub mod missing_wakes;
pub mod observations;
pub mod proof;
pub mod resource;
