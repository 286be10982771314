//! `docs/verdicts.md` has a line for each word that programs may find, and for no other.

use std::collections::BTreeSet;

const PAGE: &str = include_str!("../../../docs/verdicts.md");
const SOURCE: &str = include_str!("../../src/verdict/words.rs");

/// The words that a type has for its variants. The compiler sees to it that each has one.
fn words_of(name: &str) -> BTreeSet<&'static str> {
    let after = |text: &'static str, mark: &str| text.split_once(mark).map(|(_, rest)| rest);
    let of_type = after(SOURCE, &format!("impl {name} {{")).expect("it has functions");
    let body = after(of_type, "fn word(self)").expect("one of them says the word");
    let (body, _) = body.split_once("\n    }\n").expect("it has an end");
    body.split('"').skip(1).step_by(2).collect()
}

fn cells(row: &str) -> Vec<&str> {
    row.split('|').map(str::trim).collect()
}

/// The words in code font in the column of this name, of the table that has one.
fn words_in_column(name: &str) -> BTreeSet<&'static str> {
    let mut rows = PAGE.lines().skip_while(|row| !cells(row).contains(&name));
    let heading = cells(rows.next().expect("a table with this column"));
    let is_column = |at: &usize| heading[*at] == name;
    let column = (0..heading.len()).find(is_column).expect("it is there");
    let rows = rows.take_while(|row| row.starts_with('|'));
    let words = rows.flat_map(|row| cells(row)[column].split('`').skip(1).step_by(2));
    words.collect()
}

#[test]
fn every_reason_is_told() {
    assert!(30 < words_of("Reason").len());
    assert_eq!(words_in_column("reason"), words_of("Reason"));
}

#[test]
fn every_doubt_is_told() {
    assert!(16 < words_of("Doubt").len());
    assert_eq!(words_in_column("doubt"), words_of("Doubt"));
}
