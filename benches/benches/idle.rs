//! Measures the processor time and the memory of the recorder while 100 000 coroutines wait and nothing happens,
//! without `--stuck-after`, and with it in each mode.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use ctp_benches::usage::processor_time_of;
use ctp_benches::{recorder, this_program};
use ctp_nostd::{Task, Wait};

const COROUTINES: u32 = 100_000;
/// As long as the period in which the recorder scans all stations.
const SECONDS: u64 = 20;
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
    let before = processor_time_of(child.id());
    std::thread::sleep(Duration::from_secs(SECONDS));
    let spent = processor_time_of(child.id()) - before;
    println!(
        "{COROUTINES} idle coroutines, {SECONDS} s{}: recorder used {:.2} % of a core",
        flags
            .iter()
            .map(|flag| format!(" {flag}"))
            .collect::<String>(),
        spent.as_secs_f64() / SECONDS as f64 * 100.0
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

/// The value in this line of `/proc/PID/status`, in KiB.
fn memory_kib(proc: &Path, name: &str) -> String {
    let status = std::fs::read_to_string(proc.join("status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.unwrap_or("?")
        .trim()
        .trim_end_matches(" kB")
        .to_owned()
}
