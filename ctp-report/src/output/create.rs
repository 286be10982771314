//! Creates files to write, but not where another user leads.

use std::fs::File;
use std::io;
use std::path::Path;

use ctp_trace::output::{Earlier, Found, resolve};

/// Creates this file, or empties it.
///
/// # Errors
/// Those of the kernel, and `PermissionDenied` where another user may have planted what is there.
pub fn create(path: &Path) -> io::Result<File> {
    match resolve(path, Earlier::Overwritten)? {
        Found::File(name) => name.create(),
        Found::Existing(existing) => {
            let file = existing.open()?;
            if existing.is_file()? {
                file.set_len(0)?;
            }
            Ok(file)
        }
    }
}
