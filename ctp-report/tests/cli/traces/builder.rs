//! Writes traces as a recorder would, from a short description of each coroutine.

use ctp_trace::Writer;
use ctp_trace::record::*;

pub const MS: u64 = 1_000_000;
pub const SECOND: u64 = 1_000_000_000;

/// The program's monotonic clock when the recording began.
pub const MONOTONIC: u64 = 5_000 * SECOND;

pub struct Trace {
    pub start: Start,
    records: Vec<Record>,
    events: Vec<u64>,
    sites: u32,
    lost: u64,
    /// Where coroutines are born.
    pub process: ProcessId,
    /// The first number that the program gives a coroutine.
    pub numbers: u64,
    /// Where healthy coroutines are woken, if their threads record wakes.
    pub dispatch: Option<SiteId>,
    pub end: End,
}

impl Trace {
    pub fn of(command: &str) -> Self {
        let start = Start {
            trace_id: [7; 16],
            recorder: "0.1.0".into(),
            host: "devbox".into(),
            argv: command
                .split(' ')
                .map(|word| word.as_bytes().to_vec())
                .collect(),
            started_unix_ns: 1_767_225_600 * SECOND,
            started_monotonic_ns: MONOTONIC,
            capacity: 65_536,
            precise_chains: false,
        };
        let process = Process {
            id: ProcessId(1),
            pid: 4126,
            attached: Nanos(MS),
        };
        let end = End {
            at: Nanos(12_400 * MS),
            how: ExitReason::Signalled(2),
            ..End::default()
        };
        let records = vec![Record::Process(process)];
        Trace {
            start,
            records,
            events: vec![],
            sites: 0,
            lost: 0,
            process: ProcessId(1),
            numbers: 0,
            dispatch: None,
            end,
        }
    }

    /// The program never attached.
    pub fn detached(mut self) -> Self {
        self.records.clear();
        self
    }

    pub fn add(&mut self, record: Record) {
        self.records.push(record);
    }

    pub fn place(&mut self, place: Place) -> SiteId {
        self.sites += 1;
        let id = SiteId(self.sites);
        self.add(Record::Site(Site {
            id,
            process: ProcessId(1),
            place,
        }));
        id
    }

    pub fn source(&mut self, file: &str, line: u32) -> SiteId {
        self.source_at(file, line, 9)
    }

    pub fn source_at(&mut self, file: &str, line: u32, column: u32) -> SiteId {
        self.place(Place::Source {
            file: file.into(),
            line,
            column,
        })
    }

    pub fn peer(&mut self, dialect: Dialect, name: &str, spawn_site: SiteId, at: u64) -> Coroutine {
        self.events.push(0);
        let coroutine = CoroutineId(u32::try_from(self.events.len()).unwrap());
        self.add(Record::Birth(Birth {
            coroutine,
            process: self.process,
            station: coroutine.0 - 1,
            probe_id: self.numbers + u64::from(coroutine.0),
            at: Nanos(at),
            dialect,
            kind: CoroutineKind::Future,
            name: name.into(),
            spawn_site,
            ..Birth::default()
        }));
        Coroutine(coroutine)
    }

    /// A coroutine of our probe, with its birth event.
    pub fn born(&mut self, name: &str, spawn_site: SiteId, at: u64) -> Coroutine {
        let coroutine = self.peer(Dialect::Extended, name, spawn_site, at);
        self.event(coroutine, EventKind::Birth, at, 4126, Event::default());
        coroutine
    }

    fn event(&mut self, coroutine: Coroutine, kind: EventKind, at: u64, tid: u64, rest: Event) {
        let n = &mut self.events[coroutine.0.0 as usize - 1];
        let event = Event {
            coroutine: coroutine.0,
            n: *n,
            at: Nanos(at),
            tid,
            kind,
            ..rest
        };
        *n += 1;
        self.end.events += 1;
        self.add(Record::Event(event));
    }

    pub fn run(&mut self, coroutine: Coroutine, at: u64, tid: u64) {
        self.run_knowing(coroutine, at, tid, 0);
    }

    /// The same, with a number of known wakes.
    pub fn run_knowing(&mut self, coroutine: Coroutine, at: u64, tid: u64, wake_seen: u16) {
        let rest = Event {
            wake_seen,
            ..Event::default()
        };
        self.event(coroutine, EventKind::Run, at, tid, rest);
    }

    /// The same, after filtered events.
    pub fn run_after_filtered(&mut self, coroutine: Coroutine, at: u64, tid: u64) {
        let number = coroutine.0.0 as usize - 1;
        self.events[number] += 1;
        let rest = Event {
            after_filtered: true,
            ..Event::default()
        };
        self.event(coroutine, EventKind::Run, at, tid, rest);
    }

    pub fn suspend(&mut self, coroutine: Coroutine, at: u64, tid: u64, wait: Wait) {
        let Wait {
            site,
            wait,
            arg,
            wake_seen,
            marks,
        } = wait;
        let rest = Event {
            site,
            wait,
            arg,
            wake_seen,
            marks,
            ..Event::default()
        };
        self.event(coroutine, EventKind::Suspend, at, tid, rest);
    }

    pub fn death(&mut self, coroutine: Coroutine, at: u64) {
        self.dubious_death(coroutine, at, false);
    }

    pub fn dubious_death(&mut self, coroutine: Coroutine, at: u64, inexact: bool) {
        self.event(coroutine, EventKind::Death, at, 4126, Event::default());
        self.event_counts(coroutine, None, inexact);
    }

    pub fn wake(&mut self, coroutine: Coroutine, count: u32, at: u64, waker: Waker) {
        self.add(Record::Wake(Wake {
            coroutine: coroutine.0,
            count,
            waker,
            at: Nanos(at),
        }));
    }

    pub fn thread_event(&mut self, at: u64, tid: u64, act: Act) {
        self.add(Record::ThreadEvent(ThreadEvent {
            process: self.process,
            tid,
            at: Nanos(at),
            act,
        }));
    }

    /// A recorded call of `wake()`.
    pub fn call(&mut self, coroutine: Coroutine, count: u32, at: u64, tid: u64, site: SiteId) {
        let by = Waker::Thread(u32::try_from(tid).unwrap());
        let coroutine = coroutine.0;
        let call = WakeCall {
            coroutine,
            count,
            by,
            site,
        };
        self.thread_event(at, tid, Act::Wake(call));
    }

    pub fn close(&mut self, at: u64, tid: u64, wait: WaitKind, arg: u64, site: SiteId) {
        self.thread_event(at, tid, Act::Close(Close { wait, arg, site }));
    }

    /// Events that happened but were not recorded.
    pub fn lose(&mut self, coroutine: Coroutine, events: u64) {
        self.events[coroutine.0.0 as usize - 1] += events;
        self.lost += events;
    }

    /// Events that are in totals only: so many waits and runs of a length each.
    pub fn sum_up(&mut self, coroutine: Coroutine, waits: &[(u64, u64)], runs: &[(u64, u64)]) {
        self.sum_up_but(coroutine, waits, runs, 0);
    }

    /// The same, but for some that a signal handler left out.
    pub fn sum_up_but(
        &mut self,
        coroutine: Coroutine,
        waits: &[(u64, u64)],
        runs: &[(u64, u64)],
        left_out: u64,
    ) {
        let events: u64 = waits.iter().chain(runs).map(|(_, times)| times).sum();
        self.events[coroutine.0.0 as usize - 1] += events;
        self.add(Record::Aggregate(Box::new(Aggregate {
            coroutine: coroutine.0,
            at: self.end.at,
            stands_for_events: true,
            left_out,
            bins: Bins::USUAL,
            waiting: durations(waits),
            running: durations(runs),
        })));
    }

    /// Totals of all that it did, of which so many events came before a flight recorder's window.
    pub fn fly(
        &mut self,
        coroutine: Coroutine,
        waits: &[(u64, u64)],
        runs: &[(u64, u64)],
        earlier: u64,
    ) {
        self.add(Record::Aggregate(Box::new(Aggregate {
            coroutine: coroutine.0,
            at: self.end.at,
            bins: Bins::USUAL,
            waiting: durations(waits),
            running: durations(runs),
            ..Aggregate::default()
        })));
        self.events[coroutine.0.0 as usize - 1] = earlier;
        self.add(Record::Earlier(Earlier {
            coroutine: coroutine.0,
            events: earlier,
        }));
    }

    pub fn event_counts(&mut self, coroutine: Coroutine, torn: Option<u64>, inexact: bool) {
        let event_counts = self.account(coroutine, torn, inexact);
        self.add(Record::EventCounts(event_counts));
    }

    pub fn account(
        &mut self,
        coroutine: Coroutine,
        torn: Option<u64>,
        inexact: bool,
    ) -> EventCounts {
        let of =
            |record: &&Record| matches!(record, Record::Event(e) if e.coroutine == coroutine.0);
        let recorded = self.records.iter().filter(of).count() as u64;
        let breaks =
            |record: &&Record| of(record) && matches!(record, Record::Event(e) if e.after_filtered);
        let breaks = self.records.iter().filter(breaks).count() as u64;
        let attempted =
            self.events[coroutine.0.0 as usize - 1] - breaks + u64::from(torn.is_some());
        self.lost += u64::from(torn.is_some());
        EventCounts {
            coroutine: coroutine.0,
            attempted,
            recorded,
            torn,
            inexact,
            ..EventCounts::default()
        }
    }

    /// Waits that each end after `length`, one every `period`, from `from` on. Wakes are recorded,
    /// and each run follows its wake after `queued`.
    pub fn healthy(&mut self, coroutine: Coroutine, wait: Wait, beat: &Beat) -> u16 {
        let Beat {
            from,
            period,
            length,
            queued,
            times,
        } = *beat;
        for i in 0..times {
            let at = from + u64::from(i) * period;
            self.suspend(
                coroutine,
                at,
                4127,
                Wait {
                    wake_seen: i,
                    ..wait
                },
            );
            let (count, woken) = (u32::from(i) + 1, at + length - queued);
            if let Some(site) = self.dispatch {
                self.call(coroutine, count, woken, 4126, site);
            }
            self.wake(coroutine, count, woken, Waker::Thread(4126));
            self.run(coroutine, at + length, 4127);
        }
        times
    }

    /// The same, and then the coroutine waits again, from `last` on.
    pub fn healthy_until(&mut self, coroutine: Coroutine, wait: Wait, beat: &Beat, last: u64) {
        let wake_seen = self.healthy(coroutine, wait, beat);
        self.suspend(coroutine, last, 4127, Wait { wake_seen, ..wait });
    }

    fn write(&self, end: Option<End>) -> Vec<u8> {
        let mut writer = Writer::new(Vec::new(), &self.start).unwrap();
        for record in &self.records {
            writer.write(record).unwrap();
        }
        let coroutines = self.events.len() as u64;
        let end = end
            .map(|end| End {
                lost: self.lost,
                coroutines,
                ..end
            })
            .unwrap_or_default();
        writer.finish(&end).unwrap()
    }

    pub fn finish(&self) -> Vec<u8> {
        self.write(Some(self.end))
    }
}

#[derive(Clone, Copy)]
pub struct Coroutine(pub CoroutineId);

#[derive(Clone, Copy, Default)]
pub struct Wait {
    pub site: SiteId,
    pub wait: WaitKind,
    pub arg: u64,
    pub wake_seen: u16,
    pub marks: WaitMarks,
}

#[derive(Clone, Copy)]
pub struct Beat {
    pub from: u64,
    pub period: u64,
    pub length: u64,
    pub queued: u64,
    pub times: u16,
}

pub fn wait(site: SiteId, wait: WaitKind, arg: u64) -> Wait {
    Wait {
        site,
        wait,
        arg,
        wake_seen: 0,
        marks: WaitMarks::default(),
    }
}

pub fn durations(all: &[(u64, u64)]) -> Durations {
    let mut durations = Durations::default();
    for (ns, times) in all {
        (0..*times).for_each(|_| durations.add(Nanos(*ns), Bins::USUAL));
    }
    durations
}
