//! What is seldom meant: each sort with what to do about it, and the places where it is found.

use std::io;

use ctp_trace::record::Nanos;

use crate::findings::lints::{Finding, Lint};
use crate::text;
use crate::text::page::Page;
use crate::text::units::{count, duration};

/// Places of one sort that are shown.
const PLACES: usize = 3;

const LINTS: &str = "LINTS  what is seldom meant, whether or not anybody is stuck for it; \
                     --allow NAME leaves one out";

/// Writes the findings; `tool` is the program with the trace that it reads.
pub fn page(page: &mut Page, findings: &[Finding], tool: &str) -> io::Result<()> {
    if findings.is_empty() {
        return Ok(());
    }
    page.gap()?;
    page.line(LINTS)?;
    findings
        .chunk_by(|a, b| a.lint == b.lint)
        .try_for_each(|some| of_one_sort(page, some, tool))
}

fn of_one_sort(page: &mut Page, some: &[Finding], tool: &str) -> io::Result<()> {
    let Some(Finding { lint, .. }) = some.first() else {
        return Ok(());
    };
    let mut words = text::words(advice(*lint));
    if *lint == Lint::LostWaker {
        words.push(format!("{tool} --stuck"));
    }
    page.lines(&text::flow("  ", "    ", " ", &words))?;
    let shown = some.iter().take(PLACES);
    shown.map(line).try_for_each(|line| page.line(&line))?;
    match some.len().saturating_sub(PLACES) {
        0 => Ok(()),
        1 => page.line("    and 1 place more (--json has all)"),
        more => page.line(&format!("    and {more} places more (--json has all)")),
    }
}

fn advice(lint: Lint) -> &'static str {
    match lint {
        Lint::SelfWakes => {
            "self-wakes: most wakes are their own, so they yield or poll again rather than wait; \
             leave the waker with what they wait for, or suspend with Wait::to_yield()"
        }
        Lint::NeverYielded => {
            "never-yielded: ran for long without any wait, so that no other could have their \
             thread; await something in between, or use a thread of its own for that"
        }
        Lint::LostWaker => "lost-waker: wait, and no waker of theirs is left: see",
    }
}

fn line(one: &Finding) -> String {
    let function = text::cut_middle(&one.function, 30);
    let left = format!("    {} x {function}  {}", count(one.coroutines), said(one));
    let at = text::cut_middle(one.at.as_deref().unwrap_or("(place not recorded)"), 40);
    text::spread(&left, &at)
}

fn said(one: &Finding) -> String {
    let figures = &one.figures;
    let longest = duration(Nanos(figures.longest_ns));
    let least = if one.exact { "" } else { "at least " };
    match (one.lint, one.coroutines) {
        (Lint::SelfWakes, _) => {
            let (own, all) = (count(figures.own_wakes), count(figures.wakes));
            format!("{least}{own} of {all} wakes")
        }
        (Lint::NeverYielded, 1) if figures.still_run == 1 => format!("{longest}, to the end"),
        (Lint::NeverYielded, 1) => longest,
        (Lint::NeverYielded, _) => {
            let to_the_end = count(figures.still_run);
            format!("up to {longest}, {to_the_end} to the end")
        }
        (Lint::LostWaker, 1) => format!("for {longest}"),
        (Lint::LostWaker, _) => format!("for up to {longest}"),
    }
}
