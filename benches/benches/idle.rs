//! Measures the processor time and the memory of the recorder while 100 000 coroutines wait and nothing happens,
//! without `--stuck-after`, and with it in each mode.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use ctp_benches::{recorder, this_program};
use ctp_nostd::{Task, Wait};

const COROUTINES: u32 = 100_000;
const SECONDS: u64 = 5;
const SETTLE_SECONDS: u64 = 4;

// CT-10
fn main() {
    if std::env::args().any(|argument| argument == "--as=target") {
        return target();
    }
    let Some(recorder) = recorder() else {
        return;
    };
    for flags in [
        &[][..],
        &["--stuck-after", "2s"],
        &["--summary", "--stuck-after", "2s"],
        &["--flight-recorder", "--stuck-after", "2s"],
    ] {
        measure(&recorder, flags);
    }
}

fn measure(recorder: &Path, flags: &[&str]) {
    let me = this_program();
    let capacity = (COROUTINES + 1).to_string();
    let mut child = Command::new(recorder)
        .args(["-q", "-o", "/dev/null", "-n", &capacity])
        .args(flags)
        .arg("--")
        .arg(&me)
        .arg("--as=target")
        .stdout(Stdio::null())
        .spawn()
        .expect("can run the recorder");
    let proc = PathBuf::from(format!("/proc/{}", child.id()));
    // After this pause all births are drained, all coroutines were checked once, and nothing happens.
    std::thread::sleep(Duration::from_secs(SETTLE_SECONDS));
    let before = cpu_ticks(&proc);
    std::thread::sleep(Duration::from_secs(SECONDS));
    let spent_ticks = cpu_ticks(&proc) - before;
    println!(
        "{COROUTINES} idle coroutines, {SECONDS} s{}: recorder used {:.2} % of a core",
        flags
            .iter()
            .map(|flag| format!(" {flag}"))
            .collect::<String>(),
        spent_ticks as f64 / SECONDS as f64
    );
    println!(
        "recorder's own memory: {} KiB (anonymous), {} KiB shared with the program",
        memory_kib(&proc, "RssAnon:"),
        memory_kib(&proc, "RssShmem:")
    );
    child.wait().expect("ends by itself");
}

fn target() {
    ctp_nostd::attach();
    for _ in 0..COROUTINES {
        let task = Task::born("idle");
        task.run();
        task.suspend(Wait::user(1));
        std::mem::forget(task);
    }
    std::thread::sleep(Duration::from_secs(SETTLE_SECONDS + SECONDS + 1));
}

/// User and system time in ticks of 10 ms, so that ticks in a second are percent of a core.
fn cpu_ticks(proc: &Path) -> u64 {
    let stat = std::fs::read_to_string(proc.join("stat")).expect("the recorder runs");
    let fields: Vec<&str> = stat
        .rsplit(')')
        .next()
        .unwrap_or("")
        .split_whitespace()
        .collect();
    fields[11].parse::<u64>().expect("utime") + fields[12].parse::<u64>().expect("stime")
}

/// The value in this line of `/proc/PID/status`, in KiB.
fn memory_kib(proc: &Path, name: &str) -> String {
    let status = std::fs::read_to_string(proc.join("status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.unwrap_or("?")
        .trim()
        .trim_end_matches(" kB")
        .to_owned()
}
