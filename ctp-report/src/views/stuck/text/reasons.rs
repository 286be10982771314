//! The sentences that explain verdicts, filled with the numbers of their groups.

use std::collections::BTreeSet;

use ctp_trace::record::Nanos;
use ctp_trace::verdict::{Basis, Blank, ENOUGH, FAR_BEYOND, Fact, Judgement, Level, Reason};

use crate::evidence::blocker_text;
use crate::evidence::resource::WaitsFor;
use crate::names::label;
use crate::text::{self, units};
use crate::views::stuck::model::usual::Usual;
use crate::views::stuck::model::{self, Group};
use crate::views::stuck::text::closings;

/// Says why the groups of a section have their verdict.
pub fn section(groups: &[&Group]) -> String {
    let are_delayed = groups
        .iter()
        .all(|group| group.is_delayed_by_busy_threads());
    let delay = match (are_delayed, model::count(groups)) {
        (false, _) => "",
        (true, 1) => "; but another coroutine blocks its thread: see BUSY",
        (true, _) => "; but other coroutines block their threads: see BUSY",
    };
    reason(groups) + delay
}

/// The range of times that the coroutines of the groups have been in their state.
pub fn ages(groups: &[&Group]) -> String {
    let least = groups.iter().map(|group| group.members.youngest_ns).min();
    let most = groups.iter().map(|group| group.members.oldest_ns).max();
    units::range(
        Nanos(least.unwrap_or_default()),
        Nanos(most.unwrap_or_default()),
    )
}

fn reason(groups: &[&Group]) -> String {
    let count = model::count(groups);
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
        Blank::Closed => closings::describe(groups),
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

/// The coroutines that the groups wait for: `id 3, which is stuck`.
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
    let place = match usual.level {
        Level::Leaf => "though waits of this kind usually take",
        _ => "at a site that usually waits",
    };
    let mean = units::duration_ns(usual.mean_ns);
    format!(" {place} {}{mean}", usual.caveat())
}

fn beyond_lives(groups: &[&Group], reason: Reason) -> String {
    match (groups, reason) {
        ([_], Reason::BeyondLives(lives)) => {
            let (ended, longest) = (lives.ended, units::duration(lives.longest));
            let came = format!("{} like these came and went", units::grouped(ended));
            if lives.newest < ENOUGH {
                format!("{came} within {longest}, and few wait here")
            } else {
                let newest = units::grouped(lives.newest);
                format!("{came} within {longest}, but none of the last {newest} has")
            }
        }
        _ => "many like these came and went in far less time".to_owned(),
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
        _ => "the runtime does not record wakes",
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
        return format!("no coroutine of its name ever waited longer than {longest}, woken or not");
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

/// Where the run of a busy group began, if the place of the group is that of its thread.
pub fn resumed_at(group: &Group) -> Option<(&'static str, String)> {
    let at = group.place.resumed_at.as_ref()?;
    Some(("resumed at", at.to_owned()))
}

/// Describes the usual waits at the place of a group.
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
    /// Says which waits the group is compared with.
    fn place(&self) -> &'static str {
        match self.level {
            Level::Coroutine => "of this coroutine",
            Level::Name => "of its name",
            Level::InnerCalls => "with the same innermost calls",
            Level::Leaf => "of its kind",
            _ => "ended here",
        }
    }

    /// Says which waits usually end.
    fn usually(&self) -> &'static str {
        match self.level {
            Level::Coroutine => "its waits usually end",
            Level::Name => "waits of its name usually end",
            Level::InnerCalls => "waits in the same calls usually end",
            Level::Leaf => "waits of its kind usually end",
            _ => "usually resumed",
        }
    }

    /// The mark of approximate figures.
    fn caveat(&self) -> &'static str {
        if self.exact { "" } else { "~" }
    }
}

/// Whether a group waits no longer than usual at its place, or less than the threshold. If not,
/// there is nothing to compare the group with.
pub fn is_as_usual(group: &Group) -> bool {
    group.group_verdict.judged.reason.describe().basis != Basis::Nothing
}

/// Whether the verdict rests on the length of the wait alone.
pub fn is_by_length(group: &Group) -> bool {
    group.group_verdict.judged.reason.describe().basis == Basis::Length
}

/// Describes a waiting group: `3 x read_frame src/main.rs:64 (usually resumed after 1.9 ms)`.
pub fn waiting(group: &Group) -> String {
    let what = group.title();
    let at = if group.place.is_placed() {
        group.place.at() + " "
    } else {
        String::new()
    };
    let within = group.place.code.within.as_deref().map(label::api);
    let within = within
        .map(|within| format!("in {within} "))
        .unwrap_or_default();
    let awaits = group.place.awaited_by.as_ref();
    let words = awaits.map(|awaits| awaits.describe(group.place.code.shown.as_deref()));
    let by = words.and_then(|words| words.into_iter().next());
    let by = by.map(|by| format!("<- {by} ")).unwrap_or_default();
    let thread = thread_blockers(group).filter(|_| !is_blocker_on_thread(group));
    let thread = thread.map(|text| format!("; {text}")).unwrap_or_default();
    let named = label::few_names(&group.members.names);
    let named = named
        .map(|named| format!("as {named} "))
        .unwrap_or_default();
    format!(
        "{what} {at}{within}{by}{named}({}{thread}{})",
        detail(group),
        lost(group)
    )
}

/// Whether the coroutine that blocks the group also blocks its thread. If so, the coroutine is
/// written only once.
fn is_blocker_on_thread(group: &Group) -> bool {
    let blocker = group
        .evidence
        .blockers
        .first()
        .and_then(|blocker| blocker.id);
    let of_thread = group
        .evidence
        .thread_blockers
        .first()
        .map(|blocker| blocker.id);
    group.evidence.thread_blockers.len() == 1 && blocker == of_thread
}

/// Formats `its thread is blocked by id 6 hog, for 4.7 s`.
pub fn thread_blockers(group: &Group) -> Option<String> {
    let [first, others @ ..] = &group.evidence.thread_blockers[..] else {
        return None;
    };
    let owner = match (group.members.count, first.count) {
        (1, _) => "its thread".to_owned(),
        (all, blocked) if all == blocked => "their thread".to_owned(),
        (_, blocked) => format!("the thread of {}", units::grouped(blocked as u64)),
    };
    let others = match others.len() as u64 {
        0 => String::new(),
        more => format!(", and others by {}", units::counted(more, "other")),
    };
    Some(format!("{owner} {}{others}", first.describe()))
}

/// Says how many records were lost during the wait: a closing may be among them.
fn lost(group: &Group) -> String {
    let lost = group.evidence.lost_meanwhile.map(|lost| lost.in_words());
    lost.map(|records| format!("; {records} lost meanwhile; a closing may be among them"))
        .unwrap_or_default()
}

/// The longest age of a group, with `up to` if the shortest is less than half of that.
fn age(group: &Group) -> String {
    let most = units::duration_ns(group.members.oldest_ns);
    if group.members.youngest_ns < group.members.oldest_ns / 2 {
        format!("up to {most}")
    } else {
        most
    }
}

/// Says how long a waiting group has waited, and what is usual.
pub fn detail(group: &Group) -> String {
    let age = age(group);
    let Judgement { fact, reason, .. } = group.group_verdict.judged;
    match (reason, fact, group.evidence.usual) {
        (Reason::Timer(due), ..) => timer(due, end_of(group)),
        (Reason::Ignored(verdict), ..) => {
            format!("for {age}; {}, but ignored", verdict.word())
        }
        (Reason::InTurn(turn), ..) => format!(
            "for {age}; its lock was taken {} ago by a coroutine that had waited for {}",
            units::duration(turn.taken.until(end_of(group))),
            units::duration(turn.waited_since.until(turn.taken))
        ),
        (Reason::NothingToRead(empty), ..) => {
            let others = match group.members.count {
                1 => String::new(),
                count => format!("; the same for {} more", units::grouped(count as u64 - 1)),
            };
            let place = empty
                .fd
                .map_or("any socket of the process".to_owned(), |fd| {
                    format!("fd {fd}")
                });
            format!(
                "for {age}; nothing to read on {place}, looked at {} before the end{others}",
                units::duration(empty.at.until(end_of(group)))
            )
        }
        (Reason::Idle, ..) => format!("meant to be long, now for {age}"),
        (Reason::Unregistered, ..) => {
            format!("for {age}; its last poll registered no waker, as that of pending()")
        }
        (Reason::Hosts, ..) => format!("running for {age}, and others inside of it"),
        (_, Fact::Running, _) => format!("running for {age}"),
        (_, Fact::NeverRun, _) => format!("born {age} ago, not run yet"),
        (_, Fact::WokenNotRun, _) => woken(group),
        (reason, _, Some(usual)) if usual.waits > 0 => {
            let compared = compared(reason, &usual, &age, group);
            if is_blocker_known(group) {
                with_resource(group, &compared)
            } else {
                compared
            }
        }
        _ => with_resource(group, &format!("for {age}")),
    }
}

/// How long a woken group has been ready. Without the time of the wake, the time since the suspend
/// is the upper limit.
fn woken(group: &Group) -> String {
    match group.evidence.ready_ns {
        Some(ready) => format!("woken and not run for {}", units::duration_ns(ready)),
        None => format!(
            "woken and not run for {} at most",
            units::duration_ns(group.members.oldest_ns)
        ),
    }
}

/// Whether the resource says more than usual waits do: a blocker is known, or the resource is a lock.
fn is_blocker_known(group: &Group) -> bool {
    let first = group.members.waits_for.first();
    !group.evidence.blockers.is_empty() || first.is_some_and(|waits| waits.kind == "lock")
}

/// Adds the resource and its holder: `lock: 0x7f001040, for 2.9 s; held by id 7 main_loop`.
fn with_resource(group: &Group, how_long: &str) -> String {
    let announced = group.members.waits_for.first().map(WaitsFor::describe);
    let what = announced.or_else(|| of_children(group));
    let what = what.map(|what| what + ", ");
    let blockers =
        blocker_text::in_a_clause(&group.evidence.blockers, group.evidence.other_blockers);
    format!("{}{how_long}{blockers}", what.unwrap_or_default())
}

/// The awaited children, if a group waits for the end of a task.
fn of_children(group: &Group) -> Option<String> {
    let leaf = group.members.leaf.as_ref();
    let leaf = leaf.filter(|leaf| !leaf.children.is_empty())?;
    Some(leaf.describe())
}

/// The end of the recording or of the process, which is the last step of every proof.
fn end_of(group: &Group) -> Nanos {
    Nanos(group.evidence.proof.steps.last().map_or(0, |end| end.at_ns))
}

/// For a quiet wait, says why no such wait has ended since.
fn quiet(reason: Reason, group: &Group) -> &'static str {
    match reason {
        Reason::Quiet(_) if group.evidence.wakers_ended => {
            "; quiet: all coroutines that ended such waits have ended"
        }
        Reason::Quiet(_) => "; quiet: nothing that ends such waits has run since",
        _ => "",
    }
}

/// Whether the wait is too long to be usual, although that proves nothing.
pub fn is_unexplained(group: &Group) -> bool {
    matches!(
        group.group_verdict.judged.reason,
        Reason::Quiet(_) | Reason::OnlyCoarse(_)
    )
}

/// Compares the wait with past waits of its site. Fewer than [`ENOUGH`] waits are not called usual.
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
        "{} after {caveat}{mean}{}{}",
        usual.usually(),
        now.unwrap_or_default(),
        quiet(reason, group)
    )
}

fn timer(due: Nanos, end: Nanos) -> String {
    if end < due {
        format!("timer, due in {}", units::duration(end.until(due)))
    } else {
        format!("timer, due {} ago", units::duration(due.until(end)))
    }
}
