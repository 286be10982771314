//! Messages about stuck and busy coroutines, by site.

use std::fmt::Write as _;

use ctp_trace::record::Nanos;
use ctp_trace::verdict::Confidence;

use super::StuckSite;
use crate::cli::words::{grouped, seconds};

/// Sites that are listed after a check; the rest are summed up.
const MAX_LINES: usize = 10;

/// A line for each site, the worst first.
pub fn lines(at: Nanos, findings: &[StuckSite]) -> String {
    let mut findings: Vec<&StuckSite> = findings.iter().collect();
    findings.sort_by_key(|finding| {
        (
            finding.kept_tid.is_some(),
            std::cmp::Reverse((finding.certain, finding.likely)),
        )
    });
    let (reported, others) = findings.split_at(findings.len().min(MAX_LINES));
    let mut text = String::new();
    for finding in reported {
        // Writing to a string does not fail.
        let _ = writeln!(text, "ctp-record: at {}: {}", seconds(at.0), line(finding));
    }
    if !others.is_empty() {
        let count: usize = others.iter().map(|other| other.count()).sum();
        let is_stuck_only = others.iter().all(|other| other.kept_tid.is_none());
        let what = if is_stuck_only {
            "stuck"
        } else {
            "stuck or busy"
        };
        let _ = writeln!(
            text,
            "ctp-record: at {}: {} more {what} at {} other places",
            seconds(at.0),
            grouped(count as u64),
            grouped(others.len() as u64)
        );
    }
    text
}

/// `47 stuck at src/server.rs:71 (CERTAIN, for up to 2.1 s)`, or
/// `1 busy since src/server.rs:71, keeps thread 4711 (CERTAIN, for 2.1 s)`
fn line(finding: &StuckSite) -> String {
    let (certain, likely) = (Confidence::Certain.word(), Confidence::Likely.word());
    let sure = match (finding.certain, finding.likely) {
        (_, 0) => certain.to_owned(),
        (0, _) => likely.to_owned(),
        (some, others) => format!("{some} {certain}, {others} {likely}"),
    };
    let up_to = if finding.count() == 1 { "" } else { "up to " };
    let place = &finding.place;
    let what = match (finding.kept_tid, finding.count()) {
        (None, _) => format!("stuck at {place}"),
        (Some(tid), 1) => format!("busy since {place}, keeps thread {tid}"),
        (Some(tid), _) => format!("busy since {place}, keep threads such as {tid}"),
    };
    format!(
        "{} {what} ({sure}, for {up_to}{})",
        grouped(finding.count() as u64),
        seconds(finding.longest.0)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(certain: usize, likely: usize) -> StuckSite {
        StuckSite {
            place: "a.rs:7".to_owned(),
            certain,
            likely,
            longest: Nanos(2_100_000_000),
            ..StuckSite::default()
        }
    }

    // CT-26
    #[test]
    fn the_line_names_the_confidence() {
        assert_eq!(
            line(&finding(47, 0)),
            "47 stuck at a.rs:7 (CERTAIN, for up to 2.1 s)"
        );
        assert!(line(&finding(0, 1)).contains("(LIKELY, "));
        assert!(line(&finding(3, 4)).contains("7 stuck at a.rs:7 (3 CERTAIN, 4 LIKELY, "));
    }

    // CT-26
    #[test]
    fn busy_coroutines_are_listed_last_with_their_thread() {
        let busy = StuckSite {
            kept_tid: Some(4711),
            ..finding(1, 0)
        };
        let message = "1 busy since a.rs:7, keeps thread 4711 (CERTAIN, for 2.1 s)";
        assert_eq!(line(&busy), message);
        let text = lines(Nanos(3_000_000_000), &[busy, finding(0, 1)]);
        let second = text.lines().nth(1).expect("two lines");
        assert!(second.ends_with(message), "{text}");
    }

    #[test]
    fn many_sites_take_few_lines() {
        let all: Vec<StuckSite> = (0..1000).map(|i| finding(i, 0)).collect();
        let text = lines(Nanos(3_000_000_000), &all);
        assert!(text.starts_with("ctp-record: at 3.0 s: 999 stuck at a.rs:7"));
        assert!(
            text.ends_with("at 3.0 s: 489 555 more stuck at 990 other places\n"),
            "{text}"
        );
        assert_eq!(text.lines().count(), 11);
    }
}
