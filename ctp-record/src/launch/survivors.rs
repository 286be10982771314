//! Processes that outlive the program: they still map the memory, which is no longer read.

use std::path::Path;

use ctp_trace::escape::escaped_bytes;

use crate::proc::environment;
use crate::proc::process;

/// Maximum number of lists that are made until two in a row agree.
const TRIES: usize = 4;

/// Living processes that were started with this socket in their environment: (id, name).
///
/// A list may miss a process whose parent ended during the listing. The next list contains this process.
pub fn of(socket: &Path) -> Vec<(u32, String)> {
    let mut requested = b"CTP_SOCK_PATH=".to_vec();
    requested.extend_from_slice(socket.as_os_str().as_encoded_bytes());
    let mut survivors = list(&requested);
    for _ in 1..TRIES {
        let before = std::mem::replace(&mut survivors, list(&requested));
        if before == survivors {
            break;
        }
    }
    survivors
        .into_iter()
        .map(|pid| (pid, escaped_bytes(&process::name_of(pid)).into_owned()))
        .collect()
}

fn list(requested: &[u8]) -> Vec<u32> {
    process::all()
        .filter(|pid| has_in_environment(*pid, requested))
        .collect()
}

fn has_in_environment(pid: u32, requested: &[u8]) -> bool {
    environment::of(pid).is_ok_and(|text| {
        text.split(|&byte| byte == 0)
            .any(|entry| entry == requested)
    })
}
