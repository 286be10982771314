//! The recording of a running target: reads its memory, passes over the copy, and waits.

use std::time::{Duration, Instant};

use ctp_nostd::inspect::Counters;
use ctp_nostd::{Region, half_written};
use ctp_trace::record::{ExitReason, Nanos};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::memory::{Change, LiveMemory};
use super::source::{LiveSource, SourceError, while_held};
use crate::cli::config::{Config, Verbosity};
use crate::cli::stderr;
use crate::closing::{Capacity, ClosingLines, finish};
use crate::error::{Error, LiveError};
use crate::harvest::{Harvest, Totals};
use crate::image::{Firmware, first_birth_ns};
use crate::launch::signals::Signals;
use crate::memory::clock::Clock;
use crate::memory::shm::Copy;
use crate::output::Output;
use crate::output::start_and_end::{end_record, start_record};
use crate::session::scheduling_priority::ask_for_little;

/// Before the memory is found, the recorder pauses for this many times as long as it searches.
const SEARCH_PAUSES: u32 = 10;

/// How long a memory with another layout is read again before it is refused.
const START_TIME: Duration = Duration::from_millis(200);

/// The file is written this often, so that the reporter can read what is recorded so far.
const FLUSH_EVERY: Duration = Duration::from_secs(1);

/// The time to the next pass while coroutines have many events.
const SHORT_PAUSE: Duration = Duration::from_micros(200);

/// The time that a pass takes.
const PASS_NS: u64 = 200_000;

/// How often the memory is read at the end, until nothing changes during a reading.
const LAST_READINGS: u32 = 16;

/// Why a recording ends.
#[derive(Debug)]
enum EndReason {
    /// A signal asked for it.
    Requested,
    /// The target was reset.
    Reset,
    /// The target cannot be read any more.
    Unreadable(SourceError),
}

/// A recording that has begun.
struct Recording {
    harvest: Harvest,
    output: Output,
    firmware: Firmware,
    counters: Counters,
    stations: u32,
    /// When the target last had something new.
    changed: Instant,
    flushed: Instant,
    /// Something was left for the next pass.
    has_more: bool,
    /// The most events that a coroutine had since the pass before the latest.
    most: u64,
}

/// Records the target until a signal, until it cannot be read, or until it is reset.
///
/// # Errors
/// No coroutine was recorded, or the trace could not be written.
pub fn record(
    config: &Config,
    firmware: Firmware,
    mut source: impl LiveSource,
) -> Result<u8, Error> {
    let mut signals = Signals::watch(&[]).map_err(Error::Wait)?;
    announce(config, &source);
    ask_for_little(PASS_NS);
    let Some(mut memory) = first_coroutine(&mut source, &mut signals)? else {
        return Err(LiveError::Nothing(source.name().to_owned()).into());
    };
    let name = source.name().to_owned();
    let mut recording = Recording::begin(config, firmware, &mut memory, &name)?;
    if config.verbosity > Verbosity::Quiet {
        let notes = source.notes().into_iter();
        notes.for_each(|note| stderr::say(&format!("ctp-record: {note}\n")));
    }
    let reason = recording.run(&mut memory, &mut source, &mut signals)?;
    drop(source); // the target goes on
    if config.verbosity > Verbosity::Quiet {
        reason.explain(&name);
    }
    recording.finish(config, &reason, &mut memory, name)?;
    Ok(reason.status())
}

fn announce(config: &Config, source: &impl LiveSource) {
    if config.verbosity > Verbosity::Quiet {
        let name = source.name();
        stderr::say(&format!("ctp-record: recording {name} until Ctrl-C\n"));
    }
}

/// Waits for the first coroutine. `None` if a signal came first.
fn first_coroutine(
    source: &mut dyn LiveSource,
    signals: &mut Signals,
) -> Result<Option<LiveMemory>, Error> {
    let mut memory = None;
    let mut refused = None::<Instant>;
    loop {
        let begin = Instant::now();
        match has_coroutine(source, &mut memory) {
            Ok(true) => return Ok(memory),
            Ok(false) => {}
            // While the firmware starts, it may not have written the whole of the header.
            Err(SourceError::OtherLayout)
                if refused.get_or_insert(begin).elapsed() < START_TIME => {}
            Err(error) => return Err(LiveError::Source(source.name().to_owned(), error).into()),
        }
        let pause = (begin.elapsed() * SEARCH_PAUSES).max(source.pause());
        if is_ended_by_signal(signals, pause)? {
            return Ok(None);
        }
    }
}

/// Looks for the memory once. Returns whether a coroutine has been born in it.
fn has_coroutine(
    source: &mut dyn LiveSource,
    memory: &mut Option<LiveMemory>,
) -> Result<bool, SourceError> {
    let Some(found) = memory else {
        let address = while_held(source, |source, _| source.find())?;
        *memory = address
            .map(|address| LiveMemory::open(source, address))
            .transpose()?;
        return Ok(false);
    };
    if found.refresh(source)? == Change::Reset {
        *memory = None;
        return Ok(false);
    }
    with_region(&found.copy(), |region| 0 < first_birth_ns(region))
}

/// Calls `read` with a view of a copy, in which no word is half-written.
fn with_region<T>(copy: &[u8], read: impl FnOnce(&Region<'_>) -> T) -> Result<T, SourceError> {
    let copy = Copy::of(copy)?;
    let region = copy.region().map_err(SourceError::Damaged)?;
    half_written::repair(&region);
    Ok(read(&region))
}

impl Recording {
    fn begin(
        config: &Config,
        firmware: Firmware,
        memory: &mut LiveMemory,
        name: &str,
    ) -> Result<Self, Error> {
        let (born_ns, stations) = with_region(&memory.copy(), |region| {
            (first_birth_ns(region), region.stations.len() as u32)
        })
        .map_err(|error| LiveError::Source(name.to_owned(), error))?;
        let zero = Clock {
            monotonic_ns: born_ns,
            ..Clock::start()
        };
        let start = start_record(zero, &[], stations);
        let mut output = Output::create(&config.output, &start, config.backlog(), None)?;
        output.take_place();
        let now = Instant::now();
        let mut recording = Recording {
            harvest: Harvest::new(born_ns),
            output,
            firmware,
            counters: Counters::default(),
            stations,
            changed: now,
            flushed: now,
            has_more: false,
            most: 0,
        };
        let passed = recording.pass(memory);
        passed.map_err(|error| LiveError::Source(name.to_owned(), error))?;
        Ok(recording)
    }

    fn run(
        &mut self,
        memory: &mut LiveMemory,
        source: &mut dyn LiveSource,
        signals: &mut Signals,
    ) -> Result<EndReason, Error> {
        loop {
            match self.read(memory, source) {
                Ok(false) => {}
                Ok(true) => return Ok(EndReason::Reset),
                Err(error) => return Ok(EndReason::Unreadable(error)),
            }
            self.flush();
            if is_ended_by_signal(signals, self.pause(memory, source))? {
                return Ok(self.read_the_rest(memory, source));
            }
        }
    }

    /// Reads what is new. Returns whether the target was reset.
    fn read(
        &mut self,
        memory: &mut LiveMemory,
        source: &mut dyn LiveSource,
    ) -> Result<bool, SourceError> {
        match memory.refresh(source)? {
            Change::Reset => return Ok(true),
            Change::Unchanged if !self.has_more => return Ok(false),
            Change::Unchanged => {}
            Change::Changed { .. } => self.changed = Instant::now(),
        }
        self.pass(memory)?;
        Ok(false)
    }

    /// Reads the memory until nothing changes meanwhile, so that no event is half-read.
    fn read_the_rest(&mut self, memory: &mut LiveMemory, source: &mut dyn LiveSource) -> EndReason {
        for _ in 0..LAST_READINGS {
            let change = match memory.refresh(source) {
                Ok(Change::Reset) => return EndReason::Reset,
                Ok(change) => change,
                Err(error) => return EndReason::Unreadable(error),
            };
            if let Err(error) = self.pass(memory) {
                return EndReason::Unreadable(error);
            }
            if change != (Change::Changed { is_settled: false }) {
                break;
            }
        }
        EndReason::Requested
    }

    fn pass(&mut self, memory: &mut LiveMemory) -> Result<(), SourceError> {
        let (outcome, tail) = with_region(&memory.copy(), |region| {
            self.counters = region.header.counters();
            let outcome = self
                .harvest
                .pass(region, &mut self.firmware, &mut self.output);
            (outcome, region.ring(0).map(|ring| ring.tail()))
        })?;
        if let Some(tail) = tail {
            memory.release(tail);
        }
        self.has_more = outcome.is_behind();
        self.most = outcome.most;
        Ok(())
    }

    /// The time to the next pass.
    fn pause(&self, memory: &LiveMemory, source: &dyn LiveSource) -> Duration {
        if memory.is_crowded(self.most) {
            SHORT_PAUSE
        } else {
            source.pause()
        }
    }

    fn flush(&mut self) {
        if FLUSH_EVERY <= self.flushed.elapsed() {
            self.flushed = Instant::now();
            self.output.flush(self.harvest.totals().lost);
        }
    }

    fn finish(
        mut self,
        config: &Config,
        reason: &EndReason,
        memory: &mut LiveMemory,
        subject: String,
    ) -> Result<(), Error> {
        self.output.allow_waiting();
        memory.end();
        let last = with_region(&memory.copy(), |region| {
            self.harvest
                .finish(region, &mut self.firmware, &mut self.output);
        });
        last.map_err(|error| LiveError::Source(subject.clone(), error))?;
        let totals = self.harvest.totals();
        let end = end_record(
            totals,
            self.end_ns(reason),
            ExitReason::Stopped,
            self.counters,
        );
        let closing = ClosingLines {
            capacity: Capacity {
                stations: self.stations,
                is_static: true,
                ..Capacity::default()
            },
            totals: Totals {
                doubtful: totals.doubtful,
                ..Totals::default()
            },
            ..ClosingLines::new(subject, &config.output, end, self.counters)
        };
        let closing = (config.verbosity > Verbosity::Quiet).then_some(closing);
        Ok(finish::finish_trace(
            self.output,
            &end,
            closing,
            config.verbosity,
        )?)
    }

    /// The end of the recording, on the target's clock: the time of its latest record, and the time since
    /// then, if the target still ran.
    fn end_ns(&self, reason: &EndReason) -> Nanos {
        let latest = self.harvest.latest();
        match reason {
            EndReason::Requested => {
                let since = self.changed.elapsed().as_nanos() as u64;
                Nanos(latest.0.saturating_add(since))
            }
            EndReason::Reset | EndReason::Unreadable(_) => latest,
        }
    }
}

impl EndReason {
    /// Prints why the recording ends, unless the user asked for it.
    fn explain(&self, name: &str) {
        let text = match self {
            EndReason::Requested => return,
            EndReason::Reset => format!(
                "{name} was reset: the recording ends with the last event before that; start ctp-record \
                 again for the next"
            ),
            EndReason::Unreadable(error) => format!("{name} cannot be read any more: {error}"),
        };
        stderr::say(&format!("ctp-record: {text}\n"));
    }

    /// The exit status: 1 after a failure, although what was recorded is complete.
    fn status(&self) -> u8 {
        match self {
            EndReason::Requested
            | EndReason::Reset
            | EndReason::Unreadable(SourceError::Disappeared) => 0,
            EndReason::Unreadable(_) => 1,
        }
    }
}

/// Waits for the next pass. Returns whether a signal came that ends the recording.
fn is_ended_by_signal(signals: &mut Signals, pause: Duration) -> Result<bool, Error> {
    let timeout = Timespec {
        tv_sec: pause.as_secs() as i64,
        tv_nsec: pause.subsec_nanos().into(),
    };
    let mut arrival = [PollFd::new(signals, PollFlags::IN)];
    match poll(&mut arrival, Some(&timeout)) {
        Ok(0) | Err(Errno::INTR) => return Ok(false),
        Ok(_) => {}
        Err(error) => return Err(Error::Wait(error.into())),
    }
    let mut arrived = signals.arrived().into_iter();
    Ok(arrived.any(|signal| signal.asks_for_an_end() || signal.ends_the_recording()))
}
