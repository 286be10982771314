//! What the coroutines of a section wait for, in its headline.

use ctp_trace::record::LeafKind;
use ctp_trace::verdict::Fact;

use crate::evidence::leaf_wait;
use crate::evidence::resource::WaitsFor;
use crate::names::label;
use crate::text;
use crate::views::stuck::model::Group;

/// Formats `, waiting for a lock, for a reply`. Leaves out resources that do not fit into `room` columns.
/// Empty if nothing is known, and for coroutines that run or were woken.
pub fn in_headline(groups: &[&Group], room: usize) -> String {
    let mut all: Vec<String> = Vec::new();
    for what in groups.iter().flat_map(|group| awaited(group)) {
        if !all.contains(&what) {
            all.push(what);
        }
    }
    let shown = (1..=all.len()).rev().map(|count| {
        let more = if count < all.len() { " .." } else { "" };
        format!(", waiting {}{more}", all[..count].join(", "))
    });
    let mut fitting = shown.filter(|shown| text::columns(shown) <= room);
    fitting.next().unwrap_or_default()
}

fn awaited(group: &Group) -> Vec<String> {
    let waits = matches!(
        group.group_verdict.judged.fact,
        Fact::NotWoken | Fact::NoWaker | Fact::Suspended
    );
    if !waits {
        return Vec::new();
    }
    let members = &group.members;
    let announced = members.waits_for.iter().map(WaitsFor::phrase);
    let leaf = members.leaf.iter().map(|leaf| leaf.kind);
    let kinds = leaf.chain(kinds_of_branches(group)).map(leaf_wait::phrase);
    let known: Vec<String> = announced
        .chain(kinds)
        .map(|what| format!("for {what}"))
        .collect();
    if known.is_empty() {
        let within = group.place.code.within.as_deref().map(label::api);
        within
            .map(|within| format!("in {within}"))
            .into_iter()
            .collect()
    } else {
        known
    }
}

/// The known kinds of the branches, except timers, which limit other branches.
fn kinds_of_branches(group: &Group) -> impl Iterator<Item = LeafKind> {
    let kinds = group.place.branches.iter().map(|branch| branch.kind);
    kinds.filter(|kind| !matches!(kind, LeafKind::Unknown | LeafKind::Timer))
}
