//! Reads the tasks and threads of a process, or of a core file, from outside.
//!
//! The process needs no probe. It is neither stopped nor changed: everything comes from its memory and
//! from `/proc`.
//!
//! ```no_run
//! use ctp_inspect::{ProcessTarget, Target};
//!
//! let target = ProcessTarget::open(4127)?;
//! let writable = target.mappings().iter().filter(|mapping| mapping.is_writable);
//! println!("{} bytes can be searched", writable.map(|mapping| mapping.len()).sum::<u64>());
//! # Ok::<(), ctp_inspect::TargetError>(())
//! ```

#![forbid(unsafe_code)]

pub mod awaits;
pub mod finder;
pub mod modules;
pub mod scan;
pub mod stack_ranges;
pub mod stacks;
pub mod target;
pub mod threads;
pub mod tokio;
pub mod types;

pub use target::denial::Denial;
pub use target::error::TargetError;
pub use target::image::MemoryImage;
pub use target::mapping::Mapping;
pub use target::process::ProcessTarget;
pub use target::{EpollInterest, StackPointer, Target};
