//! The pages in `docs/cookbook.md` are what the tools print for the programs that its marks name: the same
//! lines, with other numbers.

use std::fs;
use std::path::Path;

use tempfile::tempdir;

use crate::dump::Dumped;
use crate::machine::RISCV;
use crate::readme::{assert_on_page, shape};
use crate::support::{record, report};

const COOKBOOK: &str = include_str!("../../../docs/cookbook.md");

/// A page of the book: the mark before the page names the program and the view.
struct Page<'a> {
    program: &'a str,
    view: Vec<&'a str>,
    text: &'a str,
}

fn pages() -> Vec<Page<'static>> {
    let parts = COOKBOOK.split("<!-- ").skip(1);
    let pages = parts.map(|part| {
        let (mark, rest) = part
            .split_once(" -->\n```text\n")
            .expect("a mark and a page");
        let (text, _) = rest.split_once("\n```").expect("the end of the page");
        let mut words = mark.split(' ');
        let program = words.next().expect("a program");
        let view = words.collect();
        Page {
            program,
            view,
            text,
        }
    });
    pages.collect()
}

fn printed(directory: &Path, view: &[&str]) -> String {
    let output = report(directory, view);
    String::from_utf8(output.stdout).expect("text")
}

/// Compares the pages of a program with those that the tools print.
fn check(program: &str) {
    let directory = tempdir().expect("room");
    record(directory.path(), program, &[]);
    check_in(directory.path(), program);
}

fn check_in(directory: &Path, program: &str) {
    let pages = pages();
    let mut pages = pages
        .iter()
        .filter(|page| page.program == program)
        .peekable();
    assert!(pages.peek().is_some(), "a page of {program}");
    for page in pages {
        assert_on_page(&shape(page.text), &printed(directory, &page.view));
    }
}

macro_rules! programs {
    ($($name:ident)*) => {
        const PROGRAMS: &[&str] = &[$(stringify!($name)),*];
        $(
            #[test]
            fn $name() {
                check(stringify!($name));
            }
        )*
    };
}

// CT-15
programs! {
    zoo_leaked_sender zoo_blocking_tokio zoo_deadlock_tokio zoo_leaked_replies zoo_leaked_permits
    zoo_lost_join
}

#[test]
fn slow_site() {
    let directory = tempdir().expect("room");
    for (name, arguments) in [("before", &[][..]), ("after", &["charge", "300"])] {
        record(directory.path(), "slow_site", arguments);
        let (from, to) = ("ctp.data", format!("{name}.ctp"));
        fs::rename(directory.path().join(from), directory.path().join(to)).expect("a trace");
    }
    let page = printed(directory.path(), &["diff", "before.ctp", "after.ctp"]);
    let pages = pages();
    let mut pages = pages.iter().filter(|page| page.program == "slow_site");
    let expected = pages.next().expect("a page of slow_site");
    assert_on_page(&shape(expected.text), &page);
}

// LT-27
#[test]
fn riscv_tasks() {
    let Some(dumped) = Dumped::of(&RISCV, "riscv-tasks") else {
        return;
    };
    check_in(dumped.directory.path(), "riscv-tasks");
}

#[test]
fn each_page_is_compared() {
    let others = ["slow_site", "riscv-tasks"];
    for page in pages() {
        let is_compared = PROGRAMS.contains(&page.program) || others.contains(&page.program);
        assert!(is_compared, "{}", page.program);
    }
    assert_eq!(COOKBOOK.matches("```text").count(), pages().len());
}
