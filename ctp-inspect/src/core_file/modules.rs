//! The files with code that the process had mapped, for the trace.

use std::path::PathBuf;

use ctp_trace::record::{Module, ProcessId};

use crate::core_file::{CoreFile, files};
use crate::target::Target as _;

impl CoreFile {
    /// The files with code, each with the path at which it is read. For an executable that has moved since the core
    /// file was written, this is the new path.
    pub fn modules(&self, process: ProcessId) -> Vec<Module> {
        let mappings = self.mappings.iter();
        let code = mappings.filter(|mapping| mapping.is_executable && !mapping.path.is_empty());
        code.map(|mapping| Module {
            process,
            start: mapping.start,
            end: mapping.end,
            file_offset: mapping.file_offset,
            path: absolute(self.readable_path(mapping)),
            build_id: self.files.build_id(&mapping.path).to_vec(),
        })
        .collect()
    }
}

/// Makes a path absolute, because the trace may be read in another directory. Names in brackets, such as `[vdso]`, are
/// not paths.
fn absolute(path: Vec<u8>) -> Vec<u8> {
    if path.starts_with(b"[") {
        return path;
    }
    let absolute = std::path::absolute(files::path(&path));
    let absolute = absolute.map(PathBuf::into_os_string);
    absolute.map_or(path, |absolute| absolute.into_encoded_bytes())
}
