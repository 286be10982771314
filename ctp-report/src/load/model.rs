//! What a trace says as a whole: its tables, its census, and what is missing of it.

pub mod awaited;

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use ctp_trace::record::{
    Chain, CoroutineId, ExitReason, Module, Nanos, Place, Process, Record, Site, SiteId, Start,
};
use ctp_trace::trace_model::{Gap, Span, TraceModel};
use ctp_trace::{Completeness, Reader};

use crate::import::Imported;
use crate::load::memory::Allowance;
use crate::load::model::awaited::Awaited;
use crate::text;

/// A trace, read to its end.
#[derive(Debug, Default)]
pub struct Model {
    /// Where and when.
    pub start: Start,
    /// The processes that attached.
    pub processes: Vec<Process>,
    /// What was mapped into them.
    pub modules: Vec<Module>,
    /// The places in the program.
    pub sites: BTreeMap<SiteId, Site>,
    /// Who awaits whom, at those of them of which that is known.
    pub chains: BTreeMap<SiteId, Chain>,
    /// What became of the coroutines.
    pub trace_model: TraceModel,
    /// Whose end coroutines wait for.
    pub awaited: Awaited,
    /// Parts that could not be read, each with where and why.
    pub damage: Vec<String>,
    /// Where the trace is cut off, if it is.
    pub truncated_at: Option<u64>,
    /// Its recorder still writes it: what is missing is yet to come.
    pub goes_on: bool,
    /// Whom to ask for what is newer: a flight recorder goes on that has this file for its output.
    pub underway: Option<String>,
    /// Events that the recorder had counted as lost before that.
    pub lost_so_far: u64,
    /// Set if the trace was made from a file of another tool.
    pub imported: Option<Imported>,
}

impl Model {
    /// Reads all there is. `before` sees every record before the census does, which forgets some,
    /// `each` every stretch of time that ended.
    ///
    /// # Errors
    /// If that takes more memory than is allowed.
    pub fn watch(
        mut reader: Reader<'_>,
        allowance: &mut Allowance,
        mut before: impl FnMut(&TraceModel, &Record),
        mut each: impl FnMut(&TraceModel, &Span),
    ) -> Result<Self> {
        let mut model = Model::default();
        for record in reader.by_ref() {
            match record {
                Ok(mut record) => {
                    bound_names(&mut record);
                    allowance.count(weight(&record))?;
                    before(&model.trace_model, &record);
                    model.take(record, &mut each);
                }
                Err(error) => {
                    allowance.count(RECORD_BYTES)?;
                    model.trace_model.damaged();
                    model.damage.push(error.to_string());
                }
            }
        }
        if let Completeness::Truncated {
            offset,
            lost_so_far,
        } = reader.completeness()
        {
            model.truncated_at = Some(offset);
            model.lost_so_far = lost_so_far;
        }
        model.trace_model.reconcile(&reader);
        model.awaited = Awaited::of(&model.trace_model);
        Ok(model)
    }

    fn take(&mut self, record: Record, each: &mut impl FnMut(&TraceModel, &Span)) {
        if let Some(span) = self.trace_model.consume(&record) {
            each(&self.trace_model, &span);
        }
        match record {
            Record::Start(start) => self.start = start,
            Record::Process(process) => self.processes.push(process),
            Record::Module(module) => self.modules.push(module),
            Record::Site(site) => {
                self.sites.insert(site.id, site);
            }
            Record::Chain(chain) => {
                self.chains.insert(chain.site, chain);
            }
            _ => {}
        }
    }

    /// Refuses a trace in which there is nobody to speak of.
    ///
    /// # Errors
    /// If it has no coroutine; says why that may be.
    pub fn check_not_empty(&self) -> Result<()> {
        let refused = self.refused();
        if self.trace_model.totals().coroutines > 0 {
            return Ok(());
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
                "nothing was recorded: {}, and what it ran, never attached; link the probe, let the \
                 program call attach() before it starts threads, and record again",
                self.program()
            );
        }
        let pids: Vec<u32> = self.processes.iter().map(|process| process.pid).collect();
        bail!(
            "no coroutine was born, though pid {} attached: trace the places where it spawns them, \
             and record again",
            text::few(&pids)
        )
    }

    /// The coroutine that another one, which may have ended, knows by this number.
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

    /// What to do for coroutines that found no station. An image has the memory that was built into it.
    pub fn how_to_have_room(&self) -> &'static str {
        match self.exit_reason() {
            Some(ExitReason::Image) => {
                "build the program with more stations in its memory (`Memory<N>`)"
            }
            _ => "record with a larger -n/--stations",
        }
    }

    /// Coroutines that were not recorded for want of room.
    pub fn refused(&self) -> u64 {
        self.trace_model.end().map_or(0, |end| end.refused)
    }

    /// Processes of the program that are not in the trace, or not all of them, as far as the recorder
    /// knew.
    pub fn unrecorded(&self) -> u64 {
        self.trace_model.end().map_or(0, |end| end.unrecorded)
    }

    /// How many processes of the program are missing, and what that means for what is shown.
    pub fn missing_coroutines(&self) -> String {
        format!(
            "{}: the recorder could not let them in, they could not reach it, or they overwrote their \
             memory; its closing lines say which, and what may help",
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

    /// How long it took.
    pub fn duration(&self) -> Nanos {
        self.trace_model.end_at()
    }

    /// Whether all that was written could be read.
    pub fn is_readable(&self) -> bool {
        self.truncated_at.is_none() && self.damage.is_empty()
    }

    /// Whether it can be known what is missing: no other tool's file tells.
    pub fn knows_losses(&self) -> bool {
        self.is_readable() && self.imported.is_none()
    }

    /// Whether the table of what coroutines waited for is by name, from totals: there are not events
    /// enough for one by site. A flight recorder has those of its window.
    pub fn is_by_name(&self) -> bool {
        self.trace_model.has_aggregates() && self.trace_model.window().is_none()
    }

    /// Whether each event that there was can be shown.
    pub fn has_all_events(&self) -> bool {
        self.is_exact() && self.trace_model.summed_up() == 0
    }

    /// Whether all figures are those of everything that happened, and make sense.
    pub fn is_exact(&self) -> bool {
        self.lost() == 0
            && self.knows_losses()
            && self.trace_model.broken().is_empty()
            && !self.trace_model.is_approximate()
    }
}

/// Names that are too long to be shown are not kept in full, since each may stand at many places.
fn bound_names(record: &mut Record) {
    match record {
        Record::Birth(birth) => text::bound(&mut birth.name),
        Record::EndedSums(ended_sums) => text::bound(&mut ended_sums.name),
        Record::Module(module) => module.path.truncate(LONGEST_PATH),
        Record::Site(site) => match &mut site.place {
            Place::Source { file: name, .. } | Place::Function { name, .. } => text::bound(name),
            _ => {}
        },
        _ => {}
    }
}

/// About what is kept of a record, if it is.
fn weight(record: &Record) -> u64 {
    let more = match record {
        Record::Start(start) => start
            .argv
            .iter()
            .map(|argv| argv.len() + ARGUMENT_BYTES)
            .sum(),
        Record::Module(module) => module.path.len() + module.build_id.len(),
        Record::Birth(birth) => birth.name.len(),
        Record::Chain(chain) => chain.addresses.len() * size_of::<u64>(),
        Record::Site(site) => match &site.place {
            Place::Source { file, .. } => file.len(),
            Place::Function { name, .. } => name.len(),
            _ => 0,
        },
        Record::EndedSums(ended_sums) => ended_sums.name.len(),
        _ => 0,
    };
    RECORD_BYTES + more as u64
}

const RECORD_BYTES: u64 = 64;
/// Linux opens no longer path; the kernel may add ` (deleted)`.
const LONGEST_PATH: usize = 4096 + 16;
const ARGUMENT_BYTES: usize = 24;
