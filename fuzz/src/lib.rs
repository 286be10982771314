//! The fuzz targets. Each is a plain function over bytes, so `tests/corpus.rs` replays the committed
//! corpus without a fuzzer.

mod dump;
mod elf;
mod flight;
#[path = "../../ctp-trace/tests/roundtrip/frames.rs"]
#[allow(dead_code, reason = "frames are built here, not split")]
mod frames;
mod mappings;
mod memory;
mod program;
#[path = "../../ctp-trace/tests/roundtrip/properties.rs"]
#[allow(dead_code, reason = "only the property tests cut traces")]
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
