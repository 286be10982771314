//! Firmware for a Cortex-M4, run by QEMU: a dump of its memory, read by the recorder and judged by
//! the reporter. The firmware prints its own account of each task.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use serde_json::Value;
use tempfile::{TempDir, tempdir};

use crate::support::{line_of, program, report_json};

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/cortex-m");
const TARGET: &str = "thumbv7em-none-eabihf";

/// The RAM of the machine, as in `memory.x`.
const RAM: &str = "0x20000000 0x10000";

/// The firmware's own account of a task.
#[derive(Clone, Copy, Debug)]
struct Account {
    runs: u64,
    suspends: u64,
    wakes: u64,
    answered: u64,
}

/// A directory with the trace of a dump, and what the firmware printed.
struct Dumped {
    directory: TempDir,
    tasks: BTreeMap<String, Account>,
}

/// Ends QEMU with the test.
struct Machine(Child);

impl Drop for Machine {
    fn drop(&mut self) {
        // It has ended, or there is nothing more to do.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs the firmware once for all tests. `None`, with a visible reason, without QEMU or the target.
fn dumped() -> Option<&'static Dumped> {
    static DUMPED: OnceLock<Option<Dumped>> = OnceLock::new();
    DUMPED.get_or_init(dump).as_ref()
}

fn dump() -> Option<Dumped> {
    if Command::new("qemu-system-arm")
        .arg("--version")
        .output()
        .is_err()
    {
        eprintln!("SKIPPED: qemu-system-arm is not installed");
        return None;
    }
    let firmware = built()?;
    let directory = tempdir().expect("room");
    let tasks = run(&firmware, directory.path());
    let recorded = Command::new(program("ctp-record"))
        .args(["--image", "ram.bin", "--elf"])
        .arg(&firmware)
        .current_dir(directory.path())
        .output()
        .expect("the recorder runs");
    assert!(recorded.status.success(), "{recorded:?}");
    Some(Dumped { directory, tasks })
}

/// The firmware. `None`, with a visible reason, if there is no compiler for its target.
fn built() -> Option<PathBuf> {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cortex-m");
    let output = Command::new(env!("CARGO"))
        .current_dir(EXAMPLE)
        .args([
            "build",
            "--release",
            "--locked",
            "--target",
            TARGET,
            "--target-dir",
        ])
        .arg(&place)
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .output()
        .expect("cargo can be run");
    let message = String::from_utf8_lossy(&output.stderr);
    if message.contains("target may not be installed") {
        eprintln!("SKIPPED: the target {TARGET} is not installed");
        return None;
    }
    assert!(output.status.success(), "{message}");
    Some(place.join(TARGET).join("release/cortex-m-tasks"))
}

/// Runs the firmware until it is done, and writes its memory to `ram.bin`. Time is counted in
/// instructions, so each run is the same.
fn run(firmware: &Path, directory: &Path) -> BTreeMap<String, Account> {
    let qemu = Command::new("qemu-system-arm")
        .args(["-machine", "mps2-an386", "-icount", "shift=5,sleep=off"])
        .args(["-display", "none", "-serial", "none"])
        .args(["-semihosting-config", "enable=on,target=native"])
        .args(["-monitor", "unix:monitor,server,nowait", "-kernel"])
        .arg(firmware)
        .current_dir(directory)
        .stdout(Stdio::piped())
        .spawn();
    let mut machine = Machine(qemu.expect("QEMU can be run"));
    let output = machine.0.stdout.take().expect("it is piped");
    let lines = BufReader::new(output).lines().map_while(Result::ok);
    let tasks = lines
        .take_while(|line| line != "done")
        .map(|line| account(&line))
        .collect();
    let mut monitor = UnixStream::connect(directory.join("monitor")).expect("QEMU listens");
    let commands = format!("stop\npmemsave {RAM} \"ram.bin\"\nquit\n");
    monitor.write_all(commands.as_bytes()).expect("QEMU reads");
    // The end of QEMU may reset the connection.
    let _ = monitor.read_to_end(&mut Vec::new());
    machine.0.wait().expect("QEMU ends");
    tasks
}

/// Parses `task NAME runs N suspends N wakes N answered N`.
fn account(line: &str) -> (String, Account) {
    let words: Vec<&str> = line.split(' ').collect();
    let [
        "task",
        name,
        "runs",
        runs,
        "suspends",
        suspends,
        "wakes",
        wakes,
        "answered",
        answered,
    ] = words[..]
    else {
        panic!("unexpected line: {line}");
    };
    let number = |word: &str| word.parse().expect("a number");
    let account = Account {
        runs: number(runs),
        suspends: number(suspends),
        wakes: number(wakes),
        answered: number(answered),
    };
    (name.to_owned(), account)
}

fn source(name: &str) -> String {
    std::fs::read_to_string(Path::new(EXAMPLE).join("src").join(name)).expect("the source is there")
}

// CTP-27, LT-27
#[test]
fn lost_wakeup_of_firmware_is_named_by_line() {
    let Some(dumped) = dumped() else { return };
    let stuck = dumped
        .tasks
        .iter()
        .filter(|(_, task)| task.answered < task.wakes);
    let names: Vec<&String> = stuck.map(|(name, _)| name).collect();
    assert_eq!(names, ["radio"], "the firmware's own account");
    let found = report_json(dumped.directory.path(), &["--stuck"]);
    let Some([group]) = found["stuck"].as_array().map(Vec::as_slice) else {
        panic!("{found:#}");
    };
    assert_eq!(
        (&group["count"], &group["names"]),
        (&Value::from(1), &Value::from(vec!["radio"]))
    );
    let line = line_of(&source("tasks.rs"), "the wakeup is lost here");
    assert_eq!(
        (&group["file"], &group["line"]),
        (&"src/tasks.rs".into(), &line.into())
    );
    assert_eq!(group["function"], "cortex_m_tasks::tasks::radio");
}

// CTP-11, AGG-24
#[test]
fn events_of_firmware_are_counted_exactly() {
    let Some(dumped) = dumped() else { return };
    let births = dumped.tasks.len() as u64;
    let deaths = dumped
        .tasks
        .values()
        .filter(|task| task.suspends < task.runs)
        .count() as u64;
    let moves: u64 = dumped
        .tasks
        .values()
        .map(|task| task.runs + task.suspends)
        .sum();
    let found = report_json(dumped.directory.path(), &["--stuck"]);
    let count = |name: &str| found["trace"][name].as_u64().expect("a count");
    assert!(1_000 < moves, "few events: {:?}", dumped.tasks);
    let in_dump = count("events") + count("summed_up");
    assert_eq!((in_dump, count("lost")), (births + moves + deaths, 0));
}
