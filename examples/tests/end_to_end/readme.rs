//! The report in `README.md` is what the tools print: the same lines, with other numbers.

use crate::support::{record, report};
use tempfile::tempdir;

const README: &str = include_str!("../../../README.md");

/// Of each line the words without digits: numbers, and what hangs together with them, differ
/// from run to run.
fn shape(text: &str) -> Vec<Vec<String>> {
    let words = |line: &str| {
        let line = line.replace(" .. ", " ");
        let words = line
            .split_whitespace()
            .filter(|word| word.contains(char::is_alphabetic));
        let bare = words.filter(|word| !word.contains(|c: char| c.is_ascii_digit()));
        bare.filter(|word| !["s", "ms", "us", "ns"].contains(&word.trim_matches([',', ';', ')'])))
            .map(str::to_owned)
            .collect()
    };
    text.lines()
        .map(words)
        .filter(|words: &Vec<String>| !words.is_empty())
        .collect()
}

#[test]
fn the_report_in_the_readme_is_the_real_one() {
    let blocks: Vec<&str> = README.split("```").collect();
    let block = blocks.iter().find_map(|block| block.strip_prefix("text\n"));
    let directory = tempdir().expect("room");
    record(directory.path(), "lost_wakeup", &[]);
    let printed = report(directory.path(), &["--stuck"]).stdout;
    let printed = String::from_utf8(printed).expect("text");
    let reported = shape(block.expect("README has a report"));
    // README starts where the header lines end, and stops before the hint at the end.
    let real = shape(&printed);
    let from = real
        .iter()
        .position(|line| line == &reported[0])
        .unwrap_or_default();
    assert_eq!(real[from..from + reported.len()], reported, "{printed}");
}
