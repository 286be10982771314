//! Compares what the program prints with `tests/view/*`.
//!
//! `*.args` holds the arguments, and the exit status on a second line if it is not 0.
//! `CTP_BLESS=1 cargo test -p ctp-report` writes `*.stdout` and `*.stderr` again.
//!
//! | row | pages |
//! | --- | --- |
//! | CT-14 | `stuck_lost_wakeup`, `stuck_fixed`, `gate_*`: 47 stuck, the healthy and the idle apart |
//! | CT-14 | `stuck_closed`, `json_stuck_closed`: who closed what they wait for, who usually wakes |
//! | CT-14 | `stuck_forgotten`: the same for certain, where nothing is lost that may hide a wake |
//! | CT-15 | `stuck_marked`, `gate_ignored`: what is meant to be long, or not to be told of |
//! | CT-15 | `stuck_lost_wakeup`, `stuck_woken`, `stuck_queueing`: the three variants |
//! | CT-15 | `stuck_held`: whose lock it waits for also where a wait has ended; when the wake came
//! | CT-15 | `*_deadlock`, `stuck_pairs`: who waits for each other, and who holds what they want |
//! | CT-15 | `stuck_ring`: of a long cycle its beginning and its end |
//! | CT-15 | `stuck_looked_at`: what was seen from outside, with the looks among the proofs |
//! | CT-15 | `stuck_nothing_to_read`: who waits longer than others since nothing comes, and is known to |
//! | CT-14 | `stuck_senders`: which coroutine woke them the last time, and what it does; nobody runs |
//! | CT-15 | `stuck_two_locks`: several who hold what the coroutines of one row wait for |
//! | CT-15 | `stuck_joins`, `why_joins`: whose end they wait for, in the numbers of the page |
//! | CT-15 | `why_*`, `json_why_*`: what led a coroutine to where it is, wake by wake |
//! | CT-15 | `why_kept*`, `why_line*`, `why_pair`: who keeps it there, step by step |
//! | CT-13 | `*_twins`: of two places on one line the column is told
//! | CT-16 | `stuck_cancelled`: none of 20 |
//! | CT-17 | `import_*`: three runs in one file, 115 broken lines |
//! | CT-14 | `json_stuck_late`: a wake of which no thread told has no name of another one's |
//! | CT-20 | `json_export_chrome_late`: no arrow from a wake that came before; no slice where events are lost |
//! | CT-20 | `export_*`: six columns, by time, ids unique |
//! | CT-18 | `stuck_crash`, `sites_suspects`, `words_*`, `json_words_crash`: who ran when a fault came |
//! | CT-22 | `sites_leaks`, `json_sites_leaks`: leaks apart from what is stuck |
//! | CT-24 | `*_lossy`, `*_torn`, `*_corrupt`, `*_truncated`: what depends on a loss is marked |
//! | CT-15 | `stuck_closed_before`: a look at a number after its closing is no proof of anything |
//! | CT-24 | `stuck_robbed`: which threads lost records while it waited |
//! | CT-24 | `stuck_robbed_of_others`: what waits may wait for what is gone |
//! | CT-25 | `tree_family`, `json_tree_family`, `ids_family`: who spawned whom, those that are alike together |
//! | CT-25 | `stuck_family`, `json_stuck_family`: of those that are stuck, who spawned them, and whether they have ended |
//! | AGG-08 | `histogram_*`, `sites_summary`, `json_sites_summary`: count, sum, mean, bounds and bins, by site and by name |
//! | AGG-09 | `histogram_summary`: no data is told as such |
//! | AGG-16 | `histogram_summary`: what was left out stands beside the figures |
//! | AGG-19 | `histogram_summary`, `sites_summary`: a wait that goes on is an age |
//! | AGG-22 | `histogram_mixed`: figures of a plain peer, from its events |
//! | CTP-31 | `stuck_broken`, `sites_broken`, `json_stuck_broken`: contradictions, with both threads |
//! | CT-24 | `folded_truncated`: what goes elsewhere is not whole, which is told on stderr
//! | CT-24 | `stuck_image`: coroutines that found no station in a memory image |
//! | CTP-21 | `stuck_busy`: running, and born but never run |
//! | CTP-21 | `*_kept_thread`: whose thread another one keeps, and who that is |
//! | CTP-21 | `sites_lints`, `json_sites_lints`: who never waited, who wakes itself, whom nobody can |
//! | CTP-21 | `sites_lints_allowed`: all but one of these are allowed |
//! | CT-24 | `sites_lints_robbed`: the same where wakes are lost, so that there are more |

use std::fs;
use std::path::{Path, PathBuf};

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

#[test]
fn no_line_is_too_long() {
    for case in cases() {
        let data = ["dump", "json", "folded", "help"];
        let name = case.file_stem().unwrap().to_str().unwrap().to_owned();
        if data.iter().any(|sort| name.contains(sort)) {
            continue;
        }
        for line in fs::read_to_string(case.with_extension("stdout"))
            .unwrap_or_default()
            .lines()
        {
            assert!(line.chars().count() <= 100, "{name}: {line}");
        }
    }
}
