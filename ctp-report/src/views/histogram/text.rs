//! Charts as text: a line for each bin, with bounds, count and a bar.

use std::io;

use crate::text::{Page, Width, units};
use crate::views::histogram::model::{Bin, Chart, DurationStats};

/// How many charts are drawn. JSON has all.
const MAX_SHOWN: usize = 10;
/// The width of the longest bar, in columns.
const BAR: usize = 40;
/// The width of bounds and count before a bar, in columns.
const FIGURES: usize = 43;

/// Draws the charts with the most waiting time. `tool` is the command with the trace.
pub fn page(page: &mut Page, charts: &[Chart], tool: &str) -> io::Result<()> {
    if charts.is_empty() {
        return page.line("Nothing to draw: no coroutine waited.");
    }
    let drawn = &charts[..charts.len().min(MAX_SHOWN)];
    for (index, chart) in drawn.iter().enumerate() {
        if index > 0 {
            page.gap()?;
        }
        self::chart(page, chart)?;
    }
    let others = charts.len() - drawn.len();
    if others == 0 {
        return Ok(());
    }
    page.gap()?;
    let more = units::counted(others as u64, "more chart");
    page.line(&format!(
        "# and {more} with less waiting: {tool} --histogram --json has all"
    ))
}

fn chart(page: &mut Page, chart: &Chart) -> io::Result<()> {
    let user_name = chart.given.as_deref();
    let user_name = user_name.map(|name| format!(", as {name}"));
    let left = format!(
        "{}  {}{}",
        chart.name,
        units::counted(chart.coroutines, "coroutine"),
        user_name.unwrap_or_default()
    );
    let at = chart.at.as_deref().unwrap_or("(place not recorded)");
    page.spread(&left, at)?;
    let caveat = if chart.exact { "" } else { "~" };
    side(page, "waiting", caveat, &chart.waiting)?;
    let not_counted = not_counted(chart);
    if !not_counted.is_empty() {
        page.line(&format!("    not counted: {}", not_counted.join(", ")))?;
    }
    side(page, "running", caveat, &chart.running)
}

/// Describes the waits and events that are in no bin.
fn not_counted(chart: &Chart) -> Vec<String> {
    let oldest = chart.oldest_open_ns.unwrap_or_default();
    [
        (chart.open > 0).then(|| {
            let waits = units::counted(chart.open, "wait");
            format!(
                "{waits} not over, for {} at most",
                units::duration_ns(oldest)
            )
        }),
        (chart.cancelled > 0).then(|| format!("{} cancelled", units::grouped(chart.cancelled))),
        (chart.left_out > 0).then(|| {
            let events = units::counted(chart.left_out, "event");
            format!("{events} of signal handlers left out")
        }),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn side(page: &mut Page, what: &str, caveat: &str, side: &DurationStats) -> io::Result<()> {
    let (Some(mean), Some(min), Some(max)) = (side.mean_ns, side.min_ns, side.max_ns) else {
        return page.line(&format!("  {what}  {}", nothing(caveat)));
    };
    page.line(&format!(
        "  {what}  {caveat}{} times, {caveat}{} in all, mean {caveat}{}, from {caveat}{} to {caveat}{}",
        units::grouped(side.count),
        units::duration_ns(side.sum_ns),
        units::duration_ns(mean),
        units::duration_ns(min),
        units::duration_ns(max)
    ))?;
    page.lines(&bars(&side.bins, page.width()))
}

/// The text for a side without durations. If the trace is incomplete (`caveat` is not empty), there may have
/// been durations that are not recorded.
fn nothing(caveat: &str) -> &'static str {
    match caveat {
        "" => "no data: none has ended",
        _ => "no data",
    }
}

/// Without room for bars, the lines have only bounds and counts.
fn bars(bins: &[Bin], width: Width) -> Vec<String> {
    let most = bins.iter().map(|bin| bin.count).max().unwrap_or(0);
    let room = width
        .of_lists()
        .saturating_sub(FIGURES + "||".len())
        .min(BAR);
    bins.iter().map(|bin| bar(bin, most, room)).collect()
}

fn bar(bin: &Bin, most: u64, room: usize) -> String {
    let bounds = match bin.below_ns {
        Some(below) => format!(
            "[{}, {})",
            units::duration_ns(bin.from_ns),
            units::duration_ns(below)
        ),
        None => format!("[{}, ...)", units::duration_ns(bin.from_ns)),
    };
    let part = u128::from(bin.count) * room as u128;
    // Rounds up, so that a bin that is not empty has a bar.
    let length = part.div_ceil(u128::from(most.max(1))) as usize;
    let bar = "#".repeat(length.min(room));
    let count = units::grouped(bin.count);
    match room {
        0 => format!("  {bounds:>20} {count:>12}"),
        _ => format!("    {bounds:>22} {count:>15} |{bar:<room$}|"),
    }
}
