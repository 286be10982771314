//! The sections on crashes and on broken coroutines, which every page has above its figures.

use std::io;

use crate::findings::contradictions::Broken;
use crate::findings::crash::{Crash, Suspect};
use crate::text;
use crate::text::page::Page;
use crate::text::units;

/// Coroutines that are listed.
const MOST: usize = 8;

/// Says who ran when a fatal signal came.
pub fn crash(page: &mut Page, crash: Option<&Crash>) -> io::Result<()> {
    let Some(crash) = crash else { return Ok(()) };
    page.headline("CRASH", &format!("  {}", crash.headline()))?;
    let is_certain = crash.tid.is_some() || crash.suspects.len() == 1 && !crash.has_hidden;
    for (index, one) in crash.suspects.iter().take(MOST).enumerate() {
        suspect(page, one, is_certain && index == 0)?;
    }
    and_more(page, crash.suspects.len())?;
    page.gap()
}

/// The headline has named the first one already; those inside of which it ran follow.
fn suspect(page: &mut Page, one: &Suspect, is_named: bool) -> io::Result<()> {
    if !is_named {
        page.line(&format!(
            "  id {} {}",
            one.id,
            text::cut_middle(&one.name, 60)
        ))?;
    }
    one.proof.write(page)
}

/// Says whose events contradict each other.
pub fn broken(page: &mut Page, broken: &[Broken]) -> io::Result<()> {
    if broken.is_empty() {
        return Ok(());
    }
    let coroutines = units::counted(broken.len() as u64, "coroutine");
    let rest = "contradict each other; figures in which they count are unreliable";
    let rest = format!("  events of {coroutines} {rest}");
    page.headline("BROKEN", &rest)?;
    for one in broken.iter().take(MOST) {
        let name = format!("  id {} {}", one.id, text::cut_middle(&one.name, 40));
        let times = units::counted(one.count, "contradiction");
        page.line(&text::spread(&name, &times))?;
        for proof in &one.proofs {
            proof.before.write(page)?;
            proof.after.write(page)?;
        }
    }
    and_more(page, broken.len())?;
    page.gap()
}

fn and_more(page: &mut Page, all: usize) -> io::Result<()> {
    match all.saturating_sub(MOST) {
        0 => Ok(()),
        more => page.line(&format!(
            "  and {} more (--json lists all)",
            units::count(more as u64)
        )),
    }
}
