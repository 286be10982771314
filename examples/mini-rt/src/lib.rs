//! mini-rt
