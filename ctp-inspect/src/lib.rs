//! Reads the tasks and threads of a process, or of a core file, from outside.
//!
//! The process needs no probe. It is neither stopped nor changed: everything comes from its memory and from `/proc`.
//! Only on request, running threads are stopped for microseconds.
//!
//! ```no_run
//! use ctp_inspect::{Inspector, ProcessTarget, TraceIds};
//! use ctp_trace::record::ProcessId;
//!
//! let target = ProcessTarget::open(4127)?;
//! let mut inspector = Inspector::new(Box::new(target), ProcessId(1));
//! let mut ids = TraceIds::default();
//! for record in inspector.inspect(&mut ids)? {
//!     println!("{record:?}");
//! }
//! # Ok::<(), ctp_inspect::TargetError>(())
//! ```

pub mod async_task;
pub mod awaits;
pub mod boxed;
pub mod core_file;
pub mod coroutine_stacks;
pub mod cpp;
pub mod crate_version;
pub mod finder;
pub mod function_runs;
pub mod glibc_heap;
pub mod inspector;
pub mod leaf_functions;
pub mod modules;
pub mod references;
pub mod scan;
pub mod stack_ranges;
pub mod stacks;
pub mod target;
pub mod threads;
pub mod tokio;
pub mod types;

pub use core_file::CoreFile;
pub use coroutine_stacks::{CoroutineStacks, Position, ReadStack};
pub use inspector::{Inspector, TraceIds};
pub use leaf_functions::{ChainPlace, LeafFunctions};
pub use symbolize::SearchPaths;
pub use target::denial::Denial;
pub use target::error::TargetError;
pub use target::image::MemoryImage;
pub use target::mapping::Mapping;
pub use target::process::ProcessTarget;
pub use target::{EpollInterest, StackPointer, Target};
