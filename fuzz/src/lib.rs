//! What the fuzzers feed with hostile bytes. A plain function each, so that the committed corpus
//! is replayed without a fuzzer too (`tests/corpus.rs`).

mod elf;
mod flight;
#[path = "../../ctp-trace/tests/roundtrip/frames.rs"]
#[allow(dead_code, reason = "frames are put together here, not taken apart")]
mod frames;
mod mappings;
mod memory;
mod program;
#[path = "../../ctp-trace/tests/roundtrip/properties.rs"]
#[allow(dead_code, reason = "cut traces are the property tests' own")]
mod properties;
mod region;
mod report;
mod script;
mod separate;
mod stage;
mod trace;

pub use elf::elf_lookup;
pub use flight::flight;
pub use mappings::parse_mappings;
pub use region::region;
pub use report::report;
pub use separate::{functions_of, separate_debug};
pub use trace::read_trace;
