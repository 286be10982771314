//! `ctp-report --top` on programs that run meanwhile.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::{TempDir, tempdir};

use crate::support::{program, report, report_json};
use crate::unprobed;

/// What the program says of its tasks.
#[derive(Debug, PartialEq, Eq)]
struct Truth {
    waiting: u64,
    stuck: u64,
    active: u64,
}

/// A program that is recorded while it waits for its user. Both are killed when this is dropped.
struct Recorded {
    directory: TempDir,
    recorder: Child,
    pid: u32,
    truth: Truth,
}

impl Recorded {
    fn start() -> Self {
        let directory = tempdir().expect("room");
        let mut recorder = Command::new(program("ctp-record"));
        recorder.args(["-q", "--"]).arg(program("live_table"));
        recorder
            .args(["20", "4", "5"])
            .current_dir(directory.path());
        recorder.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut recorder = recorder.spawn().expect("the recorder starts");
        let truth = ask(&mut recorder);
        let directory_of_trace = directory.path();
        let pid = until("the trace has a process", || {
            let json = try_top(directory_of_trace, &["--interval", "50ms"])?;
            json["top"]["pids"][0].as_u64()
        });
        Recorded {
            recorder,
            pid: u32::try_from(pid).expect("a pid"),
            truth,
            directory,
        }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The table, once it has as many stuck coroutines as the program says.
    fn table(&self) -> Value {
        until("the stuck tasks are shown", || {
            let json = top(self.path(), &["--interval", "200ms"]);
            (json["top"]["stuck"] == self.truth.stuck).then_some(json)
        })
    }

    /// Kills the recorder or the program, and waits until the recorder has ended.
    fn kill(&mut self, pid: u32) {
        let status = Command::new("kill")
            .args(["-KILL", &pid.to_string()])
            .status();
        assert!(status.expect("kill can be run").success());
        self.recorder.wait().expect("a child");
    }
}

impl Drop for Recorded {
    fn drop(&mut self) {
        let _ = Command::new("kill")
            .args(["-KILL", &self.pid.to_string()])
            .status();
        let _ = self.recorder.kill();
        let _ = self.recorder.wait();
    }
}

/// Asks the program for its tasks. The program is a child of the recorder, and has its input and output.
fn ask(recorder: &mut Child) -> Truth {
    let input = recorder.stdin.as_mut().expect("a pipe");
    writeln!(input).expect("the program reads");
    let mut line = String::new();
    let output = recorder.stdout.as_mut().expect("a pipe");
    BufReader::new(output)
        .read_line(&mut line)
        .expect("the program answers");
    let words: Vec<&str> = line.split_whitespace().collect();
    let ["waiting", waiting, "stuck", stuck, "active", active] = words[..] else {
        panic!("{line}");
    };
    let [waiting, stuck, active] =
        [waiting, stuck, active].map(|word| word.parse().expect("a number"));
    Truth {
        waiting,
        stuck,
        active,
    }
}

/// Calls `find` until it returns something.
fn until<T>(what: &str, mut find: impl FnMut() -> Option<T>) -> T {
    let given_up = Instant::now() + Duration::from_secs(120);
    loop {
        if let Some(found) = find() {
            return found;
        }
        assert!(Instant::now() < given_up, "never: {what}");
        sleep(Duration::from_millis(50));
    }
}

/// The table as JSON. `None` if the trace cannot be read yet.
fn try_top(directory: &Path, options: &[&str]) -> Option<Value> {
    let options = [&["--top", "--once", "--json"], options].concat();
    let output = report(directory, &options);
    serde_json::from_slice(&output.stdout).ok()
}

fn top(directory: &Path, options: &[&str]) -> Value {
    report_json(directory, &[&["--top", "--once"], options].concat())
}

/// The rows whose names begin so.
fn named<'j>(json: &'j Value, name: &str) -> Vec<&'j Value> {
    let rows = json["rows"].as_array().expect("rows").iter();
    rows.filter(|row| {
        row["name"]
            .as_str()
            .is_some_and(|found| found.starts_with(name))
    })
    .collect()
}

// CT-26
#[test]
fn coroutines_of_a_running_program_are_shown() {
    let recorded = Recorded::start();
    let json = recorded.table();
    let truth = &recorded.truth;
    assert_eq!(json["top"]["goes_on"], true, "{json}");
    let alive = truth.waiting + truth.stuck + truth.active;
    assert_eq!(json["top"]["alive"], alive, "{json}");
    let found = Truth {
        waiting: named(&json, "waiting-").len() as u64,
        stuck: named(&json, "stuck-").len() as u64,
        active: named(&json, "active-").len() as u64,
    };
    assert_eq!(&found, truth);
    let first = &json["rows"].as_array().expect("rows")[..found.stuck as usize];
    for row in first {
        assert!(
            row["name"].as_str().expect("a name").starts_with("stuck-"),
            "{json}"
        );
        assert_eq!(
            (&row["verdict"], &row["waits_for"]),
            (&"STUCK?".into(), &"lock 0x4c4f434b".into())
        );
    }
    let polls = |name| -> Vec<bool> {
        let rows = named(&json, name).into_iter();
        rows.map(|row| 0.0 < row["polls_per_s"].as_f64().expect("a number"))
            .collect()
    };
    assert!(
        polls("active-").contains(&true) && !polls("waiting-").contains(&true),
        "{json}"
    );
}

#[test]
fn filters_and_groups_apply_to_the_live_table() {
    let recorded = Recorded::start();
    recorded.table();
    let path = recorded.path();
    let json = top(path, &["--name", "^active-", "--sort", "polls", "-n", "2"]);
    assert_eq!(json["rows"].as_array().map(Vec::len), Some(2), "{json}");
    assert_eq!(named(&json, "active-").len(), 2, "{json}");
    let json = top(path, &["--group", "--state", "stuck?"]);
    let rows = json["rows"].as_array().expect("rows");
    assert_eq!(
        (rows.len(), &rows[0]["count"]),
        (1, &recorded.truth.stuck.into()),
        "{json}"
    );
}

// CT-26
#[test]
fn ends_of_program_and_recorder_differ() {
    let mut recorded = Recorded::start();
    recorded.table();
    recorded.kill(recorded.pid);
    let json = top(recorded.path(), &[]);
    assert_eq!(
        (&json["top"]["ended"], &json["top"]["goes_on"]),
        (&"SIGKILL".into(), &false.into())
    );
    assert_eq!(json["top"]["stuck"], recorded.truth.stuck, "{json}");

    let mut recorded = Recorded::start();
    recorded.table();
    recorded.kill(recorded.recorder.id());
    let json = top(recorded.path(), &[]);
    assert_eq!(json["top"]["ended"], "recorder did not finish");
    assert_eq!(json["top"]["stuck"], recorded.truth.stuck, "{json}");
}

/// Runs the reporter with its temporary files in this directory.
fn inspect(directory: &Path, pid: &str) -> Output {
    program("ctp-record");
    let mut command = Command::new(program("ctp-report"));
    command.args(["--top", "--once", "--json", "-p", pid]);
    command.env("TMPDIR", directory);
    command.output().expect("the reporter runs")
}

// CT-26
#[test]
fn running_programs_without_a_probe_are_shown() {
    let directory = tempdir().expect("room");
    let mut program = unprobed::Program::start("all");
    let output = inspect(directory.path(), &program.0.id().to_string());
    assert!(output.status.success(), "{output:?}");
    let json: Value = serde_json::from_slice(&output.stdout).expect("a document");
    let rows = json["rows"].as_array().expect("rows").iter();
    let verdicts: Vec<&str> = rows.filter_map(|row| row["verdict"].as_str()).collect();
    let expected = [["DEADLOCK"; 2].as_slice(), &["STUCK?"; 5], &["BUSY"]].concat();
    assert_eq!(verdicts[..8], expected, "{json}");
    assert!(program.0.try_wait().expect("a child").is_none());
    assert_eq!(
        fs::read_dir(directory.path()).expect("a directory").count(),
        0
    );
}

#[test]
fn missing_processes_are_an_error() {
    let directory = tempdir().expect("room");
    // No process has this id, which is larger than any that Linux assigns.
    let output = inspect(directory.path(), "4194999");
    let printed = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{printed}");
    assert!(printed.contains("4194999"), "{printed}");
    assert_eq!(
        fs::read_dir(directory.path()).expect("a directory").count(),
        0
    );
}

/// A terminal of tmux, which ends when this is dropped.
struct Terminal {
    directory: TempDir,
}

impl Terminal {
    /// A shell on a terminal of this size. `None` without tmux.
    fn start(columns: u16, lines: u16) -> Option<Self> {
        let terminal = Terminal {
            directory: tempdir().expect("room"),
        };
        let size = [columns.to_string(), lines.to_string()];
        let started =
            terminal.tmux(&["new-session", "-d", "-x", &size[0], "-y", &size[1], "sh"])?;
        assert!(started.status.success(), "{started:?}");
        Some(terminal)
    }

    fn tmux(&self, arguments: &[&str]) -> Option<Output> {
        let socket = self.directory.path().join("socket");
        let mut command = Command::new("tmux");
        command
            .arg("-S")
            .arg(socket)
            .args(["-f", "/dev/null"])
            .args(arguments);
        command.env_remove("TMUX").output().ok()
    }

    fn press(&self, keys: &[&str]) {
        let sent = self.tmux(&[&["send-keys"], keys].concat());
        assert!(sent.expect("tmux runs").status.success());
    }

    fn screen(&self) -> String {
        let captured = self.tmux(&["capture-pane", "-p"]).expect("tmux runs");
        String::from_utf8_lossy(&captured.stdout).into_owned()
    }

    /// Waits until the screen has this text. Returns the screen.
    fn wait_for(&self, text: &str) -> String {
        let mut last = String::new();
        let given_up = Instant::now() + Duration::from_secs(120);
        while Instant::now() < given_up {
            last = self.screen();
            if last.contains(text) {
                return last;
            }
            sleep(Duration::from_millis(50));
        }
        panic!("no {text:?} on the screen:\n{last}");
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

// CT-26
#[test]
fn table_on_a_terminal_answers_keys() {
    let Some(terminal) = Terminal::start(80, 24) else {
        eprintln!("skipped: no tmux");
        return;
    };
    let mut recorded = Recorded::start();
    let trace = recorded.path().join("ctp.data");
    let tool = program("ctp-report");
    let command = format!(
        "{} --top -i {}; echo status $?",
        tool.display(),
        trace.display()
    );
    terminal.press(&[&command, "Enter"]);
    let screen = terminal.wait_for(&format!("{} stuck", recorded.truth.stuck));
    assert!(screen.contains("live_table (pid"), "{screen}");
    terminal.press(&["Enter"]);
    terminal.wait_for("which ended");
    terminal.press(&["w"]);
    terminal.wait_for("WHY id");
    terminal.press(&["Escape"]);
    terminal.press(&["/", "active", "Enter"]);
    let screen = terminal.wait_for(&format!("/active: {}", recorded.truth.active));
    assert!(
        screen.contains("live_table::tick") && !screen.contains("::wait "),
        "{screen}"
    );
    terminal.press(&["g"]);
    terminal.wait_for("count verdict");
    terminal.tmux(&["resize-window", "-x", "40", "-y", "12"]);
    let screen = terminal.wait_for("id   count verdict       for fu");
    assert!(
        screen.lines().all(|line| line.chars().count() <= 40),
        "{screen}"
    );
    recorded.kill(recorded.pid);
    terminal.wait_for("SIGKILL");
    terminal.press(&["q"]);
    let screen = terminal.wait_for("status 0");
    assert!(!screen.contains("verdict"), "{screen}");
}
