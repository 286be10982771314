//! Builds and runs `examples/unprobed`.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::OnceLock;

use ctp_inspect::{Inspector, ProcessTarget, TraceIds};
use ctp_trace::record::{InspectedTask, InspectionEnd, ProcessId, Record, TaskKind};

/// The program, running. It is killed when this is dropped.
pub struct Program {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

/// What the program says of an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Counts all tasks from 1.
    pub serial: usize,
    pub is_alive: bool,
    pub kind: String,
}

impl Program {
    /// Starts the program and waits until all tasks wait.
    pub fn start(mode: &str, count: usize) -> Self {
        Self::start_at(built(), mode, count)
    }

    pub fn start_at(path: &Path, mode: &str, count: usize) -> Self {
        let mut command = Command::new(path);
        command.args([mode, &count.to_string()]);
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

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What the program knows of all addresses that tasks have or had.
    pub fn tasks(&mut self) -> BTreeMap<u64, Entry> {
        writeln!(self.input, "tasks").expect("the program reads");
        let mut tasks = BTreeMap::new();
        loop {
            let line = self.line();
            if line == "end" {
                return tasks;
            }
            let [address, serial, state, kind] = fields(&line);
            let address = u64::from_str_radix(&address[2..], 16).expect("an address");
            let entry = Entry {
                serial: serial.parse().expect("a number"),
                is_alive: state == "alive",
                kind: kind.to_owned(),
            };
            tasks.insert(address, entry);
        }
    }

    /// How many tasks were spawned, and how many have ended.
    pub fn counts(&mut self) -> [usize; 2] {
        writeln!(self.input, "counts").expect("the program reads");
        fields(&self.line()).map(|field| field.parse().expect("a number"))
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
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn fields<const N: usize>(line: &str) -> [&str; N] {
    let fields: Vec<_> = line.split(' ').collect();
    fields.try_into().expect("as many fields as expected")
}

/// The path of the program, which is built first if necessary.
pub fn built() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| match std::env::var_os("CTP_UNPROBED") {
        Some(path) => path.into(),
        None => build(),
    })
}

fn build() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/unprobed/Cargo.toml");
    let target = manifest.with_file_name("target");
    let status = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--locked", "--manifest-path"])
        .arg(&manifest)
        .arg("--target-dir")
        .arg(&target)
        .status();
    assert!(
        status.expect("cargo starts").success(),
        "the program is built"
    );
    target.join("debug/unprobed")
}

/// What an inspection has found.
#[derive(Debug)]
pub struct Inspected {
    pub tasks: Vec<InspectedTask>,
    pub end: InspectionEnd,
}

impl Inspected {
    fn of(records: Vec<Record>) -> Self {
        let mut tasks = Vec::new();
        let mut end = None;
        for record in records {
            match record {
                Record::InspectedTask(task) => tasks.push(*task),
                Record::InspectionEnd(last) => end = Some(last),
                _ => {}
            }
        }
        Inspected {
            tasks,
            end: end.expect("each inspection has an end"),
        }
    }

    /// The tasks without those of the blocking pool.
    pub fn spawned(&self) -> impl Iterator<Item = &InspectedTask> {
        self.tasks
            .iter()
            .filter(|task| task.kind == TaskKind::Tokio)
    }
}

/// An inspector of the program; `None`, with a message, if this user may not read its children.
pub fn inspector(program: &Program) -> Option<Inspector> {
    match ProcessTarget::open(program.pid()) {
        Ok(target) => Some(Inspector::new(Box::new(target), ProcessId(1))),
        Err(error) => {
            eprintln!("SKIPPED: {error}");
            None
        }
    }
}

/// Inspects again.
pub fn inspect(inspector: &mut Inspector, ids: &mut TraceIds) -> Inspected {
    Inspected::of(inspector.inspect(ids).expect("the program lives"))
}
