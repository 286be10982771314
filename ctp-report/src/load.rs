//! Opens the trace and reads the model. Each error names a remedy.

pub mod exit_reason;
#[cfg_attr(
    not(feature = "top"),
    allow(dead_code, reason = "only the live table on a terminal uses all of it")
)]
pub mod follow;
pub mod memory;
mod model;
mod opened;
pub mod read_ahead;
#[cfg(test)]
mod test_trace;

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};
use ctp_trace::model::{Shutdowns, Span};
use ctp_trace::record::{Nanos, Record};
use ctp_trace::{Reader, Source as _, TraceModel};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::process::{Flock, FlockType, fcntl_getlk};

use crate::config::Config;
use crate::import::{self, Imported};
use crate::load::memory::Allowance;
#[cfg(feature = "top")]
use crate::load::memory::StopFlag;
use crate::output;
pub use model::Model;
use model::Reading;
use opened::{Opened, TraceFile};

/// A trace that can be read repeatedly.
#[derive(Debug)]
pub struct Input {
    path: PathBuf,
    bytes: Opened,
    imported: Option<Imported>,
    allowance: Allowance,
    /// Whether the recorder is still writing the trace.
    goes_on: bool,
    /// A running flight recorder with this output file; see [`underway`].
    underway: Option<String>,
}

/// How much of a file is read to recognise its format.
const RECOGNISED_BYTES: usize = 1 << 20;

/// Whether the beginning of a file has coroTracer JSON lines, rather than a trace of ctp-record.
///
/// # Errors
/// If the file has neither format, or the header of the trace is invalid.
fn is_of_lines(head: &[u8]) -> Result<bool, ctp_trace::Error> {
    if import::recognises(head) {
        return Ok(true);
    }
    ctp_trace::check_header(head).map(|()| false)
}

/// Opens the requested trace, and imports a file of coroTracer.
///
/// # Errors
/// If the file cannot be read, or does not have the requested run.
pub fn open(config: &Config) -> Result<Input> {
    open_file(config, &config.input)
}

/// Opens a trace of this name. The configuration has its run and the memory limit.
///
/// # Errors
/// As for [`open`].
pub fn open_file(config: &Config, path: &Path) -> Result<Input> {
    let opened = opened::open(path)?;
    let head = match &opened {
        Opened::File(file) => &file.head(RECOGNISED_BYTES),
        Opened::Memory(bytes) => bytes,
    };
    let is_of_lines = is_of_lines(head).with_context(|| name(path))?;
    if config.run.is_some() && !is_of_lines {
        bail!(
            "{}: this trace has a single run; leave out --run",
            name(path)
        );
    }
    let mut allowance = Allowance::new(config.max_memory, opened.stored());
    allowance.enforce(config.max_module.unwrap_or_default());
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
        path: path.to_owned(),
        imported,
        allowance,
        goes_on: file.is_some_and(is_written),
        underway: file.and_then(underway),
        bytes,
    })
}

/// Imports JSON lines. All lines are read into memory, because the run of a line depends on the lines
/// around it.
fn import(
    opened: Opened,
    run: Option<usize>,
    allowance: &mut Allowance,
) -> Result<(Opened, Option<Imported>)> {
    let lines = opened.lines(allowance)?;
    let (bytes, imported) = import::jsonl(&lines, run)?;
    Ok((Opened::Memory(bytes), Some(imported)))
}

impl Input {
    /// A reader over the trace, from its start.
    ///
    /// # Errors
    /// If nothing can be read.
    pub fn reader(&self) -> Result<Reader<'_>> {
        let reader = match &self.bytes {
            Opened::File(file) => Reader::of(file),
            Opened::Memory(bytes) => Reader::new(bytes),
        };
        reader.with_context(|| name(&self.path))
    }

    /// The start of the window of a flight recorder, or zero for any other trace.
    ///
    /// # Errors
    /// If nothing can be read.
    pub fn since(&self) -> Result<Nanos> {
        let mut before_rows = self
            .reader()?
            .flatten()
            .take_while(|record| !matches!(record, Record::Event(_) | Record::EventCounts(_)));
        let since = before_rows.find_map(|record| match record {
            Record::Window(window) => Some(window.since),
            _ => None,
        });
        Ok(since.unwrap_or_default())
    }

    /// Reads the model. `before` gets every record before the trace model does, and `each` gets every
    /// span that ended.
    ///
    /// # Errors
    /// If nothing can be read, or the model takes too much memory.
    pub fn model(
        &self,
        before: impl FnMut(&TraceModel, &Record),
        each: impl FnMut(&TraceModel, &Span),
    ) -> Result<Model> {
        self.model_of(TraceModel::new(), |_| true, before, each)
    }

    /// Reads the model again, for its spans. Views share the code of this reading, which is large.
    ///
    /// # Errors
    /// As for [`model`](Self::model).
    pub fn spans(&self, each: &mut dyn FnMut(&TraceModel, &Span)) -> Result<()> {
        self.model(|_, _| {}, each).map(drop)
    }

    /// Reads the model. If processes dropped waiting coroutines when they ended, the model shows
    /// the state just before.
    ///
    /// # Errors
    /// As for [`model`](Self::model).
    pub fn model_before_shutdown(&self) -> Result<Model> {
        let model = self.model(|_, _| {}, |_, _| {})?;
        let earlier = self.before_shutdown(&model)?;
        Ok(earlier.unwrap_or(model))
    }

    /// Reads the state just before processes dropped waiting coroutines when they ended. Returns `None` if
    /// none did, so that `model` has this state.
    ///
    /// # Errors
    /// As for [`model`](Self::model).
    pub fn before_shutdown(&self, model: &Model) -> Result<Option<Model>> {
        let shutdowns = model.trace_model.shutdowns();
        if shutdowns.is_empty() {
            return Ok(None);
        }
        self.model_before(shutdowns).map(Some)
    }

    fn model_before(&self, shutdowns: Shutdowns) -> Result<Model> {
        let earlier = TraceModel::before(shutdowns);
        self.model_of(earlier, |_| true, |_, _| {}, |_, _| {})
    }

    /// Reads all records, and passes each to `before`, as [`model`](Self::model) does. Returns the state just before the
    /// shutdowns, as [`before_shutdown`](Self::before_shutdown) does.
    ///
    /// # Errors
    /// As for [`model`](Self::model).
    pub fn model_with_shutdown(
        &self,
        shutdowns: &Shutdowns,
        mut before: impl FnMut(&TraceModel, &Record),
    ) -> Result<Model> {
        let mut earlier: Option<TraceModel> = None;
        let see = |trace_model: &TraceModel, record: &Record| {
            before(trace_model, record);
            if earlier.is_none() && shutdowns.concern(record) {
                earlier = Some(trace_model.branch_before(shutdowns.clone()));
            }
            if let Some(earlier) = &mut earlier {
                earlier.consume(record);
            }
        };
        let mut reader = self.reader()?;
        let mut model = self.read(&mut reader, TraceModel::new(), |_| true, see, |_, _| {})?;
        let earlier = earlier.filter(|_| model.damage.is_empty());
        // The other model does not know which parts of a damaged trace are missing.
        let Some(earlier) = earlier else {
            return self.model_before(shutdowns.clone());
        };
        model.trace_model = earlier;
        model.complete(&reader);
        Ok(model)
    }

    /// Reads a model of the records for which `admit` holds.
    ///
    /// # Errors
    /// As for [`model`](Self::model).
    pub fn part(&self, admit: impl Fn(&Record) -> bool) -> Result<Model> {
        self.part_with(admit, |_, _| {})
    }

    /// Reads a model of the records for which `admit` holds. `before` gets each of these before the trace
    /// model does.
    ///
    /// # Errors
    /// As for [`model`](Self::model).
    pub fn part_with(
        &self,
        admit: impl Fn(&Record) -> bool,
        before: impl FnMut(&TraceModel, &Record),
    ) -> Result<Model> {
        self.model_of(TraceModel::new(), admit, before, |_, _| {})
    }

    fn model_of(
        &self,
        trace_model: TraceModel,
        admit: impl Fn(&Record) -> bool,
        before: impl FnMut(&TraceModel, &Record),
        each: impl FnMut(&TraceModel, &Span),
    ) -> Result<Model> {
        let mut reader = self.reader()?;
        let mut model = self.read(&mut reader, trace_model, admit, before, each)?;
        model.complete(&reader);
        Ok(model)
    }

    /// Reads records into a model, which is not complete yet.
    fn read(
        &self,
        reader: &mut Reader<'_>,
        trace_model: TraceModel,
        admit: impl Fn(&Record) -> bool,
        before: impl FnMut(&TraceModel, &Record),
        each: impl FnMut(&TraceModel, &Span),
    ) -> Result<Model> {
        let mut allowance = self.allowance.clone();
        let read = Reading {
            admit,
            before,
            each,
        };
        let mut model = Model::watch(reader, trace_model, &mut allowance, read)?;
        model.imported = self.imported.clone();
        model.goes_on = self.goes_on && model.truncated_at.is_some();
        model.underway.clone_from(&self.underway);
        Ok(model)
    }

    /// Ends readings with an error once this is set.
    #[cfg(feature = "top")]
    pub fn end_by(&mut self, stop: StopFlag) {
        self.allowance.stop = stop;
    }

    /// The memory limit.
    pub fn allowance(&self) -> &Allowance {
        &self.allowance
    }

    /// Facts about an imported file; `None` for a trace of ctp-record.
    pub fn imported(&self) -> Option<&Imported> {
        self.imported.as_ref()
    }
}

fn name(path: &Path) -> String {
    if output::is_stdin(path) {
        "standard input".to_owned()
    } else {
        path.display().to_string()
    }
}

/// Whether a recorder is still writing the file. A recorder locks its output file while writing.
fn is_written(file: &File) -> bool {
    let lock = flock(file, FlockOperation::NonBlockingLockShared);
    if lock.is_ok() {
        // A recorder that starts now must not find the file locked. If this fails, the lock ends with the report.
        let _ = flock(file, FlockOperation::Unlock);
    }
    lock == Err(Errno::WOULDBLOCK)
}

/// The process id of a running flight recorder that has this file as its output. Until it writes its
/// own trace, it holds a lock on the earlier file there. Returns `PID` if the process is in another
/// namespace and its id is unknown.
fn underway(file: &File) -> Option<String> {
    let in_the_way = fcntl_getlk(file, &Flock::from(FlockType::WriteLock)).ok()??;
    let pid = in_the_way.pid.map(|pid| pid.as_raw_nonzero());
    let is_shared = in_the_way.typ == FlockType::ReadLock;
    is_shared.then(|| pid.map_or("PID".to_owned(), |pid| pid.to_string()))
}

impl Opened {
    /// The size in the file system or in memory.
    fn stored(&self) -> u64 {
        match self {
            Opened::File(file) => file.stored(),
            Opened::Memory(bytes) => bytes.len() as u64,
        }
    }

    /// All bytes of a file with JSON lines.
    fn lines(self, allowance: &mut Allowance) -> Result<Vec<u8>> {
        match self {
            Opened::Memory(bytes) => Ok(bytes),
            Opened::File(file) => read_lines(&file, allowance),
        }
    }
}

/// Reads the whole file. Fails if a line does not end, or if holes make the file far larger than its
/// size on the disk.
fn read_lines(file: &TraceFile, allowance: &mut Allowance) -> Result<Vec<u8>> {
    let mut lines = Vec::new();
    loop {
        let start = lines.len();
        lines.resize(start + MAX_LINE_BYTES, 0);
        let read = file.read_at(start as u64, &mut lines[start..]);
        lines.truncate(start + read);
        allowance.count(read as u64)?;
        if read < MAX_LINE_BYTES {
            return Ok(lines);
        }
        if !lines[start..].contains(&b'\n') {
            bail!("the line at byte {start} does not end: the file is damaged");
        }
    }
}

const MAX_LINE_BYTES: usize = 1 << 20;

fn missing_trace_error(path: &Path) -> anyhow::Error {
    let missing = path.display();
    match latest_snapshot(path) {
        Some(snapshot) => anyhow!(
            "no {missing} here, but snapshots of a flight recorder: for the latest, use -i {}",
            snapshot.display()
        ),
        None => anyhow!(
            "no {missing} here: record a trace with `ctp-record -- ./app`, or name a trace with -i FILE"
        ),
    }
}

/// The latest snapshot of a flight recorder. Snapshots are numbered from 1; the file without a number
/// is written at the end, if at all.
fn latest_snapshot(path: &Path) -> Option<PathBuf> {
    (1..)
        .map(|number| {
            let mut name = path.as_os_str().to_owned();
            name.push(format!(".{number}"));
            PathBuf::from(name)
        })
        .take_while(|path| path.is_file())
        .last()
}
