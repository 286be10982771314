//! `docs/safety.md` has a row for every unsafe block of the library and of the tools, and no other rows.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

const PACKAGES: [&str; 8] = [
    "ctp-c",
    "ctp-nostd",
    "ctp-tracing",
    "ctp-trace",
    "symbolize",
    "ctp-inspect",
    "ctp-record",
    "ctp-report",
];

/// How many unsafe blocks, by the file and the name of the item that has them.
type Blocks = BTreeMap<(String, String), usize>;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("a directory").flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|name| name == "rs") {
            found.push(path);
        }
    }
}

fn blocks_in_source() -> Blocks {
    let mut blocks = Blocks::new();
    let mut files = Vec::new();
    for package in PACKAGES {
        sources(&root().join(package).join("src"), &mut files);
    }
    for path in files {
        let file = path.strip_prefix(root()).expect("below the root");
        let text = fs::read_to_string(&path).expect("source is text");
        for item in unsafe_items(&text) {
            let key = (file.to_string_lossy().into_owned(), item);
            *blocks.entry(key).or_default() += 1;
        }
    }
    blocks
}

/// The name of the item around each unsafe block, without those of unit tests.
fn unsafe_items(text: &str) -> Vec<String> {
    let (mut item, mut attributes, mut found) = (String::new(), 0, Vec::new());
    let is_test = |line: &&str| line.starts_with("#[cfg(") && line.contains("test");
    for line in text.lines().take_while(|line| !is_test(line)) {
        let code = line.split("//").next().unwrap_or_default();
        let mut blocks = UNSAFE.map(|text| code.matches(text).count()).iter().sum();
        attributes += code.matches("#[unsafe(").count();
        if let Some(name) = item_name(code) {
            item = name;
            blocks += std::mem::take(&mut attributes);
        }
        found.extend(std::iter::repeat_n(item.clone(), blocks));
    }
    found
}

const UNSAFE: [&str; 4] = [
    "unsafe {",
    "unsafe impl",
    "unsafe trait",
    "unsafe extern \"R",
];

fn item_name(code: &str) -> Option<String> {
    if let Some((_, implementation)) = code.split_once("unsafe impl") {
        let is_generic = implementation.starts_with('<');
        let (_, name) = implementation.split_once(if is_generic { "> " } else { " " })?;
        let name = name.split(" where ").next()?.split(" {").next()?;
        return Some(name.to_owned());
    }
    let words = [
        "unsafe trait ",
        "macro_rules! ",
        "fn ",
        "static $",
        "static ",
    ];
    let rest = words
        .iter()
        .find_map(|word| code.split_once(word))
        .map(|(_, rest)| rest)?;
    let name = rest
        .split(|character: char| !character.is_alphanumeric() && character != '_')
        .next()?;
    (!name.is_empty()).then(|| name.to_owned())
}

fn blocks_in_document() -> Blocks {
    let text = fs::read_to_string(root().join("docs/safety.md")).expect("the document");
    let (_, text) = text
        .split_once("## Unsafe blocks")
        .expect("it lists the blocks");
    let (mut file, mut blocks) = (String::new(), Blocks::new());
    for line in text.lines() {
        if let Some(heading) = line.strip_prefix("### `") {
            heading.trim_end_matches('`').clone_into(&mut file);
        } else if let Some(row) = line.strip_prefix("| `") {
            let (item, count) = row.split_once('`').expect("a name in backquotes");
            let number = count.split([')', '|']).next().unwrap_or_default();
            let number = number.trim().trim_start_matches('(').parse().unwrap_or(1);
            blocks.insert((file.clone(), item.to_owned()), number);
        }
    }
    blocks
}

#[test]
fn every_unsafe_block_has_the_row() {
    let (source, document) = (blocks_in_source(), blocks_in_document());
    assert!(!source.is_empty());
    let keys = source.keys().chain(document.keys());
    let wrong: Vec<_> = keys
        .filter(|key| source.get(*key) != document.get(*key))
        .map(|key| (key, source.get(key), document.get(key)))
        .collect();
    assert!(
        wrong.is_empty(),
        "blocks in source, in document: {wrong:#?}"
    );
}

#[test]
fn unsafe_blocks_are_counted_by_function() {
    let text = "fn plain() {}\nfn first() {\n  unsafe { a() };\n  unsafe { b() }\n}\n\
        unsafe impl Send for A {}\n#[unsafe(no_mangle)]\nstatic B: u8 = 0;\n#[cfg(test)]\nfn c() { unsafe {} }";
    assert_eq!(unsafe_items(text), ["first", "first", "Send for A", "B"]);
}
