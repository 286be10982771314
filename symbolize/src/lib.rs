//! Turns addresses of a traced process into functions, files and lines.
//!
//! Three calls:
//!
//! ```no_run
//! use symbolize::{Avma, FileOffset, Lookup, Mapping, SourceLine, Symbolizer};
//!
//! // 1. Pass the executable mappings as they were recorded.
//! let mut symbolizer = Symbolizer::new(vec![Mapping {
//!     start: Avma(0x5555_5555_9000),
//!     end: Avma(0x5555_5556_0000),
//!     file_offset: FileOffset(0x4000),
//!     path: b"/usr/bin/app".to_vec(),
//!     build_id: vec![0xab; 20],
//! }]);
//! // 2. Ask for an address: frames, innermost first, or the reason why there are none.
//! match symbolizer.resolve(Avma(0x5555_5555_a2a0), Lookup::ReturnAddress) {
//!     Ok(resolved) => println!("{:?}", resolved.frames),
//!     Err(miss) => println!("{miss}"),
//! }
//! // 3. Ask the other way round: which function contains this source line?
//! let line = SourceLine { file: "src/main.rs".to_owned(), line: 29, column: 0 };
//! println!("{:?}", symbolizer.functions_at(&[line]));
//! ```
//!
//! # Addresses
//!
//! | type | what it is | example |
//! | --- | --- | --- |
//! | [`Avma`] | actual virtual memory address: in the process as it ran | `0x55555555a2a0` |
//! | [`FileOffset`] | position in the ELF file | `0x52a0` |
//! | [`Svma`] | stated virtual memory address: in the ELF file's own tables | `0x62a0` |
//!
//! The recorded mapping turns an [`Avma`] into a [`FileOffset`], and the `PT_LOAD` that covers the offset turns that
//! into a [`Svma`].
//! A return address ([`Lookup::ReturnAddress`]) is looked up one byte earlier, in the call.
//!
//! # Names
//!
//! Names come from DWARF, including inlined functions, and otherwise from the symbol table.
//! Names are demangled (Rust, C++) and [tidied](tidy()): the body of an `async fn` has the name of the function.
//! What is known depends on the debug info of the traced program:
//!
//! | the program has | names are |
//! | --- | --- |
//! | full or limited debug info | functions, also inlined ones, files and lines |
//! | line tables only | the same, but inlined functions have no path: `poll`, or just `async fn` |
//! | a symbol table | functions, not inlined ones |
//! | nothing | exported functions of libraries, else module and offset |
//!
//! # What you provide, and what this crate provides
//!
//! You provide the mappings, taken while the process was alive. You also provide the files, at their recorded paths or
//! elsewhere ([`SearchPaths`]). Debug info may be in the file, in a separate file (found by build id or
//! `.gnu_debuglink`, including parts that `dwz` moved), or split (`.dwo`, `.dwp`).
//!
//! Names are proven, not guessed: a file with another build id, or a file that was replaced in the meantime, is a
//! [`Miss`].
//!
//! [`Symbolizer::can_follow_frame_pointer`] returns whether the frame pointer can be followed at a code address. With
//! this, a chain of callers that was found by frame pointers can be proven.
//!
//! Only regular files are opened, without waiting. The build id is compared first; then the needed parts are read
//! within a memory budget that all files share ([`SearchPaths::with_max_bytes`]). Parts are read and not mapped,
//! because truncating a mapped file kills the process that reads from the mapping.
//!
//! This crate does not read `/proc`, unwind stacks, or use the network.

#![forbid(unsafe_code)]

mod addr;
mod cost;
mod debug_info;
mod demangle;
mod dependency;
mod dwarf;
mod error;
mod file;
mod frame_pointer;
mod line_table;
mod mapping;
mod module;
mod name;
mod named_function;
mod path;
mod search_paths;
mod sections;
mod separate;
mod source_line;
mod split;
mod symbolizer;
mod symtab;
mod tidy;

pub use addr::{Avma, FileOffset, Lookup, Svma};
pub use debug_info::{DebugInfo, DebugReader};
pub use demangle::demangle;
pub use dependency::{is_dependency, is_standard_library, path_in_packages};
pub use error::Miss;
pub use file::budget::Refused;
pub use file::regular::open_regular;
pub use mapping::Mapping;
pub use named_function::{NamedFunction, functions_with};
pub use path::enclosing;
pub use search_paths::SearchPaths;
pub use source_line::{FunctionAt, SourceLine};
pub use symbolizer::{Frame, Resolved, Symbolizer};
pub use tidy::tidy;
