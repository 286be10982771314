//! Builds and runs the program in the folder `inspected/`, and asks for its log.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

/// The program with few types of tasks.
pub const FEW_TYPES: &str = "ctp-benches-inspected";
/// The program with many types of tasks.
pub const MANY_TYPES: &str = "many_types";

/// Builds the programs. Returns the folder that has them; `None`, with a message, if that fails.
pub fn build() -> Option<PathBuf> {
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("inspected");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--release", "--locked"]);
    cargo.current_dir(&package);
    cargo.env("CARGO_TARGET_DIR", package.join("target"));
    let is_built = cargo.status().is_ok_and(|status| status.success());
    if !is_built {
        println!("skipped: benches/inspected cannot be built");
    }
    is_built.then(|| package.join("target/release"))
}

/// The program, running. It is killed when this is dropped.
pub struct Program {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Program {
    /// Starts the program, and waits until all tasks wait or work.
    pub fn start(path: &Path, workers: usize) -> Self {
        let mut command = Command::new(path);
        command.arg(workers.to_string());
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let input = child.stdin.take().expect("a pipe");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut program = Program {
            child,
            input,
            output,
        };
        assert_eq!(program.line(), "ready");
        program
    }

    /// The id of the process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// How many events were logged so far.
    pub fn position(&mut self) -> u64 {
        number(&self.answer("position"))
    }

    /// The events since the last call, each with its position.
    pub fn events(&mut self) -> Vec<(u64, Event)> {
        let head = self.answer("events");
        let (first, count) = head.split_once(' ').expect("two numbers");
        let (first, count) = (number(first), number(count));
        let positions = first..first + count;
        positions.map(|at| (at, Event::of(&self.line()))).collect()
    }

    /// How much work was done so far.
    pub fn work(&mut self) -> u64 {
        number(&self.answer("work"))
    }

    /// The longest time for which a thread that wants to run each millisecond did not, since the last
    /// call.
    pub fn longest_pause(&mut self) -> Duration {
        Duration::from_micros(number(&self.answer("pause")))
    }

    fn answer(&mut self, question: &str) -> String {
        writeln!(self.input, "{question}").expect("the program reads");
        self.line()
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output
            .read_line(&mut line)
            .expect("the program answers");
        line.trim_end().to_owned()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn number(text: &str) -> u64 {
    text.parse().expect("a number")
}

/// What the program logs of a task, by tokio's id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The task was spawned before.
    Spawned(u64),
    /// The task ends afterwards.
    Ends(u64),
    /// The task ended before.
    Ended(u64),
}

impl Event {
    fn of(line: &str) -> Self {
        let (event, task) = line.split_once(' ').expect("an event and a number");
        let task = number(task);
        match event {
            "spawned" => Event::Spawned(task),
            "ends" => Event::Ends(task),
            "ended" => Event::Ended(task),
            _ => panic!("no event: {line}"),
        }
    }
}
