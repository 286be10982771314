//! [`Usage`]: the processor time, elapsed time and memory that a command used.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use rustix::param::clock_ticks_per_second;

/// The processor time, elapsed time and peak memory of a process.
#[derive(Clone, Copy, Debug, Default)]
pub struct Usage {
    /// Seconds of processor time, of all threads.
    pub processor_seconds: f64,
    /// Seconds from the start to the end, measured by a clock.
    pub elapsed_seconds: f64,
    /// The most memory at a time, in KiB.
    pub peak_kib: u64,
}

impl Usage {
    /// Runs a command to its end, and returns its usage: that of the last sample, at most 2 ms before the end.
    pub fn measure(command: &mut Command) -> Self {
        let began = Instant::now();
        let mut child = command.spawn().expect("can run the program");
        let mut usage = Usage::default();
        while is_running(&mut child) {
            usage = Usage::so_far(child.id()).unwrap_or(usage);
            std::thread::sleep(Duration::from_millis(2));
        }
        usage.elapsed_seconds = began.elapsed().as_secs_f64();
        usage
    }

    /// The usage so far. `None` once the process is a zombie.
    fn so_far(pid: u32) -> Option<Self> {
        let proc = PathBuf::from(format!("/proc/{pid}"));
        let status = fs::read_to_string(proc.join("status")).ok()?;
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:"))?;
        Some(Usage {
            processor_seconds: processor_seconds(&fs::read_to_string(proc.join("stat")).ok()?)?,
            peak_kib: line.trim().trim_end_matches(" kB").parse().ok()?,
            ..Usage::default()
        })
    }
}

/// The processor time of all threads of a process, also of those that have ended, according to `/proc/PID/stat`
/// (`proc_pid_stat(5)`).
fn processor_seconds(stat: &str) -> Option<f64> {
    let (_, behind_name) = stat.rsplit_once(')')?;
    let mut times = behind_name.split_whitespace().skip(USER_TIME - STATE);
    let [user, system] = [times.next()?, times.next()?].map(str::parse::<u64>);
    Some((user.ok()? + system.ok()?) as f64 / clock_ticks_per_second() as f64)
}

/// The numbers of the fields of `/proc/PID/stat`, from 1.
const STATE: usize = 3;
const USER_TIME: usize = 14;

/// The processor time of all threads of a process that runs.
pub fn processor_time_of(pid: u32) -> Duration {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).expect("the process runs");
    let ns = threads.flatten().filter_map(|thread| {
        let stat = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        stat.split(' ').next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(ns.sum())
}

fn is_running(child: &mut Child) -> bool {
    match child.try_wait().expect("can be waited for") {
        None => true,
        Some(status) => {
            assert!(status.success(), "{status}");
            false
        }
    }
}
