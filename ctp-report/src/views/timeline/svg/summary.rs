//! The lines of text above the chart: what was recorded, the findings, and which coroutines are shown.

use ctp_trace::record::Nanos;
use ctp_trace::verdict::Verdict;

use super::{TimelineChart, captions};
use crate::findings::crash::Crash;
use crate::load::Model;
use crate::load::exit_reason::exit_description;
use crate::text;
use crate::text::units::{counted, date, duration, grouped, moment};
use crate::time_scale::Scale;
use crate::views::timeline::model::{Row, RowGroup};

/// How many findings are shown.
const MAX_FINDINGS: usize = 4;

/// Describes the recording in a line.
pub fn facts(model: &Model, threads: u64) -> String {
    let totals = model.trace_model.totals();
    [
        counted(totals.coroutines, "coroutine"),
        counted(totals.events, "event"),
        format!("lost {}", grouped(model.lost())),
        counted(threads, "thread"),
        duration(model.duration()),
        format!("ended: {}", exit_description(model)),
        format!("host: {}", text::cut(&text::escape(&model.start.host), 40)),
        format!("started {}", date(model.start.started_unix_ns)),
    ]
    .join(", ")
}

/// Returns the findings to look at first, each with its style class.
pub fn findings(chart: &TimelineChart) -> Vec<(&'static str, String)> {
    let groups = &chart.selection.groups;
    let notable = groups
        .iter()
        .filter(|group| group.verdict < Verdict::Waiting);
    let mut found = alarms(chart);
    if chart.selection.stuck() == 0 {
        let known = if chart.model.has_all_events() {
            "nothing is stuck"
        } else {
            "nothing is known to be stuck"
        };
        found.push(("good", known.to_owned()));
    }
    found.extend(
        notable
            .clone()
            .take(MAX_FINDINGS)
            .map(|group| (captions::class(group.verdict), finding(chart, group))),
    );
    let more = notable.count().saturating_sub(MAX_FINDINGS);
    if 0 < more {
        found.push((
            "facts",
            format!("and {}", counted(more as u64, "more group")),
        ));
    }
    found
}

/// Findings that are not verdicts: a crash, and contradicting events.
fn alarms(chart: &TimelineChart) -> Vec<(&'static str, String)> {
    let crash = chart
        .crash
        .map(|crash| format!("CRASH  {}", crash.headline()));
    let broken = chart.model.trace_model.broken().len() as u64;
    let broken = (0 < broken).then(|| {
        let coroutines = counted(broken, "coroutine");
        format!("BROKEN  events of {coroutines} contradict each other; their rows are unreliable")
    });
    crash
        .into_iter()
        .chain(broken)
        .map(|crash| ("bad", crash))
        .collect()
}

fn finding(chart: &TimelineChart, group: &RowGroup) -> String {
    let (verdict, rest) = heading_words(chart, group);
    format!("{verdict}  {rest}, {}", since(group))
}

/// `since +0.59 s .. +0.61 s, for up to 11.8 s`.
fn since(group: &RowGroup) -> String {
    let (first, last) = group.since;
    let age = duration(group.longest);
    if first == last {
        format!("since {}, for {age}", moment(first))
    } else {
        format!(
            "since {} .. {}, for up to {age}",
            moment(first),
            moment(last)
        )
    }
}

fn heading_words(chart: &TimelineChart, group: &RowGroup) -> (&'static str, String) {
    let at = chart.names.at(group.site).unwrap_or_default();
    let name = group
        .members
        .first()
        .map(|member| captions::function(chart, member));
    let verdict = match group.verdict {
        Verdict::MaybeStuck => "STUCK? (likely)",
        verdict => verdict.word(),
    };
    let name = name.unwrap_or_default();
    (verdict, format!("{} x {name}  {at}", grouped(group.count)))
}

/// The verdict of a group, and the rest of its heading.
pub fn heading(chart: &TimelineChart, group: &RowGroup) -> (&'static str, String) {
    let (verdict, rest) = heading_words(chart, group);
    let since = match group.verdict {
        Verdict::Over => String::new(),
        _ => format!(", {}", since(group)),
    };
    let shown = group.members.len() as u64;
    let crashed = group
        .members
        .first()
        .and_then(|member| chart.crash_of(member));
    let shown = match crashed {
        _ if shown == group.count => String::new(),
        Some(_) => format!("; showing the crashed and {} more", grouped(shown - 1)),
        None => format!("; showing the {} longest", grouped(shown)),
    };
    (verdict, format!("{rest}{since}{shown}"))
}

/// Describes which coroutines are shown, and of how many.
pub fn shown(chart: &TimelineChart) -> String {
    let selection = chart.selection;
    let total = format!("{}{}", grouped(selection.total), window(chart));
    let first = match chart.crash.and_then(Crash::culprit) {
        Some(_) => "crashed and stuck coroutines",
        None => "stuck coroutines",
    };
    let mut message = if selection.grouped {
        let shown = grouped(selection.shown() as u64);
        format!("showing {shown} of {total}: the longest by verdict and site, {first} first")
    } else {
        format!("showing all {total}, {first} first")
    };
    if let (groups @ 1.., coroutines) = selection.left_out {
        let (groups, coroutines) = (
            counted(groups, "smaller group"),
            counted(coroutines, "coroutine"),
        );
        message += &format!("; {groups} with {coroutines} not shown");
    }
    if chart.rows.iter().any(Row::is_merged) {
        message += "; --time FROM,TO draws a part with more detail";
    }
    message
}

/// Describes which part of the time is shown, if not all.
fn window(chart: &TimelineChart) -> String {
    let Scale { from, to } = chart.scale;
    if from == Nanos(0) && chart.model.duration() <= to {
        String::new()
    } else {
        format!(" that lived between {} and {}", moment(from), moment(to))
    }
}
