//! The records that support a verdict, in the order of time.

use std::io;

use ctp_trace::model::{Block, Blocker, Closing, Coroutine, Holding};
use ctp_trace::record::{Event, EventKind, Nanos, WaitKind, Wake, Waker};
use ctp_trace::verdict::{Caveat, Fact, Judgement, Reason, State};
use serde::Serialize;

use crate::evidence::missing_wakes::{self, Losses};
use crate::evidence::thread_inspections::ThreadInspection;
use crate::evidence::{Member, observations, resource};
use crate::load::Model;
use crate::names::{Label, Names};
use crate::text::{Page, columns, escape, units};

/// Minimum width of the column with the source of a step.
const MIN_BY_COLUMNS: usize = 10;
/// Maximum width of this column. A longer source moves its own description only.
const MAX_BY_COLUMNS: usize = 32;

/// The proof of the verdict on a coroutine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Proof {
    /// The id of the coroutine.
    pub id: u32,
    /// The id that the program gave the coroutine.
    pub probe_id: u64,
    /// The last events of the coroutine, and the events that are missing.
    pub steps: Vec<ProofStep>,
}

/// A record, or the absence of a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProofStep {
    /// The time.
    pub at_ns: u64,
    /// The thread, or another source of the step.
    pub by: String,
    /// What happened, in words.
    pub what: String,
}

/// A line for each step, with the time, the thread and the description in columns.
pub fn lines(steps: &[ProofStep]) -> Vec<String> {
    let widest = steps.iter().map(|step| columns(&step.by)).max();
    let width = widest.unwrap_or(0).clamp(MIN_BY_COLUMNS, MAX_BY_COLUMNS);
    let line = |step: &ProofStep| {
        let moment = units::moment_ns(step.at_ns);
        let gap = " ".repeat(width.saturating_sub(columns(&step.by)));
        format!("{moment:<15} {}{gap} {}", step.by, step.what)
    };
    steps.iter().map(line).collect()
}

/// Writes the steps below the claim.
pub fn write(page: &mut Page, steps: &[ProofStep]) -> io::Result<()> {
    write_lines(page, &lines(steps))
}

/// Writes lines of steps below the claim.
pub fn write_lines(page: &mut Page, lines: &[String]) -> io::Result<()> {
    lines
        .iter()
        .try_for_each(|line| page.line(&format!("     {line}")))
}

/// Collects the proof of a judgement. `lost` is the closing that failed to wake the coroutine, `block`
/// has the coroutines that block it, and `thread` says where its thread is.
pub fn of(
    model: &Model,
    names: &Names,
    coroutine: &Coroutine,
    judgement: &Judgement,
    lost: Option<&Closing>,
    block: Option<&Block>,
    thread: Option<&ThreadInspection>,
) -> Proof {
    let mut steps = own_steps(model, names, coroutine);
    steps.extend(lost.and_then(|closing| close(model, names, coroutine, closing)));
    let blockers = block.into_iter().flat_map(|block| &block.by);
    steps.extend(blockers.flat_map(|by| blocker(model, names, coroutine, by)));
    // After a close, the same descriptor number may refer to another file.
    if lost.is_none() {
        steps.extend(observed(model, coroutine));
    }
    steps.extend(evidence(judgement.reason));
    let inspected = thread.map(ThreadInspection::proof).unwrap_or_default();
    steps.extend(
        inspected
            .into_iter()
            .map(|(at, what)| step(at, "(outside)", what)),
    );
    steps.sort_by_key(|step| step.at_ns);
    steps.push(end(model, coroutine, judgement));
    Proof {
        id: coroutine.id.0,
        probe_id: coroutine.probe_id,
        steps,
    }
}

/// The latest event and the latest wake. A wake that led to the latest run comes before the suspend that
/// ended this run, even if the wake was timestamped later.
fn own_steps(model: &Model, names: &Names, coroutine: &Coroutine) -> Vec<ProofStep> {
    let last = last_event(model, names, coroutine);
    let wake = wake(model, names, coroutine);
    let polls = idle_polls(coroutine);
    if coroutine.wakes_since_run() != Some(0) {
        return last.into_iter().chain(polls).chain(wake).collect();
    }
    let latest = last.as_ref().map_or(u64::MAX, |last| last.at_ns);
    let before = wake.map(|wake| ProofStep {
        at_ns: wake.at_ns.min(latest),
        ..wake
    });
    before.into_iter().chain(last).chain(polls).collect()
}

fn step(at: Nanos, by: &str, what: String) -> ProofStep {
    ProofStep {
        at_ns: at.0,
        by: by.to_owned(),
        what,
    }
}

fn last_event(model: &Model, names: &Names, coroutine: &Coroutine) -> Option<ProofStep> {
    let Some(last) = coroutine.last else {
        return Some(step(coroutine.born, "", "birth; no event since".to_owned()));
    };
    Some(event(model, names, &last))
}

/// The start of the wait, if idle polls came later, so that the latest event is not the start.
fn idle_polls(coroutine: &Coroutine) -> Option<ProofStep> {
    let polls = coroutine
        .suspend()
        .map_or(0, |_| coroutine.waits.idle_polls);
    let polls = (0 < polls).then(|| units::counted(polls.into(), "time"))?;
    let what = format!("suspend for the same; polled {polls} since, and not woken");
    Some(step(coroutine.waits.since, "", what))
}

/// The step for an event. Its number among the events of the coroutine comes last, since wakes have
/// numbers of their own.
pub fn event(model: &Model, names: &Names, event: &Event) -> ProofStep {
    let what = match event.kind {
        EventKind::Birth => "birth".to_owned(),
        EventKind::Run => "run".to_owned(),
        EventKind::Death => "death".to_owned(),
        EventKind::Suspend => suspend(model, names, event),
    };
    let what = format!("{what} (event #{})", event.n);
    step(event.at, &format!("tid {}", event.tid), what)
}

fn suspend(model: &Model, names: &Names, event: &Event) -> String {
    let at = at(names.short(event.site));
    match event.wait {
        WaitKind::Unknown => format!("suspend{at}"),
        wait => format!(
            "suspend{at}, waits for {}",
            resource::with_deadline(model, Some(event.coroutine), (wait, event.arg))
        ),
    }
}

/// The step for the close, or the end, of what the coroutine waits for.
fn close(
    model: &Model,
    names: &Names,
    coroutine: &Coroutine,
    closing: &Closing,
) -> Option<ProofStep> {
    let wait = coroutine.suspend()?;
    let what = match closing.ended {
        Some((id, _)) => format!("end of id {}", id.0),
        None => format!(
            "close {}{}",
            resource::thing(model, wait),
            at(names.short(closing.site))
        ),
    };
    Some(step(closing.at, &format!("tid {}", closing.tid), what))
}

/// The step for an acquire or release of what the coroutine waits for. `verb` names the operation.
pub fn hold(
    model: &Model,
    names: &Names,
    coroutine: &Coroutine,
    holding: &Holding,
    verb: &str,
) -> ProofStep {
    let thing = coroutine.suspend().map(|wait| resource::thing(model, wait));
    let thing = thing.unwrap_or_default();
    let by = match holding.by {
        Waker::Coroutine(id) => format!("id {}", id.0),
        _ => format!("tid {}", holding.tid),
    };
    let what = format!("{verb} {thing}{}", at(names.short(holding.site)));
    step(holding.at, &by, what)
}

/// The steps for the lock that the coroutine waits for: the acquire and the death of the holder, or
/// the release.
fn blocker(
    model: &Model,
    names: &Names,
    coroutine: &Coroutine,
    blocker: &Blocker,
) -> Vec<ProofStep> {
    let holding = match blocker {
        Blocker::Holder(holding) => holding,
        Blocker::PreviousHolder(holding) => {
            return vec![hold(model, names, coroutine, holding, "release")];
        }
        _ => return Vec::new(),
    };
    let acquire = hold(model, names, coroutine, holding, "acquire");
    let death = holding
        .ended
        .map(|at| step(at, &acquire.by, "death, and no release".to_owned()));
    [acquire].into_iter().chain(death).collect()
}

/// The observations of what the coroutine waits for, made from outside the program.
fn observed(model: &Model, coroutine: &Coroutine) -> Vec<ProofStep> {
    let looked = model.trace_model.looked(coroutine);
    let lines = looked.map(observations::lines).unwrap_or_default();
    lines
        .into_iter()
        .map(|(at, what)| step(at, "(outside)", what))
        .collect()
}

/// Formats ` at reactor.rs:141`, or nothing if the place is unknown.
fn at(short: Option<String>) -> String {
    let at = short.map(|short| format!(" at {short}"));
    at.unwrap_or_default()
}

/// The latest wake of the coroutine, if it waits or has never run.
pub fn wake(model: &Model, names: &Names, coroutine: &Coroutine) -> Option<ProofStep> {
    let mut wake = coroutine.wakes.word.filter(|wake| wake.count > 0)?;
    wake.at = coroutine.wakes.at(&wake);
    let reported = coroutine.wakes.call_of(&wake);
    let by = match wake.waker {
        Waker::Foreign => reported.map_or_else(
            || "unknown".to_owned(),
            |woken| format!("tid {}", woken.tid),
        ),
        Waker::Thread(tid) => format!("tid {tid}"),
        Waker::Coroutine(id) => {
            let alive = model.trace_model.get(id).map(|by| by.name);
            let name = alive
                .or(reported.map(|reported| reported.caller))
                .unwrap_or_default();
            match names.called(model.trace_model.name(name)) {
                None => format!("id {}", id.0),
                Some(name) => format!("id {} {}", id.0, escape(&name)),
            }
        }
    };
    let when = match (coroutine.suspend(), coroutine.state().0) {
        (Some(_), _) => when(&wake, coroutine),
        (None, State::Born) => "before any run".to_owned(),
        _ => return None,
    };
    let label = reported.and_then(|woken| missing_wakes::caller(model, names, woken.site));
    let at = at(label.and_then(Label::short));
    let what = format!("wake{at}, {when} (wake #{})", wake.count);
    Some(step(wake.at, &by, what))
}

/// The time of the last wake relative to the last run of a waiting coroutine.
fn when(wake: &Wake, coroutine: &Coroutine) -> String {
    match (coroutine.wakes_since_run(), coroutine.waits.ran_at) {
        (Some(more @ 1..), _) => format!("{} since its last run began", units::grouped(more)),
        (_, Some(ran)) => format!("{} its last run", order(wake.at, ran)),
        (_, None) => "before its last run".to_owned(),
    }
}

fn order(wake: Nanos, ran: Nanos) -> String {
    if wake <= ran {
        format!("{} before", units::duration(wake.until(ran)))
    } else {
        format!(
            "counted before, stamped {} into",
            units::duration(ran.until(wake))
        )
    }
}

/// The step for the witness that the reason names.
fn evidence(reason: Reason) -> Option<ProofStep> {
    let witness = reason.witness()?;
    let what = witness.what.replace("{time}", &units::moment(witness.time));
    Some(step(witness.at, witness.by, what))
}

fn end(model: &Model, coroutine: &Coroutine, judgement: &Judgement) -> ProofStep {
    let losses = match judgement.reason.caveat() {
        Some(Caveat::Incomplete) => missing(model, coroutine, coroutine.state().1),
        _ => losses(model, coroutine),
    };
    let what = format!("{}; {losses}", since(coroutine, judgement));
    at_the_end(model, coroutine, what)
}

/// Describes the records that threads of the process lost since a given time.
pub fn missing(model: &Model, coroutine: &Coroutine, since: Nanos) -> String {
    match Losses::since(model, coroutine.process, since) {
        None if model.trace_model.window().is_some() => {
            "but a flight recorder may not have all of that time".to_owned()
        }
        None => "but records may be missing".to_owned(),
        Some(lost) => format!("but {} lost", lost.in_words()),
    }
}

/// The longest time that a member has been ready without being run. `None` unless the time is known
/// for every member. After several wakes the time is unknown: the first wake made the coroutine ready,
/// but only the time of the latest wake is known.
pub fn ready_ns(model: &Model, members: &[Member]) -> Option<u64> {
    let ready = members.iter().map(|(coroutine, judgement)| {
        let wait = coroutine
            .suspend()
            .filter(|_| judgement.fact == Fact::WokenNotRun)?;
        let woken = coroutine.wakes.at(&coroutine.wakes.word?);
        // A wake is counted first and timestamped later, so the timestamp may be that of an earlier wake.
        let is_known = coroutine.wakes_since_run() == Some(1)
            && coroutine.waits.ran_at.is_none_or(|ran| ran <= woken);
        let since = is_known.then(|| woken.max(wait.at))?;
        Some(since.until(model.trace_model.end_of(coroutine.process)).0)
    });
    let all: Option<Vec<u64>> = ready.collect();
    all?.into_iter().max()
}

/// The step for the end of the recording, or of the process of the coroutine.
pub fn at_the_end(model: &Model, coroutine: &Coroutine, what: String) -> ProofStep {
    let at = model.trace_model.end_of(coroutine.process);
    let by = if model.trace_model.is_dropped_at_the_end(coroutine.id) {
        "(dropped at the end)"
    } else if at < model.duration() {
        "(its process ended)"
    } else {
        "(end)"
    };
    step(at, by, what)
}

fn since(coroutine: &Coroutine, judgement: &Judgement) -> String {
    if let Some(what) = judgement.reason.describe().at_the_end {
        return what.to_owned();
    }
    match (judgement.fact, coroutine.wakes.word) {
        (Fact::Running, _) => "no suspend since".to_owned(),
        (Fact::WokenNotRun, Some(wake)) => format!("no run since wake #{}", wake.count),
        (Fact::NoWaker, _) => "no waker is left; no wake, no run since".to_owned(),
        (Fact::NotWoken, _) => "no wake, no run since".to_owned(),
        _ => "no run since".to_owned(),
    }
}

/// Describes the lost events of the coroutine.
pub fn losses(model: &Model, coroutine: &Coroutine) -> String {
    if let Some(n) = coroutine.account.torn() {
        return format!("the writer of its event #{n} died in the middle of it");
    }
    match coroutine.account.lost() {
        _ if coroutine.account.uncertain => "part of the trace cannot be read".to_owned(),
        _ if coroutine.account.inexact => "its counts cannot be trusted".to_owned(),
        0 if model.imported.is_some() => "what was lost is not known".to_owned(),
        0 if !model.is_readable() => "nothing of it lost in what could be read".to_owned(),
        0 => "nothing lost in between".to_owned(),
        lost => format!("{} of it lost before that", units::counted(lost, "event")),
    }
}
