//! Labels and tooltips of coroutines and of their activities.

use ctp_trace::record::{LeafKind, SiteId, WaitKind, Waker};
use ctp_trace::verdict::{Confidence, Fact, Verdict};

use super::TimelineChart;
use crate::evidence::{blocker_text, blockers, leaf_wait, missing_wakes, resource};
use crate::findings::crash::Crash;
use crate::names::Label;
use crate::text::units::{counted, duration, duration_ns, grouped, moment};
use crate::views::timeline::model::{MarkAuthor, Piece, PieceKind, Row, RowCandidate, RowMark};

/// The style class for a verdict.
pub fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Deadlock | Verdict::Stuck => "bad",
        Verdict::MaybeStuck => "likely",
        Verdict::Busy => "warn",
        Verdict::Unknown => "unsure",
        _ => "good",
    }
}

/// The style class of a coroutine's labels.
pub fn row_class(chart: &TimelineChart, member: &RowCandidate) -> &'static str {
    match chart.crash_of(member) {
        Some(_) => "bad",
        None => class(member.verdict),
    }
}

/// Describes the crash.
pub fn crash(crash: &Crash, member: &RowCandidate) -> String {
    let at = moment(member.until);
    let tid = crash.tid.map(|tid| format!(" on thread {tid}"));
    format!(
        "{} ended the program at {at}, while this coroutine ran{}",
        crash.signal,
        tid.unwrap_or_default()
    )
}

/// The name of a coroutine, or the function if the program gave no name.
pub fn name(chart: &TimelineChart, member: &RowCandidate) -> String {
    let name = chart
        .names
        .called(chart.model.trace_model.name(member.name));
    name.unwrap_or_else(|| function(chart, member))
}

/// The function in which the coroutine is, or its name.
pub fn function(chart: &TimelineChart, member: &RowCandidate) -> String {
    let name = chart.model.trace_model.name(member.name);
    chart.names.function(member.site, name)
}

/// The label at the right end of a row.
pub fn end(member: &RowCandidate) -> String {
    let age = duration(member.since.until(member.until));
    match member.verdict {
        Verdict::Over if member.fact == Fact::Cancelled => "cancelled".to_owned(),
        Verdict::Over => "ended".to_owned(),
        Verdict::Unknown => "UNKNOWN".to_owned(),
        Verdict::Waiting if member.fact == Fact::Running => format!("runs {age}"),
        Verdict::Waiting if member.fact == Fact::NeverRun => format!("born {age}"),
        Verdict::Waiting => format!("waits {age}"),
        verdict => format!("{} {age}", verdict.word()),
    }
}

/// The label of an activity that never ended.
pub fn open(chart: &TimelineChart, member: &RowCandidate, piece: &Piece) -> String {
    let what = match (member.verdict, member.fact) {
        (Verdict::Unknown, _) => "unknown",
        (_, Fact::NoWaker) => "no waker left",
        (_, Fact::NotWoken) => "not woken",
        (_, Fact::WokenNotRun) => "woken but not run",
        (_, Fact::NeverRun) => "never run",
        (_, Fact::Running) => "runs",
        _ => "waits",
    };
    let resource = match piece.activity {
        PieceKind::Waits(_, wait, arg) if wait != WaitKind::Unknown => {
            format!(", waits for {}", resource(chart, wait, arg))
        }
        PieceKind::Waits(site, ..) => {
            let leaf = leaf(chart, site);
            leaf.map_or_else(String::new, |leaf| format!(", waits for {leaf}"))
        }
        _ => String::new(),
    };
    format!("{what} since {}{resource}", moment(member.since))
}

/// The tooltip of an activity that never ended, with the blockers.
pub fn open_with_blockers(chart: &TimelineChart, member: &RowCandidate, piece: &Piece) -> String {
    let mut message = vec![open(chart, member, piece)];
    message.extend(blocker_lines(chart, member));
    message.join("\n")
}

/// Describes what blocks a coroutine at the end, what the blockers do, and why that is not certain.
fn blocker_lines(chart: &TimelineChart, member: &RowCandidate) -> Vec<String> {
    let (blocks, coroutine) = (chart.blocks, chart.model.trace_model.get(member.id));
    let (Some(block), Some(coroutine)) = (blocks.of(member.id), coroutine) else {
        return Vec::new();
    };
    let all = blockers::of(chart.model, chart.names, blocks, coroutine);
    let mut message = blocker_text::lines(&all);
    message.extend(blocker_text::caveat(block.caveat).map(str::to_owned));
    message
}

/// The short label of a bar.
pub fn label(chart: &TimelineChart, piece: &Piece) -> Option<String> {
    match piece.activity {
        PieceKind::Waits(site, WaitKind::Unknown, _) => {
            let leaf = leaf(chart, site).map(str::to_owned);
            leaf.or_else(|| Some(duration_ns(piece.length())))
        }
        PieceKind::Waits(_, wait, arg) => Some(resource(chart, wait, arg)),
        PieceKind::Runs(thread) => Some(format!("thread {thread}")),
        PieceKind::Lost(0) => None,
        PieceKind::Lost(lost) => Some(format!("{} lost", grouped(lost))),
        _ => None,
    }
}

/// The tooltip of a bar.
pub fn piece(chart: &TimelineChart, piece: &Piece) -> String {
    let length = duration_ns(piece.length());
    let what = match piece.activity {
        PieceKind::Born => "born, not run yet".to_owned(),
        PieceKind::Runs(thread) => format!("runs on thread {thread}"),
        PieceKind::Waits(site, wait, arg) => {
            let at = chart
                .names
                .at(site)
                .map(|at| format!(" at {at}"))
                .unwrap_or_default();
            let leaf = leaf(chart, site).filter(|_| wait == WaitKind::Unknown);
            let what = leaf.map_or_else(|| resource(chart, wait, arg), str::to_owned);
            format!("waits for {what}{at}")
        }
        PieceKind::Lost(0) => "unknown".to_owned(),
        PieceKind::Lost(lost) => format!("{} lost", counted(lost, "event")),
        PieceKind::Mixed { pieces, ran, lost } => {
            let lost = match lost {
                0 => String::new(),
                lost => format!(", {} lost", counted(lost, "event")),
            };
            format!(
                "{} runs and waits, ran {} of it{lost}",
                grouped(pieces),
                duration_ns(ran)
            )
        }
    };
    format!("{length}: {what}, from {}", moment(piece.from))
}

/// What an unannounced wait at a site is for, if its leaf future is known.
fn leaf(chart: &TimelineChart, site: SiteId) -> Option<&'static str> {
    match chart.model.trace_model.leaf_kind_at(site) {
        LeafKind::Unknown => None,
        kind => Some(leaf_wait::phrase(kind)),
    }
}

fn resource(chart: &TimelineChart, wait: WaitKind, arg: u64) -> String {
    resource::with_deadline(chart.model, None, (wait, arg))
}

/// The tooltip of a row.
pub fn row(chart: &TimelineChart, row: &Row) -> String {
    let member = &row.member;
    let mut message = vec![format!("{} #{}", name(chart, member), member.id.0)];
    message.extend(
        chart
            .crash_of(member)
            .map(|crash| self::crash(crash, member)),
    );
    message.extend([
        verdict(member),
        place(chart, member),
        format!("born {}", moment(member.born)),
    ]);
    message.extend(
        chart
            .names
            .at(member.spawned)
            .map(|at| format!("spawned at {at}")),
    );
    message.push(format!(
        "{}, {} lost",
        counted(row.events.0, "event"),
        grouped(row.events.1)
    ));
    if 0 < row.moved {
        message.push(counted(row.moved, "thread change"));
    }
    message.extend(wake(chart, row));
    message.extend(row.lost.map(|mark| closed(chart, &mark)));
    message.extend(blocker_lines(chart, member));
    message.join("\n")
}

fn verdict(member: &RowCandidate) -> String {
    let sure = match member.verdict.confidence() {
        Confidence::Likely => " (likely)",
        _ => "",
    };
    let state = format!("{}{sure}, {}", member.verdict.word(), member.fact.word());
    let age = duration(member.since.until(member.until));
    match member.verdict {
        Verdict::Over => format!("{} {}", member.fact.word(), moment(member.until)),
        _ => format!("{state} since {} ({age})", moment(member.since)),
    }
}

fn place(chart: &TimelineChart, member: &RowCandidate) -> String {
    let at = chart
        .names
        .at(member.site)
        .unwrap_or_else(|| "(place not recorded)".to_owned());
    format!("at {} {at}", function(chart, member))
}

/// Describes the closing of the awaited resource: when, by which thread, and where.
pub fn closed(chart: &TimelineChart, mark: &RowMark) -> String {
    let by = mark.by.map(|by| format!(" by {}", self::by(chart, &by)));
    let by = by.unwrap_or_default();
    format!("the awaited resource was closed {}{by}", moment(mark.at))
}

/// Describes a thread and a place: `thread 7 in Reactor::dispatch, src/reactor.rs:127`.
pub fn by(chart: &TimelineChart, by: &MarkAuthor) -> String {
    let label = missing_wakes::caller(chart.model, chart.names, by.site);
    let function = label.and_then(|label| label.function.as_ref());
    let function = function
        .map(|function| format!(" in {function}"))
        .unwrap_or_default();
    let at = label.and_then(Label::at).map(|at| format!(", {at}"));
    format!("thread {}{function}{}", by.tid, at.unwrap_or_default())
}

fn wake(chart: &TimelineChart, row: &Row) -> Option<String> {
    let wake = row.wake?;
    let reported = row.called.filter(|(count, _)| *count == wake.count);
    let by = match (reported, wake.waker) {
        (_, Waker::Coroutine(id)) => format!(" by #{}", id.0),
        (Some((_, by)), _) => format!(" by {}", self::by(chart, &by)),
        (None, Waker::Foreign) => String::new(),
        (None, Waker::Thread(tid)) => format!(" by thread {tid}"),
    };
    Some(match wake.count {
        0 => "never woken".to_owned(),
        count => format!("last woken {}{by} (wake {count})", moment(wake.at)),
    })
}
