//! Compares what the program prints with `tests/view/*`.
//!
//! `*.args` holds the arguments, and the exit status on a second line if it is not 0.
//! `CTP_BLESS=1 cargo test -p ctp-report` writes `*.stdout` and `*.stderr` again.
//!
//! | row | pages |
//! | --- | --- |
//! | CT-14 | `stuck_lost_wakeup`, `stuck_fixed`, `gate_*`: 47 stuck coroutines, apart from healthy and idle coroutines |
//! | CT-14 | `stuck_closed`, `json_stuck_closed`: what closed the descriptors, and the usual waker |
//! | CT-14 | `stuck_forgotten`: certain, because no loss can hide a wake |
//! | CT-14 | `stuck_senders`: the coroutine that sent the last wake, and its state |
//! | CT-14 | `*_consumer`: all coroutines that ended such waits have ended |
//! | CT-14 | `json_stuck_late`: a wake without a recorded caller gets no other thread's name |
//! | CT-13 | `*_twins`: places on the same line are distinguished by their columns |
//! | CT-15 | `stuck_marked`, `gate_ignored`: waits that are meant to be long, or ignored by an option |
//! | CT-15 | `stuck_lost_wakeup`, `stuck_woken`, `stuck_queueing`: the three variants |
//! | CT-15 | `stuck_held`: the holder of the lock, also after the holder's wait has ended, and the time of the wake |
//! | CT-15 | `*_deadlock`, `stuck_pairs`: which coroutines wait for each other, and which hold the locks |
//! | CT-15 | `stuck_ring`: the beginning and the end of a long cycle |
//! | CT-15 | `stuck_looked_at`: observations from outside, listed among the proofs |
//! | CT-15 | `stuck_nothing_to_read`: long waits that are healthy, because nothing has arrived |
//! | CT-15 | `stuck_closed_before`: an observation of a number after its closing proves nothing |
//! | CT-15 | `stuck_two_locks`: a row whose coroutines wait for different holders |
//! | CT-15 | `stuck_joins`, `why_joins`: the joined coroutine, by its id on the page |
//! | CT-13 | `stuck_joiner`, `json_stuck_joiner`: the end of a task, probably that of a living child |
//! | CT-15 | `why_*`, `json_why_*`: the chain of wakes that led to the present state |
//! | CT-15 | `why_kept*`, `why_line*`, `why_pair`: what blocks the coroutine, step by step |
//! | CT-16 | `stuck_cancelled`: none of 20 |
//! | CT-17 | `import_*`: three runs in a file, 115 broken lines |
//! | CT-18 | `stuck_crash`, `sites_suspects`, `words_*`, `json_words_crash`: what ran at the time of a fault |
//! | CT-18 | `*_inspected_core_file`: one moment, without claims about timers and lasting calls |
//! | CT-20 | `export_*`: six columns, by time, with unique ids |
//! | CT-20 | `json_export_speedscope`: two profiles, and the stuck waits in frames of their own |
//! | CT-20 | `json_export_chrome_late`: no arrow from an earlier wake, no slice where events are lost |
//! | CT-22 | `sites_leaks`, `json_sites_leaks`: leaks, apart from stuck coroutines |
//! | CT-24 | `*_lossy`, `*_torn`, `*_corrupt`, `*_truncated`: figures that depend on a loss are marked |
//! | CT-24 | `check_not_known`, `check_open`, `check_summary`: rules about values that a loss makes uncertain |
//! | CT-24 | `stuck_robbed`: the threads that lost records during the wait |
//! | CT-24 | `stuck_robbed_of_others`: a coroutine that may wait for a lost coroutine |
//! | CT-24 | `folded_truncated`: stderr says that the exported data is incomplete |
//! | CT-24 | `stuck_image`: coroutines that found no station in a memory image |
//! | CT-25 | `tree_family`, `json_tree_family`, `ids_family`: parents and children, grouped by likeness |
//! | CT-25 | `stuck_family`, `json_stuck_family`: the parents of stuck coroutines, and whether the parents have ended |
//! | AGG-08 | `histogram_*`, `sites_summary`, `json_sites_summary`: count, sum, mean, bounds and bins, by site and name |
//! | AGG-09 | `histogram_summary`: a group without data is shown as such |
//! | AGG-16 | `histogram_summary`: durations that were left out stand next to the figures |
//! | AGG-18 | `sites_fields`, `filter_*`: the requested columns, order and rows, and how many rows are left out |
//! | AGG-18 | `filter_*_time`, `gate_filter_time`: coroutines whose latest wait or run began in a time |
//! | AGG-18 | `filter_why*`, `json_filter_why`: the chosen coroutines, one after the other |
//! | AGG-18 | `narrow_*`: pages in narrow terminals; rows that differ never look the same |
//! | AGG-18 | `*_wide`: columns with characters of two columns and with combining marks are aligned |
//! | AGG-19 | `histogram_summary`, `sites_summary`: an unfinished wait is an age |
//! | AGG-22 | `histogram_mixed`: figures of a plain v1 peer, computed from its events |
//! | CTP-21 | `stuck_busy`: coroutines that run, or were created and never ran |
//! | CTP-21 | `*_kept_thread`: a thread that is blocked by a coroutine, and that coroutine |
//! | STB-21 | `*_inspected_threads`: where the threads of busy coroutines are, and what they do there |
//! | STB-25 | `*_stackful`: where coroutines wait by their call stacks, and which stacks are not known |
//! | CTP-21 | `sites_lints`, `json_sites_lints`: coroutines that never yield, wake themselves, or have no waker |
//! | CTP-21 | `sites_lints_allowed`: all but the first of these lints are allowed |
//! | CTP-21 | `sites_lints_robbed`: the same with lost wakes, so that there are more |
//! | CTP-31 | `stuck_broken`, `sites_broken`, `json_stuck_broken`: contradictions, with both threads |

use std::fs;
use std::path::{Path, PathBuf};

use unicode_width::UnicodeWidthStr as _;

use crate::test_dir::{TestDir, folder};

fn cases() -> Vec<PathBuf> {
    let files = fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut cases: Vec<_> = files
        .filter(|p| p.extension().is_some_and(|e| e == "args"))
        .collect();
    cases.sort();
    assert!(cases.len() > 20, "the cases are gone");
    cases
}

fn compare(case: &Path, extension: &str, found: &[u8]) -> Option<String> {
    let path = case.with_extension(extension);
    if std::env::var_os("CTP_BLESS").is_some() {
        if found.is_empty() && extension == "stderr" {
            let _ = fs::remove_file(&path);
        } else {
            fs::write(&path, found).unwrap();
        }
        return None;
    }
    let expected = fs::read(&path).unwrap_or_default();
    (expected != found).then(|| {
        let (expected, found) = (
            String::from_utf8_lossy(&expected),
            String::from_utf8_lossy(found),
        );
        format!(
            "{}\n--- expected\n{expected}\n--- found\n{found}",
            path.display()
        )
    })
}

#[test]
fn pages_are_as_before() {
    let test_dir = TestDir::new();
    let mut failures = Vec::new();
    for case in cases() {
        let text = fs::read_to_string(&case).unwrap();
        let mut lines = text.lines();
        let args: Vec<&str> = lines
            .next()
            .unwrap_or_default()
            .split_whitespace()
            .collect();
        let status = lines.next().map_or(0, |status| status.parse().unwrap());
        let output = test_dir.report(&args);
        if output.status.code() != Some(status) {
            failures.push(format!("{}: ended with {}", case.display(), output.status));
        }
        failures.extend(compare(&case, "stdout", &output.stdout));
        failures.extend(compare(&case, "stderr", &output.stderr));
    }
    assert!(
        failures.is_empty(),
        "{}\nset CTP_BLESS=1 if that is right",
        failures.join("\n")
    );
}

/// The width of the page does not change what is read or how the program ends.
#[test]
fn no_line_is_wider_than_the_terminal() {
    const DATA: [&str; 11] = [
        "--dump",
        "--json",
        "--folded",
        "--help",
        "--export",
        "--width",
        "--flame",
        "-D",
        "--color",
        "--markdown",
        "--junit",
    ];
    let test_dir = TestDir::new();
    for case in cases() {
        let text = fs::read_to_string(&case).unwrap();
        let first = text.lines().next().unwrap_or_default();
        if first.split_whitespace().any(|word| DATA.contains(&word)) {
            continue;
        }
        for (columns, width) in [(40, "40"), (80, "80")] {
            let args: Vec<&str> = first.split_whitespace().chain(["--width", width]).collect();
            let output = test_dir.report(&args);
            let status = text.lines().nth(1).unwrap_or("0").parse().ok();
            assert_eq!(output.status.code(), status, "{args:?}");
            for line in String::from_utf8(output.stdout).unwrap().lines() {
                assert!(line.width() <= columns, "{args:?}: {line}");
            }
        }
    }
}
