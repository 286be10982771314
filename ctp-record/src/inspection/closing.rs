//! The lines that are printed before and after the inspections.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use ctp_trace::escape::escaped_bytes;
use ctp_trace::record::Nanos;

use super::account::{Account, Summary};
use crate::cli::config::{HowLong, Inspect};
use crate::cli::words::{counted, grouped, seconds, shell_word, shown, size};

/// Maximum number of inspections for which each time is printed.
const MAX_TIMES: usize = 4;

/// Says what will be done with these processes. `records`: some of them are recorded, too.
pub fn opening(names: &[String], inspect: &Inspect, records: bool) -> String {
    let every = seconds(inspect.every.as_nanos() as u64);
    let inspections = match inspect.how_long {
        HowLong::Inspections(1) => "1 inspection".to_owned(),
        HowLong::Inspections(count) => format!("{count} inspections, {every} apart"),
        HowLong::Time(time) => {
            let time = seconds(time.as_nanos() as u64);
            format!("inspections for {time}, {every} apart")
        }
    };
    let stopped = match names.len() {
        _ if inspect.interrupts => "running threads are stopped for microseconds",
        1 => "the process is not stopped",
        _ => "the processes are not stopped",
    };
    let recording = match inspect.how_long {
        _ if !records => "",
        HowLong::Inspections(_) => "; recording until Ctrl-C",
        HowLong::Time(_) => "; recording meanwhile",
    };
    format!(
        "ctp-record: inspecting {}: {inspections}{recording}; {stopped}\n",
        names.join(", ")
    )
}

/// Says what will be done with a core file.
pub fn opening_of_core(file: &Path, pid: u32, program: &str) -> String {
    let file = shown(file);
    format!("ctp-record: inspecting {file}, the core file of {pid} ({program})\n")
}

/// The file name of a program, safe to print.
pub fn program(path: Option<&OsString>) -> String {
    let name = path.and_then(|path| Path::new(path).file_name());
    match name {
        Some(name) => escaped_bytes(name.as_bytes()).into_owned(),
        None => "a program without a name".to_owned(),
    }
}

/// What was found. `bytes` is the size of the trace; `None` if there is no file of this trace.
pub fn text(account: &Account, output: &Path, bytes: Option<u64>) -> String {
    let summary = account.summary();
    let mut lines = lines_of(&summary);
    let is_empty = summary.tasks == 0 && summary.threads == 0;
    lines.push(match bytes {
        None if is_empty => format!(
            "found no task and no thread; {} is as before",
            shown(output)
        ),
        None => format!("{}; {}", shown(output), stuck(&summary)),
        Some(bytes) => format!(
            "wrote {} ({}); {}; next: {}",
            shown(output),
            size(bytes),
            stuck(&summary),
            next(&summary, output)
        ),
    });
    lines
        .iter()
        .map(|line| format!("ctp-record: {line}\n"))
        .collect()
}

/// What the inspections found in addition to what is recorded.
pub fn found_lines(account: &Account) -> Vec<String> {
    let summary = account.summary();
    let mut lines = lines_of(&summary);
    match summary.stuck {
        0 => {}
        1 => lines[0].push_str("; 1 task that is not recorded looks stuck"),
        many => lines[0].push_str(&format!(
            "; {} tasks that are not recorded look stuck",
            grouped(many as u64)
        )),
    }
    lines
}

fn lines_of(summary: &Summary) -> Vec<String> {
    let mut lines = vec![found(summary)];
    if !summary.is_core_file {
        lines[0].push_str(&format!("; inspections took {}", took(&summary.took)));
    }
    lines.extend(summary.gaps.iter().cloned());
    lines
}

/// `tokio 1.54.1, 2 runtimes, 10 231 tasks; 16 threads`
fn found(summary: &Summary) -> String {
    let runtimes = summary.runtimes.iter().map(|(name, count)| match count {
        1 => name.clone(),
        _ => format!("{name}, {count} runtimes"),
    });
    let mut runtimes: Vec<String> = runtimes.collect();
    if runtimes.is_empty() {
        runtimes.push("no known runtime".to_owned());
    }
    format!(
        "{}, {}; {}",
        runtimes.join(", "),
        counted(summary.tasks as u64, "task"),
        counted(summary.threads as u64, "thread")
    )
}

/// `38 ms and 31 ms`
fn took(took: &[Nanos]) -> String {
    let longest = took.iter().map(|time| time.0).max().unwrap_or_default();
    match took {
        [] => "no time".to_owned(),
        all if MAX_TIMES < all.len() => format!("at most {}", seconds(longest)),
        all => {
            let times: Vec<String> = all.iter().map(|time| seconds(time.0)).collect();
            times.join(" and ")
        }
    }
}

fn stuck(summary: &Summary) -> String {
    let blocked = match summary.blocked {
        0 => String::new(),
        1 => ", 1 thread is blocked in a call".to_owned(),
        many => format!(", {} threads are blocked in calls", grouped(many as u64)),
    };
    let stuck = match (summary.stuck, summary.unclear) {
        (0, 0) => "nothing looks stuck".to_owned(),
        (0, unclear) => format!(
            "nothing looks stuck, but {} cannot be judged",
            counted(unclear as u64, "task")
        ),
        (1, _) => "1 task looks stuck".to_owned(),
        (many, _) => format!("{} tasks look stuck", grouped(many as u64)),
    };
    format!("{stuck}{blocked}")
}

/// The command that shows what was found.
fn next(summary: &Summary, output: &Path) -> String {
    let input = match output.as_os_str() {
        name if name == "ctp.data" => String::new(),
        _ => format!(" -i {}", shell_word(output)),
    };
    let view = match summary.stuck + summary.blocked {
        0 => "--stacks",
        _ => "--stuck",
    };
    format!("ctp-report{input} {view}")
}
