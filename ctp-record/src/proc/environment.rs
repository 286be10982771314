//! The initial environment of a process.

use std::fs::File;
use std::io::{self, Read as _};

/// The kernel's limit for the start of a process. A process can make its environment look larger.
const MAX_BYTES: u64 = 8 << 20;

/// The entries of a process's environment, each with a zero byte at the end, up to 8 MiB.
///
/// # Errors
/// The process does not exist or belongs to another user.
pub fn of(pid: u32) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = File::open(format!("/proc/{pid}/environ"))?;
    file.take(MAX_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The value of this variable.
pub fn value<'e>(environment: &'e [u8], name: &str) -> Option<&'e [u8]> {
    let mut entries = environment.split(|&byte| byte == 0);
    entries.find_map(|entry| entry.strip_prefix(name.as_bytes())?.strip_prefix(b"="))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_is_found_by_the_whole_name() {
        let environment = b"PATHS=no\0PATH=/bin\0PATH=twice\0";
        assert_eq!(value(environment, "PATH"), Some(&b"/bin"[..]));
        assert_eq!(value(environment, "PAT"), None);
    }
}
