//! Unsafe code has an address: the files that open it are those that `docs/architecture.md` names.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const PACKAGES: [&str; 5] = [
    "ctp-nostd",
    "ctp-trace",
    "symbolize",
    "ctp-record",
    "ctp-report",
];

fn opens_unsafe(directory: &Path, root: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(directory).expect("a directory").flatten() {
        let path = entry.path();
        if path.is_dir() {
            opens_unsafe(&path, root, found);
        } else if fs::read_to_string(&path).is_ok_and(|text| opens(&text)) {
            let name = path.strip_prefix(root).expect("below the root");
            found.insert(name.to_string_lossy().into_owned());
        }
    }
}

fn opens(text: &str) -> bool {
    let attribute = |line: &&str| line.contains("unsafe_code") && !line.contains("forbid");
    text.lines().filter(attribute).count() > 0
}

#[test]
fn unsafe_code_is_only_where_the_architecture_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = BTreeSet::new();
    for package in PACKAGES {
        opens_unsafe(&root.join(package).join("src"), &root, &mut found);
    }
    let text = fs::read_to_string(root.join("docs/architecture.md")).expect("it is there");
    let (_, table) = text
        .split_once("| file | why |")
        .expect("it has a table of files");
    let rows = table
        .lines()
        .skip(1)
        .take_while(|line| line.starts_with('|'));
    let named = rows
        .filter_map(|line| line.split('`').nth(1))
        .map(str::to_owned);
    assert_eq!(found, named.collect(), "found (left), named (right)");
}
