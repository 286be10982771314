//! The memories of a recording: the first, which every program finds by its environment, and one
//! for each further process, so that none can damage what another wrote.

use std::io;
use std::sync::Arc;

use ctp_nostd::aggregate::MODE_SUMMARY;
use ctp_nostd::create::{Plan, Recording};
use ctp_nostd::doorbell;
use ctp_nostd::inspect::Counters;
use ctp_nostd::layout::Header;
use ctp_nostd::request;
use ctp_trace::record::ProcessId;

use crate::backlog::Backlog;
use crate::clock::monotonic_ns;
use crate::drainer::Drainer;
use crate::harvest::{Harvest, Sink, Totals};
use crate::pace::Found;
use crate::processes::{Processes, Tenant};
use crate::shm::Memory;

/// All of them, with what was read of each.
#[derive(Debug)]
pub struct Memories {
    plan: Plan,
    recording: Recording,
    backlog: Backlog,
    /// Empties lanes meanwhile, if there are lanes.
    drainer: Option<Drainer>,
    held: Vec<Held>,
    /// What was read of those that are no more.
    gone: Account,
}

/// A memory and its reader.
#[derive(Debug)]
struct Held {
    memory: Arc<Memory>,
    harvest: Harvest,
    /// The only process that has it, unless it is the first memory.
    tenant: Option<u32>,
}

/// What is known of some memories together.
#[derive(Clone, Copy, Debug, Default)]
struct Account {
    totals: Totals,
    counters: Counters,
    /// Memories in which somebody wrote where nobody should.
    damaged: u32,
}

impl Account {
    fn add(&mut self, held: &Held) {
        self.totals += held.harvest.totals();
        match held.memory.region().is_intact() {
            true => self.counters += held.header().counters(),
            false => self.damaged += 1,
        }
    }
}

impl Held {
    fn pass(&mut self, processes: &mut Processes, sink: &mut dyn Sink) -> Found {
        let mut tenant = Tenant::of(processes, self.tenant);
        self.harvest.pass(&self.memory.region(), &mut tenant, sink)
    }

    fn finish(&mut self, processes: &mut Processes, sink: &mut dyn Sink) {
        let mut tenant = Tenant::of(processes, self.tenant);
        self.harvest
            .finish(&self.memory.region(), &mut tenant, sink);
    }

    fn header(&self) -> &Header {
        self.memory.region().header
    }
}

/// One for each copy of the probe that is linked into a process; more ask without end.
const MOST_EACH: usize = 4;

impl Memories {
    /// The first one. Those that follow are of the same plan.
    ///
    /// # Errors
    /// Those of the kernel: no memory, too many files.
    pub fn open(
        plan: Plan,
        recording: Recording,
        inherit: bool,
        backlog: Backlog,
    ) -> io::Result<Self> {
        let memory = Memory::create(plan, &recording, inherit)?;
        let mut memories = Memories {
            plan,
            recording,
            backlog,
            drainer: (0 < plan.lanes).then(Drainer::start).transpose()?,
            held: Vec::new(),
            gone: Account::default(),
        };
        memories.hold(memory, None);
        Ok(memories)
    }

    fn hold(&mut self, memory: Memory, tenant: Option<u32>) {
        let harvest = Harvest::clocked(self.recording.monotonic_ns, monotonic_ns);
        let harvest = match self.recording.mode {
            MODE_SUMMARY => harvest.summing_up(self.recording.bins),
            _ => harvest,
        };
        let mut held = Held {
            memory: Arc::new(memory),
            harvest: harvest.within(self.backlog.clone()),
            tenant,
        };
        if let Some(drainer) = &self.drainer {
            drainer.add(&held.memory, &held.harvest.share_copies());
        }
        self.held.push(held);
    }

    /// The one that programs find by their environment.
    pub fn first(&self) -> &Memory {
        &self.held.first().expect("it is never given up").memory
    }

    /// Fresh memory for this process alone.
    ///
    /// # Errors
    /// Those of the kernel: no memory, too many files. And it has had more than anybody needs.
    pub fn grant(&mut self, pid: u32) -> io::Result<&Memory> {
        let has = self.held.iter().filter(|held| held.tenant == Some(pid));
        if MOST_EACH <= has.count() || request::MOST_MEMORIES <= self.recording.memory {
            return Err(io::ErrorKind::QuotaExceeded.into());
        }
        self.recording.memory += 1;
        let memory = Memory::create(self.plan, &self.recording, false)?;
        self.hold(memory, Some(pid));
        Ok(&self.held.last().expect("it was just made").memory)
    }

    /// Reads what is new in all of them.
    pub fn pass(&mut self, processes: &mut Processes, sink: &mut dyn Sink) -> Found {
        let mut all = Found::default();
        for held in &mut self.held {
            all += held.pass(processes, sink);
        }
        all
    }

    /// Reads the rest and closes every account.
    pub fn finish(&mut self, processes: &mut Processes, sink: &mut dyn Sink) {
        for held in &mut self.held {
            held.finish(processes, sink);
        }
    }

    /// A process is no more: reads what it left. Memory of its own is given up.
    pub fn bury(
        &mut self,
        pid: u32,
        process: ProcessId,
        processes: &mut Processes,
        sink: &mut dyn Sink,
    ) {
        let is_its_own = |held: &mut Held| held.tenant == Some(pid);
        for mut held in self.held.extract_if(.., is_its_own) {
            held.finish(processes, sink);
            self.gone.add(&held);
        }
        let shared = self.held.iter_mut().filter(|held| held.tenant.is_none());
        for held in shared {
            // It may have begun coroutines since the last look: later they would be nobody's.
            held.pass(processes, sink);
            let mut tenant = Tenant::of(processes, held.tenant);
            let region = held.memory.region();
            held.harvest.bury(process, &region, &mut tenant, sink);
        }
    }

    /// Announces that nobody looks.
    pub fn arm(&self) {
        for header in self.headers() {
            doorbell::arm(header.tracer_sleeping());
        }
        self.drainer.iter().for_each(Drainer::rest);
    }

    /// Somebody looks again. True if nobody rang.
    pub fn disarm(&self) -> bool {
        self.drainer.iter().for_each(Drainer::go_on);
        // All of them, also when the first one rang.
        self.headers()
            .map(|header| doorbell::disarm(header.tracer_sleeping()))
            .fold(true, |silent, was_silent| silent & was_silent)
    }

    /// Reads what is new where nobody rang for it: such events were rescued by the tick.
    pub fn rescue(&mut self, processes: &mut Processes, sink: &mut dyn Sink) {
        for held in &mut self.held {
            if held.pass(processes, sink).events > 0 {
                held.header().count_rescue();
            }
        }
    }

    /// The header of each.
    pub fn headers(&self) -> impl Iterator<Item = &Header> {
        self.held.iter().map(Held::header)
    }

    /// What was found so far in all of them, also in those that were given up.
    pub fn totals(&self) -> Totals {
        self.account().totals
    }

    /// Counters of all of them, also of those that were given up.
    pub fn counters(&self) -> Counters {
        self.account().counters
    }

    /// How many of them somebody has damaged. Their counters are not counted.
    pub fn damaged(&self) -> u32 {
        self.account().damaged
    }

    fn account(&self) -> Account {
        let mut account = self.gone;
        self.held.iter().for_each(|held| account.add(held));
        account
    }
}
