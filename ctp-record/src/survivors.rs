//! Processes of the program that outlive it: they still hold the memory, and are no longer read.

use std::fs;
use std::path::Path;

/// Living processes that were started with this socket in their environment: (id, name).
pub fn of(socket: &Path) -> Vec<(u32, String)> {
    let mut wanted = b"CTP_SOCK_PATH=".to_vec();
    wanted.extend_from_slice(socket.as_os_str().as_encoded_bytes());
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| has_in_environment(*pid, &wanted))
        .map(|pid| (pid, name_of(pid)))
        .collect()
}

fn has_in_environment(pid: u32, wanted: &[u8]) -> bool {
    fs::read(format!("/proc/{pid}/environ"))
        .is_ok_and(|text| text.split(|&byte| byte == 0).any(|entry| entry == wanted))
}

fn name_of(pid: u32) -> String {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    name.trim_end().escape_default().to_string()
}
