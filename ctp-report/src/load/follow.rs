//! Follows a trace while a recorder writes it: each reading takes only what was added since the last.

use std::fs::{self, File, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context as _, Result, bail};
use ctp_trace::model::{Span, TraceModel};
use ctp_trace::record::Record;
use ctp_trace::{Completeness, Reader, Source};

use super::model::{Model, Reading};
use super::opened::{Opened, TraceFile, next_data, read_within};
use super::{Allowance, Input, is_written, name, open_file};
use crate::config::Config;

/// Whether more records may follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceProgress {
    /// The recorder is writing the trace.
    GoesOn,
    /// The recorder has finished the trace.
    Finished,
    /// The recorder ended without finishing the trace.
    CutOff,
    /// The file is shorter than what was read.
    Truncated,
}

/// A trace that the recorder may still be writing, and the model of the records read so far.
pub struct Followed {
    input: Input,
    /// What was read so far.
    pub model: Model,
    reader: Reader<'static>,
    file: Arc<File>,
    length: Arc<AtomicU64>,
    max_memory: Option<u64>,
    max_module: u64,
    progress: TraceProgress,
}

/// The part of a file up to a length that grows.
struct GrowingFile {
    file: Arc<File>,
    length: Arc<AtomicU64>,
}

impl Source for GrowingFile {
    fn length(&self) -> u64 {
        self.length.load(Ordering::Relaxed)
    }

    fn read_at(&self, offset: u64, room: &mut [u8]) -> usize {
        read_within(&self.file, self.length(), offset, room)
    }

    fn next_data(&self, offset: u64) -> u64 {
        let length = self.length();
        next_data(&self.file, offset).map_or(length, |data| data.min(length))
    }
}

impl Followed {
    /// Opens a trace. Nothing is read yet but its start.
    ///
    /// # Errors
    /// If the file is not a trace of ctp-record, or is not a regular file.
    pub fn open(config: &Config, path: &Path) -> Result<Self> {
        let input = open_file(config, path)?;
        let Opened::File(trace) = &input.bytes else {
            bail!(
                "{} cannot be followed: name the file that ctp-record writes with -i FILE",
                name(path)
            );
        };
        let file = trace.file().try_clone().with_context(|| name(path))?;
        let metadata = file.metadata().with_context(|| name(path))?;
        let (file, length) = (Arc::new(file), Arc::new(AtomicU64::new(metadata.len())));
        let growing = GrowingFile {
            file: file.clone(),
            length: length.clone(),
        };
        let reader = Reader::of(growing).with_context(|| name(path))?;
        Ok(Followed {
            model: Model {
                underway: input.underway.clone(),
                ..Model::default()
            },
            input,
            reader,
            file,
            length,
            max_memory: config.max_memory,
            max_module: config.max_module.unwrap_or_default(),
            progress: TraceProgress::GoesOn,
        })
    }

    /// The opened file, from which names are found.
    pub fn input(&self) -> &Input {
        &self.input
    }

    /// A new input of the whole file as it is now, for reading again from the start. [`input`](Self::input) ends where
    /// the file ended when it was opened.
    ///
    /// # Errors
    /// Those of the kernel.
    pub fn whole_input(&self) -> Result<Input> {
        let path = &self.input.path;
        let file = self.file.try_clone().with_context(|| name(path))?;
        // The lock is checked before the length: the recorder unlocks the file after its last write, so an unlocked
        // file is complete.
        let goes_on = is_written(&file);
        let metadata = file.metadata().with_context(|| name(path))?;
        Ok(Input {
            path: path.clone(),
            goes_on,
            bytes: Opened::File(TraceFile::new(file, &metadata)),
            imported: None,
            allowance: self.input.allowance.clone(),
            underway: self.input.underway.clone(),
        })
    }

    /// Whether more records may follow, as of the last reading.
    pub fn progress(&self) -> TraceProgress {
        self.progress
    }

    /// Reads what was added since the last reading. `each` gets every new record before the model does.
    ///
    /// # Errors
    /// If the model takes too much memory, and those of the kernel.
    pub fn read_on(&mut self, mut each: impl FnMut(&Record)) -> Result<TraceProgress> {
        if self.progress != TraceProgress::GoesOn {
            return Ok(self.progress);
        }
        // The lock is checked before the length, as above.
        let had_writer = is_written(&self.file);
        let path = &self.input.path;
        let metadata = self.file.metadata().with_context(|| name(path))?;
        if metadata.len() < self.length.swap(metadata.len(), Ordering::Relaxed) {
            self.end(TraceProgress::Truncated);
            return Ok(self.progress);
        }
        self.read_new(&metadata, &mut each)?;
        match self.reader.completeness() {
            Completeness::Whole => self.end(TraceProgress::Finished),
            Completeness::Truncated { .. } if had_writer => self.model.goes_on = true,
            Completeness::Truncated { .. } => self.end(TraceProgress::CutOff),
        }
        Ok(self.progress)
    }

    /// Whether another file has the name of the trace now, which happens when a new recording begins.
    pub fn is_replaced(&self) -> bool {
        let id = |metadata: Metadata| (metadata.dev(), metadata.ino());
        let own = self.file.metadata().map(id);
        let named = fs::metadata(&self.input.path).map(id);
        matches!((own, named), (Ok(own), Ok(named)) if own != named)
    }

    fn read_new(&mut self, metadata: &Metadata, each: &mut impl FnMut(&Record)) -> Result<()> {
        // Holes of the file hold no records.
        let stored = metadata.blocks() * 512;
        let mut allowance = Allowance::new(self.max_memory, stored.min(metadata.len()));
        allowance.enforce(self.max_module);
        self.input.allowance = allowance.clone();
        let reading = Reading {
            admit: |_: &Record| true,
            before: |_: &TraceModel, record: &Record| each(record),
            each: |_: &TraceModel, _: &Span| {},
        };
        self.model
            .read_on(&mut self.reader, &mut allowance, reading)
    }

    fn end(&mut self, progress: TraceProgress) {
        self.progress = progress;
        self.model.goes_on = false;
        self.model.complete(&self.reader);
    }
}

#[cfg(test)]
mod tests;
