//! The command line of a process.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt as _;

/// The command line of a process; empty if it has ended.
pub fn of(pid: u32) -> Vec<OsString> {
    let text = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words = text
        .strip_suffix(b"\0")
        .unwrap_or(&text)
        .split(|&byte| byte == 0);
    words
        .map(|word| OsString::from_vec(word.to_vec()))
        .collect()
}
