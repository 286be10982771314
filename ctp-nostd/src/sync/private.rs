//! Words of a program that no other process reads: those of `core` even under the model checker.

#[cfg(target_has_atomic = "32")]
pub(crate) use core::sync::atomic::AtomicU32;

#[cfg(not(target_has_atomic = "32"))]
pub(crate) use super::locked::AtomicU32;
pub(crate) use super::word::PrivateU64 as AtomicU64;
