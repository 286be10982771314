//! A flame graph of the trace after, with colours for what changed since the trace before.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use ctp_trace::escape::escaped;

use crate::document::flame_graph::{self, Widths};
use crate::text;
use crate::views::diff::matching::SitePair;
use crate::views::diff::profile::SiteIdentity;
use crate::views::diff::series::Series;

/// Nanoseconds before and after, by stack. Frames are text, the outermost first.
type Stacks = BTreeMap<Vec<String>, [u64; 2]>;

/// Draws the time waited at each site. `program` is the name for the title.
///
/// # Errors
/// If no wait ended in the trace after.
pub fn draw(pairs: &[SitePair], program: &str) -> Result<String> {
    let folded: String = stacks(pairs)
        .iter()
        .map(|(frames, [before, after])| {
            let (before_us, after_us) = (before / 1_000, after / 1_000);
            format!("{} {before_us} {after_us}\n", escaped(&frames.join(";")))
        })
        .collect();
    if folded.lines().all(|line| line.ends_with(" 0")) {
        bail!("no wait ended in the trace after, so there is nothing to draw");
    }
    let title = format!("{program}: waiting time, and what changed");
    let about = "widths: time waited after; red: longer than before; blue: shorter";
    flame_graph::flame(&folded, &title, about, Widths::Changes)
}

fn stacks(pairs: &[SitePair]) -> Stacks {
    let mut stacks = Stacks::new();
    for pair in pairs {
        let Some(identity) = pair.identity() else {
            continue;
        };
        let waited =
            |site: Option<(&SiteIdentity, &Series)>| site.map_or(0, |(_, series)| series.waited_ns);
        let sums = stacks.entry(frames(identity)).or_default();
        sums[0] = sums[0].saturating_add(waited(pair.before));
        sums[1] = sums[1].saturating_add(waited(pair.after));
    }
    stacks
}

fn frames(identity: &SiteIdentity) -> Vec<String> {
    let frames = [
        identity
            .name
            .clone()
            .filter(|name| *name != identity.function),
        identity.awaited_by.clone(),
        Some(format!(
            "{} {} ({})",
            identity.function,
            identity.at(),
            identity.waits_for
        )),
    ];
    let frames = frames.into_iter().flatten();
    frames
        .map(|frame| text::escape(&frame).replace(';', ","))
        .collect()
}
