//! The shared memories of a recording, the drainer thread, and the clock of the programs.

pub mod calibrate;
pub mod capacity;
pub mod clock;
pub mod description;
pub mod drainer;
pub mod mapped;
pub mod memory_set;
pub mod shm;
