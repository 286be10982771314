//! `ctp-record -p` and `ctp-report` on a tokio program that links no probe.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use serde_json::Value;
use tempfile::{TempDir, tempdir};

use crate::support::{program, report, report_json};

/// The program, running. It is killed when this is dropped.
pub struct Program(pub Child);

impl Program {
    /// Starts the program and waits until all tasks wait.
    pub fn start(mode: &str) -> Self {
        Self::start_by(Command::new(built()), mode)
    }

    pub fn start_by(mut command: Command, mode: &str) -> Self {
        command.args([mode, "5"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let mut line = String::new();
        let output = child.stdout.as_mut().expect("a pipe");
        BufReader::new(output)
            .read_line(&mut line)
            .expect("the program answers");
        assert_eq!(line, "ready\n");
        Program(child)
    }

    /// The lines at which tasks await, by their kinds, as the program says.
    fn lines(&mut self) -> BTreeMap<String, u32> {
        let input = self.0.stdin.as_mut().expect("a pipe");
        writeln!(input, "lines").expect("the program reads");
        let output = BufReader::new(self.0.stdout.as_mut().expect("a pipe")).lines();
        let lines = output.map(|line| line.expect("the program answers"));
        let lines = lines.take_while(|line| line != "end").map(|line| {
            let (kind, line) = line.split_once(' ').expect("two words");
            (kind.to_owned(), line.parse().expect("a number"))
        });
        lines.collect()
    }

    /// Inspects the program. Returns the directory with the trace, and what the recorder prints.
    fn inspect(&self) -> (TempDir, String) {
        let directory = tempdir().expect("room");
        let printed = inspect(&directory, &["-p", &self.0.id().to_string()]);
        (directory, printed)
    }
}

/// Runs the recorder. Returns what it prints.
pub fn inspect(directory: &TempDir, arguments: &[&str]) -> String {
    let mut recorder = Command::new(program("ctp-record"));
    let recorder = recorder.args(arguments).current_dir(directory.path());
    let output = recorder.output().expect("the recorder runs");
    let printed = String::from_utf8(output.stderr).expect("text");
    assert!(output.status.success(), "{printed}");
    printed
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("unprobed")
}

/// The path of the program, which is a workspace of its own and is built first.
pub fn built() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--quiet", "--locked"]);
        cargo.current_dir(folder()).args(["--target-dir", "target"]);
        assert!(cargo.status().expect("cargo runs").success());
        folder().join("target/debug/unprobed")
    })
}

/// Verdict, reason and number of the tasks that are not waiting.
pub fn findings(json: &Value) -> Vec<(String, String, u64)> {
    let tasks = json["tasks"].as_array().expect("tasks").iter();
    let word = |value: &Value| value.as_str().expect("a word").to_owned();
    let tasks = tasks.filter(|task| task["kind"] != "thread" && task["verdict"] != "WAITING");
    tasks
        .map(|task| {
            let count = task["count"].as_u64().expect("a number");
            (word(&task["verdict"]), word(&task["reason"]), count)
        })
        .collect()
}

pub fn finding(verdict: &str, reason: &str, count: u64) -> (String, String, u64) {
    (verdict.to_owned(), reason.to_owned(), count)
}

// CT-14, CT-15
#[test]
fn faults_of_an_unmodified_program_are_named() {
    let (directory, printed) = Program::start("all").inspect();
    assert!(
        printed.contains("7 tasks look stuck, 1 thread is blocked"),
        "{printed}"
    );
    let json = report_json(directory.path(), &["--stuck"]);
    let expected = [
        finding("DEADLOCK", "deadlock", 2),
        finding("STUCK?", "no-waker", 5),
        finding("BUSY", "in-call", 1),
    ];
    assert_eq!(findings(&json), expected, "{json}");
    let status = report(directory.path(), &["--stuck", "--fail"]).status;
    assert_eq!(status.code(), Some(3));
}

#[test]
fn branches_have_lines_and_the_call_of_the_macro() {
    let mut program = Program::start("branches");
    let lines = program.lines();
    let (directory, _) = program.inspect();
    let json = report_json(directory.path(), &["--stuck"]);
    let tasks = json["tasks"].as_array().expect("tasks").iter();
    let tasks = tasks.filter(|task| task["reason"] == "leaf-without-waker");
    let mut found = tasks.map(|task| {
        assert_eq!(task["count"], 5, "{task}");
        let frames = task["frames"].as_array().expect("frames").iter();
        let own = frames.filter(|frame| !frame["line"].is_null()).rev();
        own.map(|frame| frame["line"].as_u64().expect("a number") as u32)
            .collect::<Vec<_>>()
    });
    let mut found: Vec<_> = found.by_ref().collect();
    found.sort_unstable();
    let expected = ["select", "join"].map(|kind| vec![lines[kind], lines["request"]]);
    assert_eq!(found, expected, "{json}");
    let page = report(directory.path(), &["--stuck"]).stdout;
    let page = String::from_utf8(page).expect("text");
    for kind in ["select", "join"] {
        let place = format!("src/branches.rs:{}", lines[kind]);
        assert!(page.contains(&place), "{page}");
    }
    let branch = format!("request src/branches.rs:{}  ->", lines["request"]);
    assert_eq!(page.matches(&branch).count(), 2, "{page}");
    assert_eq!(page.matches(": 5 Notify objects").count(), 2, "{page}");
}

/// The names of the functions of tasks with this verdict, with their number.
fn named(json: &Value, verdict: &str, reason: &str) -> BTreeMap<String, u64> {
    let tasks = json["tasks"].as_array().expect("tasks").iter();
    let tasks = tasks.filter(|task| task["kind"] == "tokio");
    let tasks = tasks.filter(|task| task["verdict"] == verdict && task["reason"] == reason);
    let named = tasks.map(|task| {
        let name = task["name"].as_str().expect("a name");
        let name = name.rsplit("::").next().expect("a name");
        (name.to_owned(), task["count"].as_u64().expect("a number"))
    });
    named.collect()
}

#[test]
fn tasks_that_wait_for_themselves_are_named() {
    let (directory, _) = Program::start("own").inspect();
    let json = report_json(directory.path(), &["--stuck"]);
    let of = |names: &[&str]| -> BTreeMap<String, u64> {
        names.iter().map(|name| ((*name).to_owned(), 5)).collect()
    };
    let mut found = named(&json, "STUCK?", "self-waker");
    // The bytes of a oneshot's sender may lie on a stack too, as those of a sender that was moved there.
    let oneshots = found.remove("own_oneshot").unwrap_or(0);
    let own = ["given_notify", "own_mpsc", "own_notify"];
    assert_eq!(found, of(&own), "{json}");
    let mut waiting = named(&json, "WAITING", "waits");
    let others = waiting.remove("own_oneshot").unwrap_or(0);
    // A parameter and a captured variable leave their bytes behind when they are moved.
    let shared = ["given_oneshot", "moved_oneshot", "shared_mpsc", "start"];
    assert_eq!(waiting, of(&shared), "{json}");
    assert_eq!(oneshots + others, 5, "{json}");
}

// CT-15
#[test]
fn senders_that_no_reader_makes_room_for_are_named() {
    let (directory, _) = Program::start("room").inspect();
    let json = report_json(directory.path(), &["--stuck"]);
    let of = |names: &[(&str, u64)]| -> BTreeMap<String, u64> {
        let named = names.iter();
        named
            .map(|(name, count)| ((*name).to_owned(), *count))
            .collect()
    };
    let mut deadlock = named(&json, "STUCK?", "deadlock");
    let mut behind = named(&json, "STUCK?", "behind");
    // One of three children is in the cycle with their parent, or all are.
    let children = [&mut deadlock, &mut behind].map(|found| found.remove("find_links"));
    let children: u64 = children.into_iter().flatten().sum();
    assert_eq!(children, 3, "{json}");
    let cycles = of(&[("crawl", 1), ("publish", 1), ("relay", 2)]);
    assert_eq!((deadlock, behind), (cycles, of(&[])), "{json}");
    let healthy = named(&json, "WAITING", "waits");
    let expected = of(&[("produce", 2), ("read_elsewhere", 1), ("store", 2)]);
    assert_eq!(healthy, expected, "{json}");
    let page = report(directory.path(), &["--stuck"]).stdout;
    let page = String::from_utf8(page).expect("text");
    assert!(page.contains("(receiver `events`, :"), "{page}");
}

#[test]
fn overdue_timers_in_branches_are_named() {
    let (directory, _) = Program::start("late").inspect();
    let json = report_json(directory.path(), &["--stuck", "--threshold", "500ms"]);
    let late = [("limited".to_owned(), 5), ("waiting".to_owned(), 5)];
    assert_eq!(
        named(&json, "STUCK?", "overdue"),
        BTreeMap::from(late),
        "{json}"
    );
    let in_time = BTreeMap::from([("waiting".to_owned(), 5)]);
    assert_eq!(named(&json, "WAITING", "waits"), in_time, "{json}");
}

// CT-18
#[test]
fn futures_given_to_block_on_have_lines() {
    let mut program = Program::start("roots");
    let lines = program.lines();
    let (directory, _) = program.inspect();
    let json = report_json(directory.path(), &["--stuck"]);
    let tasks = json["tasks"].as_array().expect("tasks").iter();
    let roots = tasks.filter(|task| task["kind"] == "future");
    let found: BTreeMap<String, u32> = roots.filter_map(awaiting_function).collect();
    assert_eq!(found, lines, "{json}");
    // The future holds a lock for which a task waits, whose end the future awaits.
    let expected = [
        finding("DEADLOCK", "deadlock", 1),
        finding("DEADLOCK", "deadlock", 1),
    ];
    assert_eq!(findings(&json), expected, "{json}");
}

/// The innermost function of the program itself, and the line at which it awaits.
fn awaiting_function(task: &Value) -> Option<(String, u32)> {
    let mut frames = task["frames"].as_array()?.iter();
    let own = frames.find(|frame| {
        let file = frame["file"].as_str().unwrap_or_default();
        file.ends_with("src/roots.rs")
    })?;
    let function = own["function"].as_str()?.rsplit("::").next()?;
    Some((function.to_owned(), own["line"].as_u64()? as u32))
}

// CT-18
#[test]
fn tasks_of_a_stopped_program_are_not_stuck() {
    let program = Program::start("load");
    let stop = Command::new("kill")
        .args(["-STOP", &program.0.id().to_string()])
        .status();
    assert!(stop.expect("kill runs").success());
    std::thread::sleep(std::time::Duration::from_secs(2));
    let (directory, _) = program.inspect();
    let json = report_json(directory.path(), &["--stuck"]);
    assert_eq!(findings(&json), [], "{json}");
    let page = report(directory.path(), &["--stuck"]).stdout;
    let page = String::from_utf8(page).expect("text");
    assert!(page.contains("The process is stopped"), "{page}");
}

#[test]
fn healthy_tasks_of_an_unmodified_program_wait() {
    let (directory, printed) = Program::start("waits").inspect();
    assert!(printed.contains("nothing looks stuck"), "{printed}");
    let json = report_json(directory.path(), &["--stuck"]);
    assert_eq!(findings(&json), [], "{json}");
}

// STB-05, STB-21, STB-25
#[test]
fn the_stack_of_a_blocked_worker_has_lines() {
    let (directory, _) = Program::start("blocked").inspect();
    let json = report_json(directory.path(), &["--stacks"]);
    let tasks = json["tasks"].as_array().expect("tasks").iter();
    let busy = tasks.filter(|task| task["kind"] == "thread" && task["verdict"] == "BUSY");
    let [busy] = busy.collect::<Vec<_>>()[..] else {
        panic!("one thread is busy: {json}")
    };
    assert_eq!(busy["call"], "clock_nanosleep");
    let frames = busy["frames"].as_array().expect("frames");
    let throttle = frames.iter().find(|frame| {
        let function = frame["function"].as_str().unwrap_or_default();
        function.ends_with("faults::throttle") || function.ends_with("faults::export")
    });
    let throttle = throttle.unwrap_or_else(|| panic!("{json}"));
    let file = throttle["file"].as_str().expect("a file");
    assert!(file.ends_with("src/faults.rs"), "{file}");
    let page = report(directory.path(), &["--stacks"]).stdout;
    let page = String::from_utf8(page).expect("text");
    assert!(
        page.lines().any(|line| line.starts_with("   #0  ")),
        "{page}"
    );
}

/// The page of a program with all faults, from the program's own folder.
pub fn page() -> String {
    let (directory, _) = Program::start("all").inspect();
    let trace = directory.path().join("ctp.data");
    let trace = trace.to_str().expect("text");
    let page = report(&folder(), &["-i", trace, "--stuck"]).stdout;
    String::from_utf8(page).expect("text")
}
