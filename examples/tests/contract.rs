//! Compares `docs/contract.md` with the tests, in both directions. The page names the tests that
//! prove each row; a test names its rows in a comment, `// CTP-15`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

type Proofs = BTreeMap<String, BTreeSet<String>>;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Rows in the tables of the contract, each with its files.
fn promised() -> Proofs {
    let text = fs::read_to_string(root().join("docs/contract.md")).expect("the contract");
    let mut proofs = Proofs::new();
    for line in text.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        if is_row(cells[0]) {
            let files = cells[2].split('`').skip(1).step_by(2).map(str::to_owned);
            proofs.insert(cells[0].to_owned(), files.collect());
        }
    }
    proofs
}

/// Rows that comments of tests name, each with the files.
fn proven() -> Proofs {
    let mut proofs = Proofs::new();
    for file in sources(&root()) {
        let text = fs::read_to_string(&file).expect("source is text");
        let name = file
            .strip_prefix(root())
            .expect("below the root")
            .to_string_lossy()
            .into_owned();
        for row in text.lines().flat_map(rows_in) {
            proofs.entry(row).or_default().insert(name.clone());
        }
    }
    proofs
}

/// `// CTP-15, CT-03: words` names two rows. Documentation comments, and tables in them, count too.
fn rows_in(line: &str) -> impl Iterator<Item = String> + '_ {
    let comment = line.trim_start().strip_prefix("//").unwrap_or("");
    comment
        .trim_start_matches(['/', '!', '|', ' '])
        .split([',', ' ', ':'])
        .filter(|word| !word.is_empty())
        .take_while(|word| is_row(word))
        .map(str::to_owned)
}

fn is_row(word: &str) -> bool {
    word.split_once('-').is_some_and(|(system, number)| {
        ["CTP", "CT", "LT", "STB", "AGG"].contains(&system)
            && number.len() == 2
            && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

fn sources(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).expect("a directory").flatten() {
        let path = entry.path();
        let name = entry.file_name();
        if path.is_dir() && name != "target" && !name.to_string_lossy().starts_with('.') {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

#[test]
fn contract_rows_match_the_tests() {
    let (promised, proven) = (promised(), proven());
    assert!(!promised.is_empty());
    let rows: BTreeSet<&String> = promised.keys().chain(proven.keys()).collect();
    for row in rows {
        assert_eq!(
            promised.get(row),
            proven.get(row),
            "{row}: contract (left), tests (right)"
        );
    }
}
