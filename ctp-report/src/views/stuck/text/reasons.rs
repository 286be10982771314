//! Why a verdict was reached, in one sentence, from the numbers of its groups.

use std::collections::BTreeSet;

use ctp_trace::record::Nanos;
use ctp_trace::verdict::{Basis, Blank, ENOUGH, FAR_BEYOND, Fact, Judgement, Reason};

use crate::evidence::blocker_text;
use crate::evidence::resource::WaitsFor;
use crate::names::label;
use crate::text::{self, units};
use crate::views::stuck::model::usual::Usual;
use crate::views::stuck::model::{Group, coroutines};
use crate::views::stuck::text::closings;

/// Why the groups of a section have their verdict.
pub fn section(groups: &[&Group]) -> String {
    let count = coroutines(groups);
    let kept = match (groups.iter().all(|group| group.is_kept_up()), count) {
        (false, _) => "",
        (true, 1) => "; but its thread is kept by another one: see BUSY",
        (true, _) => "; but their threads are kept by others: see BUSY",
    };
    reason(groups) + kept
}

/// For how long those of several groups have been in their state.
pub fn ages(groups: &[&Group]) -> String {
    let least = groups.iter().map(|group| group.members.youngest_ns).min();
    let most = groups.iter().map(|group| group.members.oldest_ns).max();
    units::range(
        Nanos(least.unwrap_or_default()),
        Nanos(most.unwrap_or_default()),
    )
}

fn reason(groups: &[&Group]) -> String {
    let count = coroutines(groups);
    let Judgement {
        fact,
        verdict,
        reason,
        ..
    } = groups[0].group_verdict.judged;
    let fill = |blank| match blank {
        Blank::Word => reason.word().to_owned(),
        Blank::Age => ages(groups),
        Blank::Wakes => wakes(fact, groups).to_owned(),
        Blank::Usual => far_beyond(groups),
        Blank::Lives => beyond_lives(groups, reason),
        Blank::Delays => queueing(groups),
        Blank::Threads => threads(groups),
        Blank::Closed => closings::what(groups),
        Blank::Fds if count == 1 => "its fd".to_owned(),
        Blank::Fds => "their fds".to_owned(),
        Blank::Are if count == 1 => "is".to_owned(),
        Blank::Are => "are".to_owned(),
        Blank::Them if count == 1 => "it".to_owned(),
        Blank::Them => "them".to_owned(),
        Blank::Blockers => roots(groups),
        Blank::ResourceCaveat => closings::sureness(groups, reason.caveat()),
        Blank::BlockerCaveat => blocker_text::sureness(reason.caveat()).to_owned(),
    };
    reason.describe().in_words(verdict, count, fill)
}

/// `id 3, which is stuck`: those after which these go on.
fn roots(groups: &[&Group]) -> String {
    let all = groups.iter().flat_map(|group| &group.evidence.roots);
    let roots: Vec<u32> = BTreeSet::from_iter(all.copied()).into_iter().collect();
    match roots[..] {
        [root] => format!("id {root}, which is stuck"),
        _ => format!("ids {}, which are stuck", text::few(&roots)),
    }
}

fn threads(groups: &[&Group]) -> String {
    let all = groups.iter().flat_map(|group| &group.members.threads);
    let all: Vec<u64> = BTreeSet::from_iter(all.copied()).into_iter().collect();
    format!("tid {}", text::few(&all))
}

fn far_beyond(groups: &[&Group]) -> String {
    let usual = match groups {
        [group] => group.evidence.usual,
        _ => None,
    };
    let Some(usual) = usual else {
        return ", far beyond what their sites usually wait".to_owned();
    };
    let place = match usual.by_name {
        true => "where those of its name usually wait",
        false => "at a site that usually waits",
    };
    let mean = units::duration_ns(usual.mean_ns);
    format!(" {place} {}{mean}", usual.caveat())
}

fn beyond_lives(groups: &[&Group], reason: Reason) -> String {
    match (groups, reason) {
        ([_], Reason::BeyondLives(lives)) => format!(
            "{} like these came and went within {}, and of the last {} none has",
            units::grouped(lives.ended),
            units::duration(lives.longest),
            units::grouped(lives.newest)
        ),
        _ => "many like these came and went in far less time, and of the last none has".to_owned(),
    }
}

fn wakes(fact: Fact, groups: &[&Group]) -> &'static str {
    match fact {
        Fact::NotWoken | Fact::NoWaker
            if groups.iter().all(|group| group.group_verdict.wakes_exact) =>
        {
            "no wake since (exact)"
        }
        Fact::NotWoken | Fact::NoWaker => "no wake counted since",
        _ => "the runtime does not tell of wakes",
    }
}

fn queueing(groups: &[&Group]) -> String {
    let usual = groups.iter().filter_map(|group| group.evidence.usual);
    let (queued, longest) = usual.fold((0, 0), |(queued, longest), usual| {
        (queued + usual.queued, longest.max(usual.longest_queued_ns))
    });
    if groups
        .iter()
        .any(|group| group.evidence.usual.is_some_and(|usual| usual.by_name))
    {
        let longest = units::duration_ns(longest);
        return format!("of its name none ever waited longer than {longest}, woken or not");
    }
    match queued {
        0 => "no other wake of this site is known".to_owned(),
        _ => format!(
            "the longest of {} known delays was {}",
            units::grouped(queued),
            units::duration_ns(longest)
        ),
    }
}

/// What is usual where a group waits.
pub fn usual(group: &Group) -> Option<String> {
    let usual = group.evidence.usual?;
    let caveat = usual.caveat();
    Some(format!(
        "{caveat}{} {}: mean {caveat}{}, 99 % within {caveat}{}, longest {caveat}{}",
        units::counted(usual.waits, "wait"),
        usual.place(),
        units::duration_ns(usual.mean_ns),
        units::duration_ns(usual.p99_ns),
        units::duration_ns(usual.longest_ns)
    ))
}

impl Usual {
    /// Which waits they are compared with.
    fn place(&self) -> &'static str {
        if self.by_name {
            "of its name"
        } else {
            "ended here"
        }
    }

    /// The mark of figures that are approximate.
    fn caveat(&self) -> &'static str {
        if self.exact { "" } else { "~" }
    }
}

/// Whether a group waits as coroutines usually do at its place, or for less than the threshold;
/// else nothing is known that would speak for it or against it.
pub fn is_as_usual(group: &Group) -> bool {
    group.group_verdict.judged.reason.describe().basis != Basis::Nothing
}

/// Whether nothing speaks against a group but how long it waits.
pub fn is_by_length(group: &Group) -> bool {
    group.group_verdict.judged.reason.describe().basis == Basis::Length
}

/// `3 x read_frame src/main.rs:64 (usually resumed after 1.9 ms)`.
pub fn waiting(group: &Group) -> String {
    let what = group.title();
    let at = match group.place.is_placed() {
        true => text::cut_middle(&group.place.at(), 40) + " ",
        false => String::new(),
    };
    let within = group.place.code.within.as_deref().map(label::api);
    let within = within
        .map(|within| format!("in {within} "))
        .unwrap_or_default();
    let awaits = group.place.awaited_by.as_ref();
    let words = awaits.map(|awaits| awaits.describe(group.place.code.file.as_deref()));
    let by = words.and_then(|words| words.into_iter().next());
    let by = by.map(|by| format!("<- {by} ")).unwrap_or_default();
    let kept = thread_kept(group).filter(|_| !is_kept_by_the_same(group));
    let kept = kept.map(|kept| format!("; {kept}")).unwrap_or_default();
    format!(
        "{what} {at}{within}{by}({}{kept}{})",
        detail(group),
        lost(group)
    )
}

/// Who holds its lock, or is awaited, keeps its thread too: that is told once.
fn is_kept_by_the_same(group: &Group) -> bool {
    let blocker = group
        .evidence
        .kept_by
        .first()
        .and_then(|kept_by| kept_by.id);
    let of_thread = group
        .evidence
        .thread_kept_by
        .first()
        .map(|thread_kept_by| thread_kept_by.id);
    group.evidence.thread_kept_by.len() == 1 && blocker == of_thread
}

/// `its thread is kept by id 6 hog, for 4.7 s`.
pub fn thread_kept(group: &Group) -> Option<String> {
    let [first, others @ ..] = &group.evidence.thread_kept_by[..] else {
        return None;
    };
    let owner = match (group.members.count, first.count) {
        (1, _) => "its thread".to_owned(),
        (all, kept) if all == kept => "their thread".to_owned(),
        (_, kept) => format!("the thread of {}", units::grouped(kept as u64)),
    };
    let others = match others.len() as u64 {
        0 => String::new(),
        more => format!(", and others by {}", units::counted(more, "other")),
    };
    Some(format!("{owner} {}{others}", first.keeps()))
}

/// What is not known: a record that is lost may be that of a closing.
fn lost(group: &Group) -> String {
    let lost = group.evidence.lost_meanwhile.map(|lost| lost.in_words());
    lost.map(|records| format!("; {records} lost meanwhile; a closing may be among them"))
        .unwrap_or_default()
}

/// The longest, which is said where others are much shorter.
fn age(group: &Group) -> String {
    let most = units::duration_ns(group.members.oldest_ns);
    match group.members.youngest_ns < group.members.oldest_ns / 2 {
        true => format!("up to {most}"),
        false => most,
    }
}

fn detail(group: &Group) -> String {
    let age = age(group);
    let Judgement { fact, reason, .. } = group.group_verdict.judged;
    match (reason, fact, group.evidence.usual) {
        (Reason::Timer(due), ..) => timer(due, end_of(group)),
        (Reason::Ignored(verdict), ..) => {
            format!("for {age}; {}, but ignored", verdict.word())
        }
        (Reason::InTurn(turn), ..) => format!(
            "for {age}; its lock was taken {} ago by one that had waited for {}",
            units::duration(turn.taken.until(end_of(group))),
            units::duration(turn.waited_since.until(turn.taken))
        ),
        (Reason::NothingToRead(empty), ..) => {
            let others = match group.members.count {
                1 => String::new(),
                count => format!("; the same of {} more", units::grouped(count as u64 - 1)),
            };
            format!(
                "for {age}; nothing to read on fd {}, looked at {} before the end{others}",
                empty.fd,
                units::duration(empty.at.until(end_of(group)))
            )
        }
        (Reason::Idle, ..) => format!("meant to be long, now for {age}"),
        (Reason::Hosts, ..) => format!("running for {age}, and others inside of it"),
        (_, Fact::Running, _) => format!("running for {age}"),
        (_, Fact::NeverRun, _) => format!("born {age} ago, not run yet"),
        (_, Fact::WokenNotRun, _) => woken(group),
        (reason, _, Some(usual)) if usual.waits > 0 => {
            let compared = compared(reason, &usual, &age, group);
            match is_for_giving_back(group) {
                true => of_what(group, &compared),
                false => compared,
            }
        }
        _ => of_what(group, &format!("for {age}")),
    }
}

/// Where it is known when the wake came, that is how long it has been ready.
fn woken(group: &Group) -> String {
    match group.evidence.ready_ns {
        Some(ready) => format!("woken and not run for {}", units::duration_ns(ready)),
        None => format!(
            "woken and not run for {} at most",
            units::duration_ns(group.members.oldest_ns)
        ),
    }
}

/// Others are known to keep it, or one of them has a lock: which one says more than the past does.
fn is_for_giving_back(group: &Group) -> bool {
    let is_lock = |waits: &WaitsFor| waits.kind == "lock";
    !group.evidence.kept_by.is_empty() || group.members.waits_for.first().is_some_and(is_lock)
}

/// `lock: 0x7f001040, for 2.9 s; held by id 7 main_loop`.
fn of_what(group: &Group, how_long: &str) -> String {
    let what = group
        .members
        .waits_for
        .first()
        .map(|waits| waits.describe() + ", ");
    let kept = blocker_text::in_a_clause(&group.evidence.kept_by, group.evidence.kept_by_others);
    format!("{}{how_long}{kept}", what.unwrap_or_default())
}

/// The last step of a proof is the end.
fn end_of(group: &Group) -> Nanos {
    Nanos(group.evidence.proof.steps.last().map_or(0, |end| end.at_ns))
}

/// How long they have waited, beside the past of their site. A few waits are not what is usual.
fn compared(reason: Reason, usual: &Usual, age: &str, group: &Group) -> String {
    let (caveat, mean) = (usual.caveat(), units::duration_ns(usual.mean_ns));
    if reason == Reason::NoPast || usual.waits < ENOUGH {
        let waits = units::counted(usual.waits, "wait");
        let place = usual.place();
        return format!("for {age}; only {caveat}{waits} {place}, mean {caveat}{mean}");
    }
    let is_long = usual.mean_ns.saturating_mul(FAR_BEYOND) < group.members.oldest_ns;
    let now = is_long.then(|| format!(", now for {age}"));
    format!(
        "usually resumed after {caveat}{mean}{}",
        now.unwrap_or_default()
    )
}

fn timer(due: Nanos, end: Nanos) -> String {
    if end < due {
        format!("timer, due in {}", units::duration(end.until(due)))
    } else {
        format!("timer, due {} ago", units::duration(due.until(end)))
    }
}
