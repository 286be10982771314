//! The page of `--stuck`: each group with its verdict, evidence and proof.

mod awaited;
mod closings;
mod cycles;
mod fields;
mod missing_wakes;
mod reasons;
mod sentences;
mod threads;

use std::io;

use ctp_trace::model::{Gap, gaps};
use ctp_trace::record::{LeafKind, Nanos};
use ctp_trace::verdict::{Fact, Reason, Verdict};

use crate::config::StuckView;
use crate::config::filter::Filter;
use crate::document::hints;
use crate::evidence::proof;
use crate::evidence::selection::notice;
use crate::evidence::thread_inspections::ThreadInspection;
use crate::names::chains::AwaitChain;
use crate::names::{Names, source};
use crate::text::{self, ContextLines, Page, units};
use crate::views::stuck::inspected::Findings;
use crate::views::stuck::model::deadlocks::Deadlock;
use crate::views::stuck::model::{self, Group, Relation, Relations};
use crate::views::stuck::unrecorded;

pub use fields::items;
use fields::{branch_line, fields};
pub use sentences::sentences;

/// What the page shows.
pub struct ShownGroups<'s> {
    /// The coroutines, by verdict and site.
    pub groups: &'s [Group],
    /// The cycles of deadlocks.
    pub deadlocks: &'s [Deadlock],
    /// Threads of the blocking pool.
    pub pool: &'s [ThreadInspection],
    /// Tasks that are not recorded.
    pub tasks: Findings<'s>,
    /// How many coroutines the filter leaves out.
    pub left_out: usize,
    /// The waits about which the trace says too little.
    pub gaps_of_waits: Vec<Gap>,
}

/// Writes all groups, the worst first. Deadlocks are written cycle by cycle.
pub fn page(
    page: &mut Page,
    shown: &ShownGroups,
    (names, view): (&Names, &StuckView),
) -> io::Result<()> {
    let (groups, deadlocks) = (shown.groups, shown.deadlocks);
    summary(page, shown, view.threshold)?;
    let relations = Relations::of(groups);
    for verdict in order(groups) {
        cycles::write(page, deadlocks, verdict, names, view)?;
        sections(groups, verdict)
            .iter()
            .try_for_each(|section| self::section(page, section, names, view))?;
    }
    unrecorded::write(page, &shown.tasks, view)?;
    threads::blocking_pool(page, shown.pool)?;
    let (named, idle): (Vec<&Group>, Vec<&Group>) = of(groups, Verdict::Waiting)
        .partition(|group| relations.of_group(group) == Relation::Named);
    list(page, "WAITING, and named above:", &named)?;
    let [others, filtered] = unknown_sections(groups);
    unknown(page, &others)?;
    unknown(page, &filtered)?;
    waiting(page, &idle)
}

/// Writes how many coroutines and tasks the filter admits, unless all.
pub fn filtered(page: &mut Page, filter: &Filter, counts: (usize, usize)) -> io::Result<()> {
    notice::write(page, filter, counts, "are shown and checked")
}

/// The groups of a verdict that are not in cycles, those with the same fact and reason together.
fn sections(groups: &[Group], verdict: Verdict) -> Vec<Vec<&Group>> {
    let groups = of(groups, verdict).filter(|group| !group.is_of_a_cycle());
    let groups: Vec<&Group> = groups.collect();
    let sections = groups.chunk_by(|a, b| {
        (a.group_verdict.state, a.group_verdict.reason)
            == (b.group_verdict.state, b.group_verdict.reason)
    });
    sections.map(<[&Group]>::to_vec).collect()
}

fn of(groups: &[Group], verdict: Verdict) -> impl Iterator<Item = &Group> {
    groups
        .iter()
        .filter(move |group| group.verdict() == verdict)
}

/// Writes the first sentence: that nothing looks stuck, or that no coroutine makes progress. Writes nothing
/// if some coroutine is stuck and others make progress.
fn summary(page: &mut Page, shown: &ShownGroups, threshold: Nanos) -> io::Result<()> {
    let groups = shown.groups;
    // The coroutines that the filter leaves out may make progress.
    let is_whole = shown.left_out == 0;
    let still = no_progress(groups, threshold).filter(|_| is_whole);
    if !groups.iter().any(|group| group.verdict().is_stuck()) {
        let busy: Vec<&Group> = of(groups, Verdict::Busy).collect();
        if shown.tasks.is_any_stuck() {
            page.line("No recorded coroutine looks stuck, but tasks do that are not recorded.")?;
        } else {
            page.line(&nothing(threshold, &busy, still.as_deref()))?;
            let caveat = gaps::caveat(&shown.gaps_of_waits);
            let caveat = caveat.map(|caveat| text::capitalized(&caveat) + ".");
            caveat.map_or(Ok(()), |caveat| page.sentence("", "", &caveat))?;
        }
        page.gap()?;
    } else if let Some(still) = still {
        let caveat = text::capitalized(&still) + "; an idle program looks the same.";
        page.sentence("", "", &caveat)?;
    }
    Ok(())
}

/// `Nothing looks stuck (threshold 1.0 s), but 1 coroutine has run for 5.0 s: see BUSY below.`
fn nothing(threshold: Nanos, busy: &[&Group], still: Option<&str>) -> String {
    let threshold = units::duration(threshold);
    let nothing = format!("Nothing looks stuck (threshold {threshold})");
    let count = busy.iter().map(|group| group.members.count as u64).sum();
    let coroutines = units::counted(count, "coroutine");
    match (count, reasons::ages(busy)) {
        (0, _) => match still {
            Some(still) => format!("{nothing}, but {still}."),
            None => format!("{nothing}."),
        },
        (1, long) => format!("{nothing}, but {coroutines} has run for {long}: see BUSY below."),
        (_, long) => format!("{nothing}, but {coroutines} have run for {long}: see BUSY below."),
    }
}

fn is_unproven(group: &Group) -> bool {
    !reasons::is_as_usual(group) || reasons::is_unexplained(group)
}

/// Describes a program without progress: `none of the 7 coroutines alive has run for 5.0 s`. `None` unless
/// all coroutines have waited for at least the threshold, and at least one of these waits can be judged
/// only by its length.
fn no_progress(groups: &[Group], threshold: Nanos) -> Option<String> {
    let since = groups.iter().map(|group| group.members.youngest_ns).min()?;
    let all_wait = groups
        .iter()
        .all(|group| group.verdict() == Verdict::Waiting || reasons::is_by_length(group));
    let is_unproven = groups
        .iter()
        .any(|group| is_unproven(group) || reasons::is_by_length(group));
    let count: usize = groups.iter().map(|group| group.members.count).sum();
    let long = units::duration_ns(since);
    let subject = match count {
        1 => "the only coroutine alive has not run for".to_owned(),
        _ => format!(
            "none of the {} coroutines alive has run for",
            units::grouped(count as u64)
        ),
    };
    (all_wait && is_unproven && threshold.0 <= since).then(|| format!("{subject} {long}"))
}

/// The order of verdicts, usually the worst first. BUSY comes earlier if busy threads may explain a
/// stuck group.
fn order(groups: &[Group]) -> [Verdict; 4] {
    let [worst, stuck, maybe, busy] = [
        Verdict::Deadlock,
        Verdict::Stuck,
        Verdict::MaybeStuck,
        Verdict::Busy,
    ];
    if groups
        .iter()
        .any(|group| group.verdict().is_stuck() && group.is_explained_by_busy_threads())
    {
        [worst, busy, stuck, maybe]
    } else {
        [worst, stuck, maybe, busy]
    }
}

/// Writes groups that share a verdict and a reason: the headline, why, and each place.
fn section(page: &mut Page, groups: &[&Group], names: &Names, view: &StuckView) -> io::Result<()> {
    let coroutines = units::counted(model::count(groups) as u64, "coroutine");
    let sites = units::counted(groups.len() as u64, "site");
    let verdict = groups[0].group_verdict.verdict;
    let confidence = groups[0].group_verdict.confidence;
    let counts = format!(" {coroutines}, {sites}");
    let taken = [verdict, &counts, confidence].map(text::columns);
    let room = page
        .width()
        .edge()
        .saturating_sub(taken.iter().sum::<usize>() + 2);
    let rest = counts + &awaited::in_headline(groups, room);
    page.spread_headline(verdict, &rest, confidence)?;
    page.sentence("  ", "  ", &reasons::section(groups))?;
    page.gap()?;
    groups
        .iter()
        .try_for_each(|group| block(page, group, names, view))
}

/// Writes a group: its source lines, its fields, and the proof for its oldest member.
fn block(page: &mut Page, group: &Group, names: &Names, view: &StuckView) -> io::Result<()> {
    let left = format!("  {}", group.title());
    page.spread(&left, &group.place.at())?;
    if let Some(label) = group.place.label(names) {
        let lines = page.context_lines();
        page.cut_lines(&source::excerpt(names.sources(), label, lines))?;
    }
    if let Some(awaits) = &group.place.awaited_by {
        let words = awaits.describe(group.place.code.shown.as_deref());
        items(page, "awaited by", "  <-  ", &words)?;
        awaiting_source(page, awaits, names)?;
    }
    let words = ["branches"].into_iter().chain(std::iter::repeat(""));
    for (word, branch) in words.zip(&group.place.branches) {
        items(page, word, ", ", &[branch_line(branch)])?;
    }
    for (field, value) in fields(group, view) {
        items(page, field, ", ", &[value])?;
    }
    if view.all_ids {
        let ids: Vec<String> = group.members.ids.iter().map(u32::to_string).collect();
        items(page, "ids", ", ", &ids)?;
    }
    if let Some(inspection) = &group.evidence.thread {
        threads::stack(page, inspection)?;
    }
    if let Some(calls) = &group.evidence.stack {
        threads::of_coroutine(page, calls)?;
    }
    page.gap()?;
    missing_wakes::write(page, group)?;
    proof(page, group)
}

/// Writes the source lines of the function that awaits this place, where there is room.
fn awaiting_source(page: &mut Page, awaits: &AwaitChain, names: &Names) -> io::Result<()> {
    let lines = page.context_lines();
    match awaits.frames.first() {
        Some(label) if lines == ContextLines::MANY => {
            page.cut_lines(&source::excerpt(names.sources(), label, lines))
        }
        _ => Ok(()),
    }
}

fn proof(page: &mut Page, group: &Group) -> io::Result<()> {
    let proof = &group.evidence.proof;
    page.line(&format!("  proof for id {}:", proof.id))?;
    proof::write(page, &proof.steps)?;
    page.gap()
}

fn unknown(page: &mut Page, groups: &[&Group]) -> io::Result<()> {
    if groups.is_empty() {
        return Ok(());
    }
    let coroutines = units::counted(model::count(groups) as u64, "coroutine");
    let rest = format!(" {coroutines}: {}", why_unknown(groups));
    page.headline("UNKNOWN", &rest)?;
    groups.iter().try_for_each(|group| {
        let left = format!("  {}", group.title());
        page.spread(&left, &group.place.at())?;
        page.line(&format!("     ids {}", text::few(&group.members.ids)))?;
        missing_wakes::lost(page, group)
    })?;
    page.gap()
}

/// The groups without a verdict: because records are missing, and because a filter kept records out.
fn unknown_sections(groups: &[Group]) -> [Vec<&Group>; 2] {
    let (filtered, others) = of(groups, Verdict::Unknown).partition(|group| is_filtered(group));
    [others, filtered]
}

fn why_unknown(groups: &[&Group]) -> String {
    let lost = groups
        .iter()
        .fold(0, |sum: u64, group| sum.saturating_add(group.members.lost));
    let running = groups
        .iter()
        .all(|group| group.group_verdict.judged.fact == Fact::Running);
    match lost {
        _ if groups.iter().all(|group| is_filtered(group)) => {
            "a filter excluded their last events".to_owned()
        }
        0 if running => {
            "last seen running; whether they still run or have ended is not recorded".to_owned()
        }
        0 => "part of the trace cannot be read; a wake or a run may be among them".to_owned(),
        lost => format!(
            "{} lost; a wake or a run may be among them",
            units::counted(lost, "event")
        ),
    }
}

fn is_filtered(group: &Group) -> bool {
    matches!(group.group_verdict.judged.reason, Reason::Filtered(_))
}

/// Writes the groups that wait as usual, then the groups without usual waits to compare with.
fn waiting(page: &mut Page, groups: &[&Group]) -> io::Result<()> {
    let (usual, unproven): (Vec<&Group>, Vec<&Group>) =
        groups.iter().partition(|group| reasons::is_as_usual(group));
    list(page, "WAITING, not stuck:", &usual)?;
    list(page, "WAITING, nothing to compare with:", &unproven)
}

fn list(page: &mut Page, title: &str, groups: &[&Group]) -> io::Result<()> {
    if groups.is_empty() {
        return Ok(());
    }
    page.title(title)?;
    groups
        .iter()
        .try_for_each(|group| page.sentence("  ", "      ", &reasons::waiting(group)))?;
    page.gap()
}

const FRAMES: &str =
    "to see who awaits whom: build the program with RUSTFLAGS=\"-C force-frame-pointers=yes\"";
const PRECISE: &str =
    "to see where in the function they wait: record with ctp-record --precise-chains";
const HOLDERS: &str =
    "to see which coroutine holds the lock: let locks call acquired and released (docs/tokio.md)";

/// Writes the commands that the user may want next. `tool` is the command line with the trace, and `by_name`
/// says whether the trace holds totals by name.
pub fn hints(
    page: &mut Page,
    (tool, by_name): (&str, bool),
    groups: &[Group],
    names: &Names,
    view: &StuckView,
) -> io::Result<()> {
    let check = (!view.fail).then(|| format!("for scripts: {tool} --stuck --fail"));
    let rebuild = groups
        .iter()
        .any(|group| names.is_frameless(group.place.site))
        .then(|| FRAMES.to_owned());
    let is_unchained = groups.iter().any(|group| is_unchained(group, names));
    let precise = is_unchained.then(|| PRECISE.to_owned());
    let holders = groups.iter().any(waits_for_unannounced_lock);
    let next = check
        .into_iter()
        .chain([hints::time_view(tool, by_name)])
        .chain(rebuild)
        .chain(precise)
        .chain(holders.then(|| HOLDERS.to_owned()));
    page.list("", "", hints::GAP, &next.collect::<Vec<_>>())
}

/// Whether a recording with `--precise-chains` could show where in the function a stuck group waits. That
/// option helps only if the wait has a waker.
fn is_unchained(group: &Group, names: &Names) -> bool {
    let is_kept = matches!(
        group.group_verdict.judged.fact,
        Fact::NotWoken | Fact::WokenNotRun
    );
    is_kept && group.verdict().is_stuck() && names.is_unchained(group.place.site)
}

/// Whether a stuck group waits for a lock that does not report its holders.
fn waits_for_unannounced_lock(group: &Group) -> bool {
    let leaf = group.members.leaf.as_ref();
    group.verdict().is_stuck() && leaf.is_some_and(|leaf| leaf.kind == LeafKind::Lock)
}
