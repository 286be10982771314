//! Writes the page of a comparison of two traces.

use std::io;
use std::path::Path;

use crate::config::LeastChange;
use crate::text::table::{Alignment, Column};
use crate::text::{Page, units};
use crate::views::diff::model::{Change, Comparison, Row, SiteFigures};
use crate::views::diff::profile::{Profile, ProfileFacts};

/// The maximum number of new sites, and of gone sites, that are listed.
const LISTED: usize = 20;

const CHANGES: [Column; 9] = [
    ("change", Alignment::Right),
    ("interval", Alignment::Right),
    ("of waits", Alignment::Left),
    ("before", Alignment::Right),
    ("after", Alignment::Right),
    ("waits", Alignment::Right),
    ("waited", Alignment::Right),
    ("function", Alignment::Left),
    ("site", Alignment::Left),
];

const SITES: [Column; 5] = [
    ("waits", Alignment::Right),
    ("waited", Alignment::Right),
    ("run", Alignment::Right),
    ("function", Alignment::Left),
    ("site", Alignment::Left),
];

/// Writes a line about a trace, and notes about what is missing in that trace.
pub fn header(page: &mut Page, what: &str, path: &Path, about: &ProfileFacts) -> io::Result<()> {
    let items = [
        format!("{what}: {}", path.display()),
        format!("program: {}", about.program),
        format!("date: {}", units::date(about.started_unix_ns)),
        format!("duration: {}", units::duration(about.duration)),
        units::counted(about.events, "event"),
        format!("lost {}", units::grouped(about.lost)),
    ];
    page.list("# ", "#   ", "   ", &items)?;
    about.filtered.iter().try_for_each(|note| page.line(note))?;
    about
        .notes
        .iter()
        .try_for_each(|note| page.sentence("# note: ", "#   ", note))?;
    if 0 < about.left_out {
        let left_out = units::counted(about.left_out, "wait");
        let note =
            format!("there are too many sites; {left_out} at further sites are not compared");
        page.sentence("# note: ", "#   ", &note)?;
    }
    Ok(())
}

/// Writes, before all figures, whether the traces are the same recording, are of different programs, or have no site
/// in common.
pub fn relation(
    page: &mut Page,
    before: &Profile,
    after: &Profile,
    shared: usize,
) -> io::Result<()> {
    if before.about.is_recording_of(&after.about) {
        page.line("# note: both are the same recording")?;
    } else if before.about.program != after.about.program {
        page.line("# note: the programs have different names")?;
    }
    page.gap()?;
    if shared == 0 {
        page.line("The traces have no site in common.")?;
    }
    Ok(())
}

/// Writes by how much the percentiles of most sites changed, if by more than the least change that counts.
fn common(page: &mut Page, comparison: &Comparison, least: LeastChange) -> io::Result<()> {
    for common in &comparison.common {
        if (1.0 - least.share..=1.0 + least.share).contains(&common.ratio) {
            continue;
        }
        let note = format!(
            "the p{} of most sites changed, x {} in the middle of {}: the program, the load or the machine \
             changed as a whole",
            common.percentile,
            ratio(common.ratio),
            units::counted(common.sites as u64, "site")
        );
        page.sentence("ALL  ", "  ", &note)?;
        page.gap()?;
    }
    Ok(())
}

/// Writes changes, new and gone sites, and how many sites have not changed.
pub fn page(page: &mut Page, comparison: &Comparison, least: LeastChange) -> io::Result<()> {
    changes(page, &comparison.changes)?;
    common(page, comparison, least)?;
    sites(
        page,
        "NEW",
        "only in the trace after",
        &comparison.new,
        |row| row.after,
    )?;
    sites(
        page,
        "GONE",
        "only in the trace before",
        &comparison.removed,
        |row| row.before,
    )?;
    if comparison.noise + comparison.too_few == 0 {
        return Ok(());
    }
    page.sentence("", "  ", &summary(comparison, least))
}

fn changes(page: &mut Page, changes: &[Change]) -> io::Result<()> {
    if changes.is_empty() {
        return Ok(());
    }
    let rows: Vec<Vec<String>> = changes.iter().map(change).collect();
    page.table(&CHANGES, &rows, |_, _| Ok(()))?;
    page.gap()
}

fn change(change: &Change) -> Vec<String> {
    let Row { before, after, .. } = change.row;
    let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
    let value = |figures: SiteFigures| {
        let value = figures.percentile(change.percentile);
        value.map_or_else(|| "-".to_owned(), units::duration_ns)
    };
    let [low, high] = change.interval.map(ratio);
    vec![
        format!("x {}", ratio(change.ratio)),
        format!("{low} .. {high}"),
        format!("p{}", change.percentile),
        value(before),
        value(after),
        both(before.waits, after.waits, units::grouped),
        both(before.waited_ns, after.waited_ns, units::duration_ns),
        function(&change.row),
        at(&change.row),
    ]
}

/// A ratio with two or three digits, such as `0.0010`, `0.50`, `2.10`, `10.4` or `123`.
fn ratio(ratio: f64) -> String {
    let decimals = if ratio >= 99.95 {
        0
    } else if ratio >= 9.995 {
        1
    } else if ratio >= 0.0995 {
        2
    } else {
        (2..MAX_DECIMALS)
            .find(|decimals| 10.0_f64.powi(*decimals) * ratio >= 9.95)
            .unwrap_or(MAX_DECIMALS) as usize
    };
    format!("{ratio:.decimals$}")
}

/// The most decimals of a ratio. Waits are at least a nanosecond long, and a second is 1e9 times that.
const MAX_DECIMALS: i32 = 10;

/// Both values, or a single value if both look the same.
fn both(before: u64, after: u64, text: fn(u64) -> String) -> String {
    let (before, after) = (text(before), text(after));
    if before == after {
        after
    } else {
        format!("{before} -> {after}")
    }
}

/// The function, with the name of the coroutines and the awaiting function.
fn function(row: &Row) -> String {
    let identity = &row.identity;
    let name = identity.name.as_deref();
    let name = name.filter(|name| *name != identity.function);
    let name = name.map(|name| format!(", as {name}"));
    let awaiter = identity.awaited_by.as_deref();
    let awaiter = awaiter.map(|awaiter| format!(" <- {awaiter}"));
    [Some(identity.function.clone()), awaiter, name]
        .into_iter()
        .flatten()
        .collect()
}

/// The source location, with the line in the trace before if that differs.
fn at(row: &Row) -> String {
    let moved = row.line_before.map(|line| format!(" (was line {line})"));
    row.identity.at() + &moved.unwrap_or_default()
}

fn sites(
    page: &mut Page,
    title: &str,
    what: &str,
    rows: &[Row],
    figures: fn(&Row) -> Option<SiteFigures>,
) -> io::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let count = units::counted(rows.len() as u64, "site");
    page.line(&format!("{title}  {count} {what}"))?;
    let cells = rows.iter().take(LISTED).map(|row| {
        let figures = figures(row).unwrap_or_default();
        vec![
            units::grouped(figures.waits),
            units::duration_ns(figures.waited_ns),
            units::duration_ns(figures.ran_ns),
            function(row),
            at(row),
        ]
    });
    let cells: Vec<Vec<String>> = cells.collect();
    page.table(&SITES, &cells, |_, _| Ok(()))?;
    if LISTED < rows.len() {
        let more = units::counted((rows.len() - LISTED) as u64, "more site");
        page.line(&format!("  and {more} (--json has all)"))?;
    }
    page.gap()
}

fn summary(comparison: &Comparison, least: LeastChange) -> String {
    let noise = units::counted_as(comparison.noise as u64, "site differs", "sites differ");
    let (percent, time) = (least.share * 100.0, units::duration(least.time));
    let mut text = format!("{noise} by at most {percent:.0} %, by at most {time}, or by noise");
    if 0 < comparison.too_few {
        let too_few = units::counted_as(comparison.too_few as u64, "site has", "sites have");
        text += &format!("; {too_few} too few waits to compare");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_have_two_or_three_digits() {
        for (value, text) in [
            (0.000_000_001, "0.0000000010"),
            (0.001, "0.0010"),
            (0.05, "0.050"),
            (0.5, "0.50"),
            (2.1, "2.10"),
            (10.4, "10.4"),
            (99.96, "100"),
            (123.4, "123"),
        ] {
            assert_eq!(ratio(value), text);
        }
    }
}
