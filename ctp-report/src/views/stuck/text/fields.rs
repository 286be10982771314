//! The fields of a group on the page of `--stuck`: name and value, a field per line.

use std::io;

use ctp_trace::record::{LeafKind, Nanos};
use ctp_trace::verdict::Fact;

use super::{reasons, threads};
use crate::config::StuckView;
use crate::evidence::blocker_text;
use crate::evidence::leaf_wait::{self, LeafWait};
use crate::evidence::resource::WaitsFor;
use crate::names::branches::WaitBranch;
use crate::names::label;
use crate::text::{self, Page, units};
use crate::views::stuck::model::{Group, GroupPlace, Members, parents};

/// The column at which the value of a field begins.
pub(super) const INDENT: usize = 18;

/// The column at which a text at the right edge of a field ends.
const EDGE: usize = 80;

/// The name and the value of a field.
type Field = (&'static str, String);

/// `Timeout: a lock (longest 51 ms)       for 3 s`: a branch, and how long it has waited.
pub(super) fn branch_line(branch: &WaitBranch) -> String {
    let longest = branch.longest_ns.map(units::duration_ns);
    let longest = longest.map(|longest| format!(" (longest {longest})"));
    let longest = longest.unwrap_or_default();
    let kind = match branch.kind {
        kind if !branch.functions.is_empty() || kind == LeafKind::Unknown => String::new(),
        kind => format!(": {}", leaf_wait::phrase(kind)),
    };
    let what = branch.describe() + &kind;
    match branch.waited_ns.map(units::duration_ns) {
        Some(age) => {
            let age = format!("for {age}");
            spread_field(&(what + &longest), &age)
        }
        None => what + &longest,
    }
}

/// The fields of a group, in the order of the page.
pub(super) fn fields(group: &Group, view: &StuckView) -> Vec<Field> {
    let mut fields: Vec<Field> = spawned(group).into_iter().collect();
    let by = parents::describe(&group.members.spawned_by, group.members.count);
    let words = ["spawned by"].into_iter().chain(std::iter::repeat(""));
    fields.extend(words.zip(by));
    fields.extend(reasons::resumed_at(group));
    fields.extend(wait_fields(group));
    fields.extend(blocker_text::fields(
        &group.evidence.blockers,
        group.evidence.other_blockers,
        true,
    ));
    let blocked = blocker_text::blocked(&group.evidence.blocks, view.all_ids);
    fields.extend(blocked.map(|blocked| ("blocks", blocked)));
    if !group.evidence.joined_by.is_empty() {
        let joiners = text::few(&group.evidence.joined_by);
        fields.push(("joined by", format!("probably id {joiners}")));
    }
    fields.push(("state", group.group_verdict.state.to_owned()));
    fields.extend(reasons::usual(group).map(|usual| ("usually", usual)));
    fields.extend(thread_fields(group));
    if !view.all_ids {
        let is_cut = text::FEW < group.members.ids.len();
        let more = if is_cut { "   (--ids lists all)" } else { "" };
        fields.push(("ids", format!("{}{more}", text::few(&group.members.ids))));
    }
    fields
}

/// What the coroutines wait for, for how long, and in which function of a library.
fn wait_fields(group: &Group) -> Vec<Field> {
    let Members {
        youngest_ns,
        oldest_ns,
        waits_for,
        ..
    } = &group.members;
    let since = units::range(Nanos(*youngest_ns), Nanos(*oldest_ns));
    let mut waits = waits_for.iter().map(WaitsFor::describe);
    let first = waits.next();
    let first = first.unwrap_or_else(|| state_in_words(group));
    let first = spread_field(&first, &format!("for {since}"));
    let more = waits.map(|more| ("", more));
    [(age_field(group), first)]
        .into_iter()
        .chain(more)
        .chain(within_fields(&group.place))
        .collect()
}

/// The function of a library in which the coroutines wait, and the `poll` function of the user that is their
/// own leaf future or calls that function.
fn within_fields(place: &GroupPlace) -> Vec<Field> {
    let own = place.leaf.as_ref().map(|leaf| {
        let at = leaf.at().map(|at| format!("  {at}"));
        let function = leaf.function.as_deref().and_then(label::plain);
        function.unwrap_or_default() + &at.unwrap_or_default()
    });
    let function = place.code.within.as_ref();
    match (function, own) {
        (Some(function), Some(own)) if !own.starts_with(function) => {
            vec![("within", function.clone()), ("", format!("from {own}"))]
        }
        (_, Some(own)) => vec![("within", own)],
        (Some(function), None) => vec![("within", function.clone())],
        (None, None) => Vec::new(),
    }
}

/// The threads on which the coroutines run or ran last, and what is known of them.
fn thread_fields(group: &Group) -> Vec<Field> {
    let name = match group.group_verdict.judged.fact {
        Fact::Running => "keeps",
        _ => "last thread",
    };
    let threads = format!("tid {}", text::few(&group.members.threads));
    let occupied = reasons::thread_blockers(group).map(|occupied| ("", occupied));
    let inspection = group.evidence.thread.iter();
    [(name, threads)]
        .into_iter()
        .chain(occupied)
        .chain(inspection.map(|found| ("thread", threads::describe(found))))
        .collect()
}

/// Writes a field and its values, on as many lines as necessary.
pub fn items(page: &mut Page, name: &str, separator: &str, items: &[String]) -> io::Result<()> {
    let first = format!("     {name:<13}");
    page.list(&first, &" ".repeat(INDENT), separator, items)
}

/// Joins the value of a field and a text at the right edge.
pub(super) fn spread_field(left: &str, right: &str) -> String {
    text::spread(left, right, EDGE - INDENT)
}

/// The name of the field that shows the age.
fn age_field(group: &Group) -> &'static str {
    match group.group_verdict.judged.fact {
        Fact::Running => "runs",
        Fact::NeverRun => "born",
        _ => "waits for",
    }
}

/// Describes the state of a group without a recorded resource.
fn state_in_words(group: &Group) -> String {
    match group.group_verdict.judged.fact {
        Fact::Running if group.place.of_thread.is_some() => "without a suspend".to_owned(),
        Fact::Running => "from there on, without a suspend".to_owned(),
        Fact::NeverRun => "and never run".to_owned(),
        _ => unannounced_wait(&group.members),
    }
}

/// Describes a wait that was not announced, by its leaf future.
fn unannounced_wait(members: &Members) -> String {
    let leaf = members.leaf.as_ref().map(LeafWait::describe);
    let what = leaf.unwrap_or_else(|| "(not recorded)".to_owned());
    if members.one_of_several {
        what + ", and perhaps for something else too"
    } else {
        what
    }
}

/// The spawn place and the names: `lost_wakeup::listen  lost_wakeup.rs:38, as session`.
fn spawned(group: &Group) -> Option<Field> {
    let at = group
        .members
        .spawned
        .as_ref()
        .map(|spawned| match &spawned.function {
            Some(function) => format!("{function}  {}", spawned.at),
            None => spawned.at.clone(),
        });
    match (at, label::few_names(&group.members.names)) {
        (None, names) => Some(("named", names?)),
        (Some(at), None) => Some(("spawned at", at)),
        (Some(at), Some(names)) => Some(("spawned at", format!("{at}, as {names}"))),
    }
}
