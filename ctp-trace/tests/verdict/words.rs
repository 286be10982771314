//! Checks the tables of reasons, caveats and levels in `docs/verdicts.md` against the code, and that each
//! reason has a section with an example. `CTP_BLESS=1` writes the tables into the document.

use std::fmt::Write;
use std::{env, fs};

use ctp_trace::verdict::inspected::INSPECTED_REASONS;
use ctp_trace::verdict::{Caveat, Confidence, Description, Level, REASONS, Verdict};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/verdicts.md");
const REASONS_HEADER: &str = "| verdict | sure | reason | when |\n| --- | --- | --- | --- |\n";
const INSPECTED_HEADER: &str = "| inspected | sure | reason | when |\n| --- | --- | --- | --- |\n";
const CAVEATS_HEADER: &str = "| caveat | what speaks against it |\n| --- | --- |\n";
const LEVELS_HEADER: &str = "| level | earlier waits |\n| --- | --- |\n";
/// When a verdict is likely that would be certain without a caveat.
const WITH_CAVEAT: &str = "as for CERTAIN, but with a [caveat](#caveats); `seen-closed` also if the number \
                       of the descriptor belongs to another file now";
const VERDICTS: [Verdict; 7] = [
    Verdict::Deadlock,
    Verdict::Stuck,
    Verdict::MaybeStuck,
    Verdict::Busy,
    Verdict::Unknown,
    Verdict::Waiting,
    Verdict::Over,
];

fn row(table: &mut String, verdict: Verdict, reasons: &str, when: &str) {
    let (word, sure) = (verdict.word(), verdict.confidence().word());
    writeln!(table, "| {word} | {sure} | {reasons} | {when} |").expect("text takes all");
}

/// The word of a reason, with a link to the section about the reason.
fn link(word: &str) -> String {
    format!("[`{word}`](#{word})")
}

fn rows_of(table: &mut String, verdict: Verdict, reason: &Description) {
    let word = link(reason.word);
    if reason.verdict == verdict && !reason.when.is_empty() {
        row(table, verdict, &word, reason.when);
    }
    if let (Verdict::MaybeStuck, Some(when)) = (verdict, reason.likely_when) {
        row(table, verdict, &word, when);
    }
}

fn reasons() -> String {
    let mut table = REASONS_HEADER.to_owned();
    for verdict in VERDICTS {
        if verdict == Verdict::MaybeStuck {
            let doubted = REASONS.iter().filter(|reason| reason.may_be_doubted);
            let words: Vec<_> = doubted.map(|reason| link(reason.word)).collect();
            row(&mut table, verdict, &words.join(", "), WITH_CAVEAT);
        }
        for reason in REASONS {
            rows_of(&mut table, verdict, reason);
        }
    }
    table
}

fn caveats() -> String {
    let rows = Caveat::ALL
        .iter()
        .map(|caveat| format!("| `{}` | {} |\n", caveat.word(), caveat.meaning()));
    CAVEATS_HEADER.to_owned() + &rows.collect::<String>()
}

fn inspected() -> String {
    let mut table = INSPECTED_HEADER.to_owned();
    for reason in INSPECTED_REASONS {
        let word = format!("`{}`", reason.word());
        row(&mut table, reason.worst_verdict(), &word, reason.when());
    }
    table
}

/// Checks that the document has this table, found by `header`.
fn assert_documented(header: &str, table: &str) {
    let page = fs::read_to_string(FILE).expect("the documentation");
    let (before, rest) = page.split_once(header).expect("the header of the table");
    let (rows, after) = rest.split_once("\n\n").expect("an end of the table");
    if env::var_os("CTP_BLESS").is_some() {
        fs::write(FILE, format!("{before}{table}\n{after}")).expect("can be written");
    } else {
        assert_eq!(format!("{header}{rows}\n"), table);
    }
}

fn levels() -> String {
    let rows = Level::ALL
        .iter()
        .map(|level| format!("| `{}` | {} |\n", level.word(), level.meaning()));
    LEVELS_HEADER.to_owned() + &rows.collect::<String>()
}

#[test]
fn every_level_is_documented() {
    assert_documented(LEVELS_HEADER, &levels());
}

#[test]
fn every_reason_and_caveat_is_documented() {
    assert_documented(REASONS_HEADER, &reasons());
    assert_documented(CAVEATS_HEADER, &caveats());
    assert_documented(INSPECTED_HEADER, &inspected());
}

/// The section with this heading, up to the next heading of any level.
fn section<'p>(page: &'p str, heading: &str) -> &'p str {
    let start = page.find(&format!("\n{heading}\n")).expect(heading);
    let section = &page[start + 1..];
    section.split("\n#").next().unwrap_or(section)
}

#[test]
fn every_reason_has_a_section_with_an_example() {
    let page = include_str!("../../../docs/verdicts.md");
    for reason in REASONS {
        let section = section(page, &format!("### `{}`", reason.word));
        assert!(section.contains("\nExample: "), "{}", reason.word);
    }
}

#[test]
fn every_inspected_reason_has_an_example() {
    let page = include_str!("../../../docs/verdicts.md");
    let section = section(page, "## Tasks of a process without a probe");
    let (_, examples) = section
        .split_once("\nExamples")
        .expect("a list of examples");
    for reason in INSPECTED_REASONS {
        let begin = format!("\n- `{}`: ", reason.word());
        assert!(examples.contains(&begin), "{}", reason.word());
    }
}

/// The words in backticks that begin as the programs of the zoo do.
fn programs(text: &str) -> impl Iterator<Item = &str> {
    let quoted = text.split('`').skip(1).step_by(2);
    quoted.filter(|word| word.starts_with("zoo_"))
}

#[test]
fn examples_name_programs_of_the_zoo() {
    let page = include_str!("../../../docs/verdicts.md");
    let (rules, zoo) = page.split_once("\n## The zoo\n").expect("the zoo");
    let prose = rules.split("\n```").step_by(2);
    let mut named = 0;
    for program in prose.flat_map(programs) {
        assert!(zoo.contains(&format!("\n| `{program}` |")), "{program}");
        named += 1;
    }
    assert!(0 < named);
}

#[test]
fn only_certain_verdicts_have_caveats() {
    for reason in REASONS.iter().filter(|reason| reason.may_be_doubted) {
        let confidence = reason.verdict.confidence();
        assert_eq!(confidence, Confidence::Certain, "{}", reason.word);
    }
}
