//! The contents of a whole trace: its tables, its trace model, and what is missing.

pub mod awaited;
mod bounds;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use anyhow::{Result, bail};
use ctp_trace::model::{Gap, Span, TraceModel};
use ctp_trace::record::{
    Branches, Chain, CoroutineId, ExitReason, Module, Nanos, Process, Record, Site, SiteId, Start,
};
use ctp_trace::{Completeness, Reader};

use crate::import::Imported;
use crate::load::memory::Allowance;
use crate::load::model::awaited::Awaited;
use crate::load::model::bounds::RECORD_BYTES;
use crate::load::read_ahead::{self, Decoded};
use crate::text;

/// A trace, read to its end.
#[derive(Debug, Default)]
pub struct Model {
    /// Host, command and start of the recording.
    pub start: Start,
    /// The processes that attached.
    pub processes: Vec<Process>,
    /// The files mapped into these processes.
    pub modules: Vec<Module>,
    /// The places in the program.
    pub sites: BTreeMap<SiteId, Site>,
    /// Known await chains by place.
    pub chains: BTreeMap<SiteId, Chain>,
    /// Known branches by place.
    pub branches: BTreeMap<SiteId, Branches>,
    /// The coroutines and their states.
    pub trace_model: TraceModel,
    /// The coroutines that other coroutines wait for.
    pub awaited: Awaited,
    /// Position and error of each part that could not be read.
    pub damage: Vec<String>,
    /// Offset at which the trace is cut off.
    pub truncated_at: Option<u64>,
    /// Whether the recorder is still writing the trace, so that the missing part may follow.
    pub goes_on: bool,
    /// Process id of a running flight recorder that has this file as its output.
    pub underway: Option<String>,
    /// Events that the recorder had counted as lost before the cut.
    pub lost_so_far: u64,
    /// Set if the trace was made from a file of another tool.
    pub imported: Option<Imported>,
}

/// What happens while records are read.
pub struct Reading<A, B, E> {
    /// Whether to read a record.
    pub admit: A,
    /// Gets every record first, since the trace model does not keep all records.
    pub before: B,
    /// Gets every span that ended.
    pub each: E,
}

impl Model {
    /// Reads all records into an empty trace model. What is known only after the last record is not
    /// [derived](Self::complete) yet.
    ///
    /// # Errors
    /// If the model exceeds the memory limit.
    pub fn watch(
        reader: &mut Reader<'_>,
        trace_model: TraceModel,
        allowance: &mut Allowance,
        reading: Reading<
            impl Fn(&Record) -> bool,
            impl FnMut(&TraceModel, &Record),
            impl FnMut(&TraceModel, &Span),
        >,
    ) -> Result<Self> {
        let mut model = Model {
            trace_model,
            ..Model::default()
        };
        model.read_on(reader, allowance, reading)?;
        Ok(model)
    }

    /// Reads the records that the reader has not returned yet. After that, the records of a trace that grows
    /// can be read on.
    ///
    /// # Errors
    /// If the model exceeds the memory limit.
    pub fn read_on(
        &mut self,
        reader: &mut Reader<'_>,
        allowance: &mut Allowance,
        mut reading: Reading<
            impl Fn(&Record) -> bool,
            impl FnMut(&TraceModel, &Record),
            impl FnMut(&TraceModel, &Span),
        >,
    ) -> Result<()> {
        read_ahead::for_each(reader, |chunk| {
            self.take_chunk(chunk, allowance, &mut reading)
        })?;
        self.note_completeness(reader.completeness());
        Ok(())
    }

    fn note_completeness(&mut self, completeness: Completeness) {
        (self.truncated_at, self.lost_so_far) = match completeness {
            Completeness::Whole => (None, 0),
            Completeness::Truncated {
                offset,
                lost_so_far,
            } => (Some(offset), lost_so_far),
        };
    }

    /// Derives what is known only once no more records follow.
    pub fn complete(&mut self, reader: &Reader<'_>) {
        self.trace_model.finish_reading(reader);
        self.find_awaited();
    }

    /// Finds the coroutines that others wait for now.
    pub fn find_awaited(&mut self) {
        self.awaited = Awaited::of(&self.trace_model);
    }

    fn take_chunk(
        &mut self,
        chunk: &mut Decoded,
        allowance: &mut Allowance,
        reading: &mut Reading<
            impl Fn(&Record) -> bool,
            impl FnMut(&TraceModel, &Record),
            impl FnMut(&TraceModel, &Span),
        >,
    ) -> Result<()> {
        match chunk {
            Ok(records) => {
                for record in records {
                    bounds::admit(record, allowance)?;
                    if (reading.admit)(record) {
                        (reading.before)(&self.trace_model, record);
                        self.take(record, &mut reading.each);
                    }
                }
            }
            Err(error) => {
                allowance.count(RECORD_BYTES)?;
                self.trace_model.note_damage();
                self.damage.push(error.to_string());
            }
        }
        Ok(())
    }

    #[inline]
    fn take(&mut self, record: &Record, each: &mut impl FnMut(&TraceModel, &Span)) {
        if let Some(span) = self.trace_model.consume(record) {
            each(&self.trace_model, &span);
        }
        if !bounds::is_event(record) {
            self.keep(record);
        }
    }

    /// Keeps a record that the trace model does not keep.
    fn keep(&mut self, record: &Record) {
        match record {
            Record::Start(start) => self.start = start.clone(),
            Record::Process(process) => self.processes.push(process.clone()),
            Record::Module(module) => self.modules.push(module.clone()),
            Record::Site(site) => {
                self.sites.insert(site.id, site.clone());
            }
            Record::Chain(chain) => {
                self.chains.insert(chain.site, chain.clone());
            }
            Record::Branches(branches) => {
                self.branches.insert(branches.site, branches.clone());
            }
            _ => {}
        }
    }

    /// Whether the trace has inspections of processes, and no coroutines.
    pub fn is_inspection(&self) -> bool {
        self.trace_model.totals().coroutines == 0 && self.trace_model.inspected().next().is_some()
    }

    /// Whether the inspections are of core files.
    pub fn is_core_file(&self) -> bool {
        let mut all = self.trace_model.inspected();
        all.any(|(_, process)| process.is_core_file())
    }

    /// Rejects a trace without coroutines.
    ///
    /// # Errors
    /// If the trace has no coroutine. The error explains the likely reason.
    pub fn check_not_empty(&self) -> Result<()> {
        let refused = self.refused();
        if self.trace_model.totals().coroutines > 0 {
            return Ok(());
        }
        if self.is_inspection() {
            bail!(
                "the trace has no history, because {} was inspected without a probe: see \
                 ctp-report --stuck and ctp-report --stacks",
                self.program()
            );
        }
        if refused > 0 {
            bail!(
                "no coroutine found a station ({refused} were refused): {}",
                self.how_to_have_room()
            );
        }
        if self.truncated_at.is_some() || !self.damage.is_empty() {
            bail!("what can be read of the trace has no coroutine in it: record again");
        }
        if self.unrecorded() > 0 {
            bail!("nothing was recorded: {}", self.missing_coroutines());
        }
        if self.processes.is_empty() {
            bail!(
                "nothing was recorded: {} never attached, nor did any program that it ran; link the probe, \
                 let the program call attach() before it starts threads, and record again",
                self.program()
            );
        }
        let pids: Vec<u32> = self.processes.iter().map(|process| process.pid).collect();
        bail!(
            "no coroutine was born, though pid {} attached: trace the places where the program spawns \
             coroutines, and record again",
            text::few(&pids)
        )
    }

    /// For each set of branches, sorted by id: those branches that were polled last in some poll.
    pub fn last_branches(&self) -> BTreeMap<Vec<SiteId>, BTreeSet<SiteId>> {
        let mut lasts: BTreeMap<Vec<SiteId>, BTreeSet<SiteId>> = BTreeMap::new();
        for branches in self.branches.values() {
            let mut set = branches.sites.clone();
            set.sort_unstable();
            lasts.entry(set).or_default().extend(branches.sites.first());
        }
        lasts
    }

    /// Resolves the number by which a coroutine (`by`) refers to another. `by` may have ended.
    pub fn awaited(&self, by: Option<CoroutineId>, number: u64) -> Option<CoroutineId> {
        let coroutine = by.and_then(|id| self.trace_model.get(id));
        let process = match (coroutine, &self.processes[..]) {
            (Some(coroutine), _) => coroutine.process,
            (None, [process]) => process.id,
            _ => return None,
        };
        self.awaited.get(process, number)
    }

    /// The program's name, for a sentence.
    pub fn program(&self) -> String {
        match self.start.argv.first() {
            Some(name) => text::cut_middle(&text::escape_bytes(name), 40),
            None => "the program".to_owned(),
        }
    }

    /// The name of the program without its directories, for a title.
    pub fn program_name(&self) -> String {
        let path = self
            .start
            .argv
            .first()
            .map(|path| Path::new(OsStr::from_bytes(path)));
        match path.and_then(Path::file_name) {
            Some(name) => text::cut_middle(&text::escape_bytes(name.as_bytes()), 60),
            None => self.program(),
        }
    }

    /// The remedy for coroutines that found no free station. The memory of an image is built into the
    /// program.
    pub fn how_to_have_room(&self) -> &'static str {
        match self.exit_reason() {
            Some(ExitReason::Image) => {
                "build the program with more stations in its memory (`Memory<N>`)"
            }
            _ => "record with a larger -n/--stations",
        }
    }

    /// The number of coroutines that were not recorded because no station was free.
    pub fn refused(&self) -> u64 {
        self.trace_model.end().map_or(0, |end| end.refused)
    }

    /// The number of processes that are not, or only partly, in the trace, as far as the recorder knows.
    pub fn unrecorded(&self) -> u64 {
        self.trace_model.end().map_or(0, |end| end.unrecorded)
    }

    /// Describes how many processes are missing and why.
    pub fn missing_coroutines(&self) -> String {
        format!(
            "{}: the recorder had no room for them, they could not connect to it, or they overwrote \
             their memory; the last lines of the recorder's output name the reason and a remedy",
            Gap::Unrecorded(self.unrecorded())
        )
    }

    /// Events known to be missing.
    pub fn lost(&self) -> u64 {
        self.trace_model.lost().max(self.lost_so_far)
    }

    /// How the recording ended; `None` if the recorder did not finish.
    pub fn exit_reason(&self) -> Option<ExitReason> {
        self.trace_model.end().map(|end| end.how)
    }

    /// The duration of the recording.
    pub fn duration(&self) -> Nanos {
        self.trace_model.end_at()
    }

    /// Whether the whole trace could be read.
    pub fn is_readable(&self) -> bool {
        self.truncated_at.is_none() && self.damage.is_empty()
    }

    /// Whether losses are known. Files of other tools do not record losses.
    pub fn knows_losses(&self) -> bool {
        self.is_readable() && self.imported.is_none()
    }

    /// Whether the table of waits is by name, from totals, because there are too few events for a table by
    /// site. A flight recorder has the events of its window.
    pub fn is_by_name(&self) -> bool {
        self.trace_model.has_aggregates() && self.trace_model.window().is_none()
    }

    /// Whether the trace has every event.
    pub fn has_all_events(&self) -> bool {
        self.is_exact() && self.trace_model.summed_up() == 0
    }

    /// Whether all figures are complete and consistent.
    pub fn is_exact(&self) -> bool {
        self.lost() == 0
            && self.knows_losses()
            && self.trace_model.broken().is_empty()
            && !self.trace_model.is_approximate()
    }
}
