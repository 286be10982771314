//! From a file to a reader over it; each failure with a way out.

pub mod exit_reason;
pub mod memory;
mod model;
mod opened;

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};
use ctp_trace::record::{Nanos, Record};
use ctp_trace::trace_model::Span;
use ctp_trace::{Reader, Source as _, TraceModel};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::process::{Flock, FlockType, fcntl_getlk};

use crate::config::Config;
use crate::import::{self, Imported};
use crate::load::memory::Allowance;
use crate::output;
pub use model::Model;
use opened::{Opened, TraceFile};

/// A trace that can be read as often as needed.
#[derive(Debug)]
pub struct Input<'a> {
    path: &'a Path,
    bytes: Opened,
    imported: Option<Imported>,
    allowance: Allowance,
    /// Its recorder still writes it.
    goes_on: bool,
    /// Another recorder will put its own there.
    underway: Option<String>,
}

/// As far as a file is read to learn what it is.
const RECOGNISED_BYTES: usize = 1 << 20;

/// Whether a file holds JSON lines of coroTracer, by its beginning, rather than a trace of ctp-record.
///
/// # Errors
/// If it is neither. What is wrong with the header of a trace is said here too.
fn is_of_lines(head: &[u8]) -> Result<bool, ctp_trace::Error> {
    if import::recognises(head) {
        return Ok(true);
    }
    ctp_trace::check_header(head).map(|()| false)
}

/// The trace that the user named, imported if it is one of coroTracer.
///
/// # Errors
/// If the file cannot be read, or has no such run.
pub fn open(config: &Config) -> Result<Input<'_>> {
    let path = config.input.as_path();
    let opened = opened::open(path)?;
    let head = match &opened {
        Opened::File(file) => &file.head(RECOGNISED_BYTES),
        Opened::Memory(bytes) => bytes,
    };
    let is_of_lines = is_of_lines(head).with_context(|| name(path))?;
    if config.run.is_some() && !is_of_lines {
        bail!("{}: it has one run; leave out --run", name(path));
    }
    let mut allowance = Allowance::new(config.most_memory, opened.stored());
    allowance.enforce(config.most_module.unwrap_or_default());
    let (bytes, imported) = if is_of_lines {
        let imported = import(opened, config.run, &mut allowance);
        imported.with_context(|| name(path))?
    } else {
        (opened, None)
    };
    let file = match &bytes {
        Opened::File(file) if !output::is_stdin(path) => Some(file.file()),
        _ => None,
    };
    Ok(Input {
        path,
        imported,
        allowance,
        goes_on: file.is_some_and(is_written),
        underway: file.and_then(underway),
        bytes,
    })
}

/// JSON lines are read into memory as a whole: which run a line belongs to depends on those around it.
fn import(
    opened: Opened,
    run: Option<usize>,
    allowance: &mut Allowance,
) -> Result<(Opened, Option<Imported>)> {
    let lines = opened.lines(allowance)?;
    let (bytes, imported) = import::jsonl(&lines, run)?;
    Ok((Opened::Memory(bytes), Some(imported)))
}

impl Input<'_> {
    /// A reader over the trace, from its start.
    ///
    /// # Errors
    /// If nothing can be read.
    pub fn reader(&self) -> Result<Reader<'_>> {
        let reader = match &self.bytes {
            Opened::File(file) => Reader::of(file),
            Opened::Memory(bytes) => Reader::new(bytes),
        };
        reader.with_context(|| name(self.path))
    }

    /// From when on a flight recorder has everything; zero in any other trace.
    ///
    /// # Errors
    /// If nothing can be read.
    pub fn since(&self) -> Result<Nanos> {
        let is_row = |record: &Record| matches!(record, Record::Event(_) | Record::EventCounts(_));
        let mut before_rows = self
            .reader()?
            .flatten()
            .take_while(|record| !is_row(record));
        let since = before_rows.find_map(|record| match record {
            Record::Window(window) => Some(window.since),
            _ => None,
        });
        Ok(since.unwrap_or_default())
    }

    /// All that the trace says. `before` sees every record before the census does, `each` every
    /// stretch of time that ended.
    ///
    /// # Errors
    /// If nothing can be read, or what is read takes too much memory.
    pub fn model(
        &self,
        before: impl FnMut(&TraceModel, &Record),
        each: impl FnMut(&TraceModel, &Span),
    ) -> Result<Model> {
        let mut allowance = self.allowance.clone();
        let mut model = Model::watch(self.reader()?, &mut allowance, before, each)?;
        model.imported = self.imported.clone();
        model.goes_on = self.goes_on && model.truncated_at.is_some();
        model.underway.clone_from(&self.underway);
        Ok(model)
    }

    /// The memory that may be taken.
    pub fn allowance(&self) -> &Allowance {
        &self.allowance
    }

    /// What is known beside the records, if the trace is not one of ours.
    pub fn imported(&self) -> Option<&Imported> {
        self.imported.as_ref()
    }
}

fn name(path: &Path) -> String {
    match output::is_stdin(path) {
        true => "standard input".to_owned(),
        false => path.display().to_string(),
    }
}

/// Does its recorder still write it? It locks the file as long as it does.
fn is_written(file: &File) -> bool {
    let lock = flock(file, FlockOperation::NonBlockingLockShared);
    if lock.is_ok() {
        // A recorder that starts now must not find the file locked. If this fails, the lock ends with the report.
        let _ = flock(file, FlockOperation::Unlock);
    }
    lock == Err(Errno::WOULDBLOCK)
}

/// The process to ask for what is newer, if a flight recorder goes on that has this file for its output:
/// it holds a lock on what an earlier one left there. Whose it is cannot be told from another namespace.
fn underway(file: &File) -> Option<String> {
    let in_the_way = fcntl_getlk(file, &Flock::from(FlockType::WriteLock)).ok()??;
    let pid = in_the_way.pid.map(|pid| pid.as_raw_nonzero());
    let is_shared = in_the_way.typ == FlockType::ReadLock;
    is_shared.then(|| pid.map_or("PID".to_owned(), |pid| pid.to_string()))
}

impl Opened {
    /// What it takes where it lies.
    fn stored(&self) -> u64 {
        match self {
            Opened::File(file) => file.stored(),
            Opened::Memory(bytes) => bytes.len() as u64,
        }
    }

    /// All of it, if it consists of lines.
    fn lines(self, allowance: &mut Allowance) -> Result<Vec<u8>> {
        match self {
            Opened::Memory(bytes) => Ok(bytes),
            Opened::File(file) => read_lines(&file, allowance),
        }
    }
}

/// The whole file, unless it goes on for ever without the end of a line, or has holes that take far more
/// memory than the file takes on the disk.
fn read_lines(file: &TraceFile, allowance: &mut Allowance) -> Result<Vec<u8>> {
    let mut lines = Vec::new();
    loop {
        let start = lines.len();
        lines.resize(start + LONGEST_LINE_BYTES, 0);
        let read = file.read_at(start as u64, &mut lines[start..]);
        lines.truncate(start + read);
        allowance.count(read as u64)?;
        if read < LONGEST_LINE_BYTES {
            return Ok(lines);
        }
        if !lines[start..].contains(&b'\n') {
            bail!("the line at byte {start} does not end: the file is damaged");
        }
    }
}

const LONGEST_LINE_BYTES: usize = 1 << 20;

fn is_missing(path: &Path) -> anyhow::Error {
    let missing = path.display();
    match latest_snapshot(path) {
        Some(snapshot) => anyhow!(
            "no {missing} here, but what a flight recorder put there: the latest is -i {}",
            snapshot.display()
        ),
        None => anyhow!(
            "no {missing} here: record one with `ctp-record -- ./app`, or name one with -i FILE"
        ),
    }
}

/// A flight recorder numbers its snapshots from 1, and writes the file itself when it ends, if at all.
fn latest_snapshot(path: &Path) -> Option<PathBuf> {
    let numbered = |number: u32| {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{number}"));
        PathBuf::from(name)
    };
    (1..).map(numbered).take_while(|path| path.is_file()).last()
}
