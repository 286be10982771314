//! The sections about deadlock cycles: what each coroutine waits for, and the proof.

use std::io;

use ctp_trace::verdict::Verdict;

use super::fields::{items, spread_field};
use crate::config::StuckView;
use crate::evidence::blocker_text;
use crate::evidence::proof::{self, ProofStep};
use crate::names::{Names, source};
use crate::text::{self, Page, units};
use crate::views::stuck::model::deadlocks::{CycleMember, Deadlock};

/// How many cycles are written in full without `--ids`.
const MAX_SHOWN: usize = 5;

/// How many members of a cycle, and records of its proof, are written without `--ids`: two thirds
/// from the start, and a third from the end.
const MAX_LISTED: usize = 24;

/// Writes the cycles of a verdict, each with its proof.
pub fn write(
    page: &mut Page,
    all: &[Deadlock],
    verdict: Verdict,
    names: &Names,
    view: &StuckView,
) -> io::Result<()> {
    let cycles: Vec<&Deadlock> = all
        .iter()
        .filter(|deadlock| deadlock.judged.verdict == verdict)
        .collect();
    let limit = if view.all_ids { usize::MAX } else { MAX_SHOWN };
    let (shown, rest) = cycles.split_at(cycles.len().min(limit));
    for deadlock in shown {
        cycle(page, deadlock, names, view)?;
    }
    if rest.is_empty() {
        return Ok(());
    }
    others(page, rest)
}

fn others(page: &mut Page, rest: &[&Deadlock]) -> io::Result<()> {
    let cycles = units::counted(rest.len() as u64, "other cycle");
    let ids: Vec<u32> = rest
        .iter()
        .flat_map(|deadlock| deadlock.cycle.iter().map(|cycle| cycle.id))
        .collect();
    let verdict = rest[0].verdict;
    let message = format!(" {cycles}: ids {}   (--ids shows all)", text::few(&ids));
    page.headline(verdict, &message)?;
    page.gap()
}

fn cycle(page: &mut Page, deadlock: &Deadlock, names: &Names, view: &StuckView) -> io::Result<()> {
    let coroutines = units::counted(deadlock.cycle.len() as u64, "coroutine");
    let rest = format!(" {coroutines}, 1 cycle");
    page.spread_headline(deadlock.verdict, &rest, deadlock.confidence)?;
    page.sentence("  ", "  ", &why(deadlock))?;
    page.gap()?;
    let (first, between, last) = ends(&deadlock.cycle, view);
    first
        .iter()
        .try_for_each(|link| self::link(page, link, names))?;
    if 0 < between {
        let others = units::counted(between as u64, "other");
        page.line(&format!(
            "  .. {others}, each of which waits for the next one   (--ids shows all)"
        ))?;
        page.gap()?;
    }
    last.iter()
        .try_for_each(|link| self::link(page, link, names))?;
    if let Some(blocked) = blocker_text::blocked(&deadlock.blocks, view.all_ids) {
        page.sentence("  they block ", &" ".repeat(13), &blocked)?;
        page.gap()?;
    }
    proof(page, &deadlock.proof, view)
}

/// Returns the first items, how many are left out, and the last items.
fn ends<'t, T>(all: &'t [T], view: &StuckView) -> (&'t [T], usize, &'t [T]) {
    match all.len().checked_sub(MAX_LISTED) {
        Some(between @ 1..) if !view.all_ids => {
            let (first, rest) = all.split_at(MAX_LISTED - MAX_LISTED / 3);
            (first, between, &rest[between..])
        }
        _ => (all, 0, &[]),
    }
}

/// The reason: `deadlock: each waits for a lock that the next one holds, ..; no wake since`.
pub fn why(deadlock: &Deadlock) -> String {
    let mut first_blockers = deadlock.cycle.iter().map(|link| link.blockers.first());
    let are_holders = first_blockers.all(|by| by.is_some_and(|by| by.how == "holder"));
    let what = match (&deadlock.cycle[..], are_holders) {
        ([_], true) => "it waits for a lock that it holds itself",
        ([_], false) => "it waits for itself",
        (_, true) => {
            "each waits for a lock that the next one holds, and the last for one of the first"
        }
        (_, false) if deadlock.cycle.iter().any(is_behind) => {
            "each waits for a lock that the next one holds, or behind the next one for the same lock"
        }
        (_, false) => "each waits for the next one, and the last for the first",
    };
    format!(
        "deadlock: {what}; {}",
        blocker_text::sureness(deadlock.doubted)
    )
}

/// Whether the coroutine waits behind another in the queue of a lock that readers hold.
fn is_behind(link: &CycleMember) -> bool {
    link.blockers.first().is_some_and(|by| by.how == "ahead")
}

/// Writes a coroutine of the cycle: where and for what it waits, and what blocks it.
fn link(page: &mut Page, link: &CycleMember, names: &Names) -> io::Result<()> {
    let name = match (&link.name[..], &link.function) {
        ("", Some(function)) => function,
        (name, _) => name,
    };
    let left = format!("  id {}  {name}", link.id);
    let at = link.at.as_deref().unwrap_or("(place not recorded)");
    page.spread(&left, at)?;
    if let Some(label) = names.of(link.site) {
        let lines = page.context_lines();
        page.cut_lines(&source::excerpt(names.sources(), label, lines))?;
    }
    let since = format!("for {}", units::duration_ns(link.waits_ns));
    let waits = spread_field(&link.waits_for, &since);
    items(page, "waits for", "", &[waits])?;
    // The next coroutine of the cycle has its own entry. Only other blockers are described here.
    let has_others = 1 < link.blockers.len();
    for (name, message) in blocker_text::fields(&link.blockers, 0, has_others) {
        items(page, name, "", &[message])?;
    }
    if let Some(ns) = link.woken_ns {
        let ago = units::duration_ns(ns);
        let message = format!("which has not polled it since it was woken, {ago} ago");
        items(page, "", "", &[message])?;
    }
    page.gap()
}

fn proof(page: &mut Page, steps: &[ProofStep], view: &StuckView) -> io::Result<()> {
    page.line("  proof:")?;
    let lines = proof::lines(steps);
    let (first, between, last) = ends(&lines, view);
    proof::write_lines(page, first)?;
    if 0 < between {
        let others = units::counted(between as u64, "other record");
        page.line(&format!("     .. {others}   (--ids shows all)"))?;
    }
    proof::write_lines(page, last)?;
    page.gap()
}
