//! Checks what the documents name: links lead to files and headings, and the files and modules of
//! `docs/architecture.md` exist.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The README and the pages of `docs`.
fn documents() -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join("docs")).expect("the documents");
    let pages = entries.map(|entry| entry.expect("an entry").path());
    let pages = pages.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    pages.chain([root().join("README.md")]).collect()
}

/// The text outside of code blocks.
fn prose(text: &str) -> String {
    let blocks = text.split("\n```").step_by(2);
    blocks.collect::<Vec<_>>().join("\n")
}

/// The targets of all links, without those to the web.
fn links(text: &str) -> Vec<String> {
    let targets = text
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next());
    let own = targets.filter(|target| !target.contains("://"));
    own.map(str::to_owned).collect()
}

/// The name by which links find a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.trim_start_matches(['#', ' ']).chars();
    let kept = kept.filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

fn has_heading(page: &Path, name: &str) -> bool {
    let text = prose(&read(page));
    let mut headings = text.lines().filter(|line| line.starts_with('#'));
    headings.any(|heading| anchor(heading) == name)
}

#[test]
fn links_lead_to_files_and_headings() {
    let mut checked = 0;
    for page in documents() {
        for link in links(&prose(&read(&page))) {
            let (file, heading) = link.split_once('#').unwrap_or((&link, ""));
            let target = match file {
                "" => page.clone(),
                file => page.parent().expect("a folder").join(file),
            };
            assert!(target.exists(), "{}: {link}", page.display());
            assert!(
                heading.is_empty() || has_heading(&target, heading),
                "{}: {link}",
                page.display()
            );
            checked += 1;
        }
    }
    assert!(0 < checked);
}

/// All files of the packages, as paths from the root.
fn sources(directory: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(directory).expect("a folder").flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let is_hidden = name.to_string_lossy().starts_with('.');
        if path.is_dir() && name != "target" && !is_hidden {
            sources(&path, found);
        } else {
            found.push(path.to_string_lossy().into_owned());
        }
    }
}

#[test]
fn pages_name_files_that_exist() {
    let mut files = Vec::new();
    sources(&root(), &mut files);
    for page in ["docs/architecture.md", "CONTRIBUTING.md"] {
        assert_names_files(page, &files);
    }
}

/// Checks that each file of source code that the page names exists.
fn assert_names_files(page: &str, files: &[String]) {
    let text = prose(&read(&root().join(page)));
    let quoted = text.split('`').skip(1).step_by(2);
    let named: Vec<&str> = quoted.filter(|word| word.ends_with(".rs")).collect();
    assert!(!named.is_empty(), "{page}");
    for name in named {
        let end = format!("/{name}");
        assert!(
            files.iter().any(|file| file.ends_with(&end)),
            "{page}: {name}"
        );
    }
}

#[test]
fn architecture_names_the_modules_of_the_recorder() {
    let text = read(&root().join("docs/architecture.md"));
    let (_, after) = text
        .split_once("\nThe recorder's folders")
        .expect("a picture");
    let picture = after.split("\n```").nth(1).expect("a code block");
    let words: Vec<&str> = picture
        .split_whitespace()
        .map(|word| word.trim_end_matches('/'))
        .collect();
    let entries = fs::read_dir(root().join("ctp-record/src")).expect("the recorder");
    for entry in entries.flatten() {
        let path = entry.path();
        let name = path.file_stem().expect("a name").to_string_lossy();
        if !["lib", "main"].contains(&&*name) {
            assert!(words.contains(&&*name), "{name}");
        }
    }
}
