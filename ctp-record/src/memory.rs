//! The shared memories of a recording, and the clock of their programs.

pub mod calibrate;
pub mod capacity;
pub mod clock;
pub mod drainer;
pub mod mapped;
pub mod memories;
pub mod shm;
