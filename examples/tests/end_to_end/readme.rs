//! The reports and the picture in `README.md` are what the tools print: the same lines, with other numbers.

use std::collections::BTreeSet;

use crate::support::{record, report};
use crate::unprobed;
use tempfile::tempdir;

const README: &str = include_str!("../../../README.md");
const TIMELINE: &str = include_str!("../../../docs/timeline.svg");
/// The coroutines in the picture: the listener, and some that are stuck.
const TIMELINE_IDS: &str = "2,3,4,5,6,7,8";

/// Of each line the words without digits: numbers, and what hangs together with them, differ
/// from run to run.
pub fn shape(text: &str) -> Vec<Vec<String>> {
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

/// The listing in the README that has this text.
fn listing(text: &str) -> Vec<Vec<String>> {
    let mut blocks = README
        .split("```")
        .filter_map(|block| block.strip_prefix("text\n"));
    let block = blocks.find(|block| block.contains(text));
    shape(block.expect("README has a report"))
}

/// Checks that the lines of the listing are on the page, beginning with the first of them. A listing starts
/// where the header lines end, and stops early.
pub fn assert_on_page(listing: &[Vec<String>], printed: &str) {
    let real = shape(printed);
    let from = real.iter().position(|line| line == &listing[0]);
    let real = real.iter().skip(from.unwrap_or_default());
    let real: Vec<&Vec<String>> = real.take(listing.len()).collect();
    assert_eq!(real, listing.iter().collect::<Vec<_>>(), "{printed}");
}

#[test]
fn the_report_in_the_readme_is_the_real_one() {
    let directory = tempdir().expect("room");
    record(directory.path(), "lost_wakeup", &[]);
    let printed = report(directory.path(), &["--stuck"]).stdout;
    let printed = String::from_utf8(printed).expect("text");
    assert_on_page(&listing("lost_wakeup::read_frame"), &printed);
}

#[test]
fn the_readme_has_the_page_of_an_unmodified_program() {
    assert_on_page(&listing("unprobed::faults"), &unprobed::page());
}

/// The texts without numbers in a picture, above all its legend.
fn texts(svg: &str) -> BTreeSet<&str> {
    let parts = svg.split("</text>");
    let texts = parts.filter_map(|part| Some(part.rsplit_once('>')?.1));
    let texts = texts.filter(|text| !text.contains(|c: char| c.is_ascii_digit()));
    texts.filter(|text| !text.is_empty()).collect()
}

#[test]
fn timeline_in_the_readme_is_drawn() {
    let directory = tempdir().expect("room");
    record(directory.path(), "lost_wakeup", &[]);
    let drawn = report(directory.path(), &["--timeline", "-", "--id", TIMELINE_IDS]).stdout;
    let drawn = String::from_utf8(drawn).expect("text");
    assert_eq!(texts(TIMELINE), texts(&drawn));
}
