//! What is said of a coroutine, and of what it did.

use ctp_trace::record::{WaitKind, Waker};
use ctp_trace::verdict::{Confidence, Fact, Verdict};

use super::Picture;
use crate::evidence::{blocker_text, blockers, missing_wakes, resource};
use crate::findings::crash::Crash;
use crate::names::Label;
use crate::text::units::{counted, duration, duration_ns, grouped, moment};
use crate::views::timeline::model::{By, Doing, Mark, Member, Piece, Row};

/// The class of what is coloured by verdict.
pub fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Deadlock | Verdict::Stuck | Verdict::MaybeStuck => "bad",
        Verdict::Busy => "warn",
        Verdict::Unknown => "unsure",
        _ => "good",
    }
}

/// The class of what is said of one coroutine.
pub fn row_class(picture: &Picture, member: &Member) -> &'static str {
    match picture.crash_of(member) {
        Some(_) => "bad",
        None => class(member.verdict),
    }
}

/// What is said of the one that crashed.
pub fn crash(crash: &Crash, member: &Member) -> String {
    let at = moment(member.until);
    let tid = crash.tid.map(|tid| format!(" on thread {tid}"));
    format!(
        "{} ended the program at {at}, while this ran{}",
        crash.signal,
        tid.unwrap_or_default()
    )
}

/// What a coroutine is called.
pub fn name(picture: &Picture, member: &Member) -> String {
    let name = picture.names.called(picture.model.census.name(member.name));
    name.unwrap_or_else(|| function(picture, member))
}

/// The function where it is, else its name.
pub fn function(picture: &Picture, member: &Member) -> String {
    let name = picture.model.census.name(member.name);
    picture.names.function(member.site, name)
}

/// What stands at the right of a row.
pub fn end(member: &Member) -> String {
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

/// What a bar says that never ended.
pub fn open(picture: &Picture, member: &Member, piece: &Piece) -> String {
    let what = match (member.verdict, member.fact) {
        (Verdict::Unknown, _) => "what came is not known",
        (_, Fact::NoWaker) => "no waker left",
        (_, Fact::NotWoken) => "not woken",
        (_, Fact::WokenNotRun) => "woken but not run",
        (_, Fact::NeverRun) => "never run",
        (_, Fact::Running) => "runs",
        _ => "waits",
    };
    let resource = match piece.doing {
        Doing::Waits(_, wait, arg) if wait != WaitKind::Unknown => {
            format!(", waits for {}", resource(picture, wait, arg))
        }
        _ => String::new(),
    };
    format!("{what} since {}{resource}", moment(member.since))
}

/// What it does to the end, and who keeps it.
pub fn open_at_length(picture: &Picture, member: &Member, piece: &Piece) -> String {
    let mut said = vec![open(picture, member, piece)];
    said.extend(kept(picture, member));
    said.join("\n")
}

/// Who keeps it at the end, and what those do; and why that is not certain.
fn kept(picture: &Picture, member: &Member) -> Vec<String> {
    let (blocks, one) = (picture.blocks, picture.model.census.get(member.id));
    let (Some(block), Some(one)) = (blocks.of(member.id), one) else {
        return Vec::new();
    };
    let all = blockers::of(picture.model, picture.names, blocks, one);
    let mut said = blocker_text::lines(&all);
    said.extend(blocker_text::doubt(block.doubt).map(str::to_owned));
    said
}

/// What a short label in a bar says.
pub fn label(picture: &Picture, piece: &Piece) -> Option<String> {
    match piece.doing {
        Doing::Waits(_, WaitKind::Unknown, _) => Some(duration_ns(piece.length())),
        Doing::Waits(_, wait, arg) => Some(resource(picture, wait, arg)),
        Doing::Runs(thread) => Some(format!("thread {thread}")),
        Doing::Lost(0) => None,
        Doing::Lost(lost) => Some(format!("{} lost", grouped(lost))),
        _ => None,
    }
}

/// All about a bar.
pub fn piece(picture: &Picture, piece: &Piece) -> String {
    let length = duration_ns(piece.length());
    let what = match piece.doing {
        Doing::Born => "born, not run yet".to_owned(),
        Doing::Runs(thread) => format!("runs on thread {thread}"),
        Doing::Waits(site, wait, arg) => {
            let at = picture
                .names
                .at(site)
                .map(|at| format!(" at {at}"))
                .unwrap_or_default();
            format!("waits for {}{at}", resource(picture, wait, arg))
        }
        Doing::Lost(0) => "not known".to_owned(),
        Doing::Lost(lost) => format!("{} lost", counted(lost, "event")),
        Doing::Mixed { pieces, ran, lost } => {
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

fn resource(picture: &Picture, wait: WaitKind, arg: u64) -> String {
    resource::with_deadline(picture.model, None, (wait, arg))
}

/// All about a row.
pub fn row(picture: &Picture, row: &Row) -> String {
    let member = &row.member;
    let mut said = vec![format!("{} #{}", name(picture, member), member.id.0)];
    said.extend(picture.crash_of(member).map(|it| crash(it, member)));
    said.extend([
        verdict(member),
        place(picture, member),
        format!("born {}", moment(member.born)),
    ]);
    said.extend(
        picture
            .names
            .at(member.spawned)
            .map(|at| format!("spawned at {at}")),
    );
    said.push(format!(
        "{}, {} lost",
        counted(row.events.0, "event"),
        grouped(row.events.1)
    ));
    if 0 < row.moved {
        said.push(counted(row.moved, "thread change"));
    }
    said.extend(wake(picture, row));
    said.extend(row.lost.map(|mark| closed(picture, &mark)));
    said.extend(kept(picture, member));
    said.join("\n")
}

fn verdict(member: &Member) -> String {
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

fn place(picture: &Picture, member: &Member) -> String {
    let at = picture
        .names
        .at(member.site)
        .unwrap_or_else(|| "(place not recorded)".to_owned());
    format!("at {} {at}", function(picture, member))
}

/// Who closed what it waited for, where and when.
pub fn closed(picture: &Picture, mark: &Mark) -> String {
    let by = mark.by.map(|it| format!(" by {}", by(picture, &it)));
    let by = by.unwrap_or_default();
    format!("what it waited for was closed {}{by}", moment(mark.at))
}

/// `thread 7 in Reactor::dispatch, src/reactor.rs:127`.
pub fn by(picture: &Picture, by: &By) -> String {
    let label = missing_wakes::caller(picture.model, picture.names, by.site);
    let function = label.and_then(|label| label.function.as_ref());
    let function = function.map(|it| format!(" in {it}")).unwrap_or_default();
    let at = label.and_then(Label::at).map(|at| format!(", {at}"));
    format!("thread {}{function}{}", by.tid, at.unwrap_or_default())
}

fn wake(picture: &Picture, row: &Row) -> Option<String> {
    let wake = row.wake?;
    let told = row.called.filter(|(count, _)| *count == wake.count);
    let by = match (told, wake.waker) {
        (_, Waker::Coroutine(id)) => format!(" by #{}", id.0),
        (Some((_, by)), _) => format!(" by {}", self::by(picture, &by)),
        (None, Waker::Foreign) => String::new(),
        (None, Waker::Thread(tid)) => format!(" by thread {tid}"),
    };
    Some(match wake.count {
        0 => "never woken".to_owned(),
        count => format!("last woken {}{by} (wake {count})", moment(wake.at)),
    })
}
