//! What there is to say of a trace, one file for each thing: who is stuck and why, where the time
//! went, what went wrong, and what is missing. They may ask each other.

pub mod broken;
pub mod busy;
pub mod causes;
pub mod crash;
pub mod culprits;
pub mod deadlocks;
pub mod ending;
pub mod fold;
pub mod gate;
pub mod groups;
pub mod histogram;
pub mod keepers;
pub mod last_waker;
pub mod last_words;
pub mod leaks;
pub mod lints;
pub mod looks;
pub mod notes;
pub mod parents;
pub mod proof;
pub mod sites;
pub mod tree;
pub mod usual;
pub mod waits;
pub mod why;
