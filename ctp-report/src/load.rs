//! From a file to bytes, and to a reader over them; each failure with a way out.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};
use ctp_trace::census::Span;
use ctp_trace::record::{Nanos, Record};
use ctp_trace::{Census, Reader};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::process::{Flock, FlockType, fcntl_getlk};

use crate::config::Config;
use crate::import::{self, Imported};
use crate::model::Model;
use crate::output;

/// A trace in memory.
#[derive(Debug)]
pub struct Input<'a> {
    path: &'a Path,
    bytes: Vec<u8>,
    imported: Option<Imported>,
    /// Its recorder still writes it.
    goes_on: bool,
    /// Another recorder will put its own there.
    underway: Option<String>,
}

/// The trace that the user named, imported if it is one of coroTracer.
///
/// # Errors
/// If the file cannot be read, or has no such run.
pub fn open(config: &Config) -> Result<Input<'_>> {
    let path = config.input.as_path();
    let name = || name(path);
    let goes_on = is_written(path);
    let bytes = bytes(path)?;
    if import::recognises(&bytes) {
        let (bytes, imported) = import::jsonl(&bytes, config.run).with_context(name)?;
        let imported = Some(imported);
        return Ok(Input {
            path,
            bytes,
            imported,
            goes_on: false,
            underway: None,
        });
    }
    if config.run.is_some() {
        bail!("{}: it has one run; leave out --run", name());
    }
    Ok(Input {
        path,
        bytes,
        imported: None,
        goes_on,
        underway: underway(path),
    })
}

impl Input<'_> {
    /// A reader over the trace, from its start.
    ///
    /// # Errors
    /// If nothing can be read.
    pub fn reader(&self) -> Result<Reader<'_>> {
        Reader::new(&self.bytes).with_context(|| name(self.path))
    }

    /// From when on a flight recorder has everything; zero in any other trace.
    ///
    /// # Errors
    /// If nothing can be read.
    pub fn since(&self) -> Result<Nanos> {
        let is_row = |record: &Record| matches!(record, Record::Event(_) | Record::Tally(_));
        let mut before_rows = self.reader()?.flatten().take_while(|it| !is_row(it));
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
    /// If nothing can be read.
    pub fn model(
        &self,
        before: impl FnMut(&Census, &Record),
        each: impl FnMut(&Census, &Span),
    ) -> Result<Model> {
        let mut model = Model::watch(self.reader()?, before, each);
        model.imported = self.imported.clone();
        model.goes_on = self.goes_on && model.truncated_at.is_some();
        model.underway.clone_from(&self.underway);
        Ok(model)
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
fn is_written(path: &Path) -> bool {
    let lock = |file| flock(file, FlockOperation::NonBlockingLockShared);
    let is_regular = fs::metadata(path).is_ok_and(|it| it.is_file());
    is_regular && File::open(path).is_ok_and(|file| lock(file) == Err(Errno::WOULDBLOCK))
}

/// The process to ask for what is newer, if a flight recorder goes on that has this file for its output:
/// it holds a lock on what an earlier one left there. Whose it is cannot be told from another namespace.
fn underway(path: &Path) -> Option<String> {
    let is_regular = fs::metadata(path).is_ok_and(|it| it.is_file());
    let file = is_regular.then(|| File::open(path).ok()).flatten()?;
    let in_the_way = fcntl_getlk(file, &Flock::from(FlockType::WriteLock)).ok()??;
    let pid = in_the_way.pid.map(|pid| pid.as_raw_nonzero());
    let is_shared = in_the_way.typ == FlockType::ReadLock;
    is_shared.then(|| pid.map_or("PID".to_owned(), |pid| pid.to_string()))
}

fn bytes(path: &Path) -> Result<Vec<u8>> {
    if output::is_stdin(path) {
        let mut bytes = Vec::new();
        io::stdin()
            .read_to_end(&mut bytes)
            .context("cannot read standard input")?;
        return Ok(bytes);
    }
    fs::read(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => is_missing(path),
        ErrorKind::IsADirectory => {
            anyhow!(
                "{} is a directory: name a trace with -i FILE",
                path.display()
            )
        }
        _ => anyhow!(
            "cannot read {}: {error}; name another with -i FILE",
            path.display()
        ),
    })
}

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
    (1..).map(numbered).take_while(|it| it.is_file()).last()
}
