//! A Rust program prints its sites. For every kind of build, each site resolves to the enclosing function or to none.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

mod support;

use support::{TestDir, executable_mappings};
use symbolize::{SourceLine, Symbolizer};

/// The enclosing function of each site: as printed by the program, and as resolved.
fn answers(args: &[&str]) -> Option<Vec<(String, Option<String>)>> {
    let test_dir = TestDir::new();
    let all = [&["--edition=2024", "--crate-name=sites"], args].concat();
    let program = test_dir.compile("rustc", "sites.rs", &all)?;
    let output = std::process::Command::new(&program).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let (requested, expected): (Vec<SourceLine>, Vec<String>) =
        text.lines().filter_map(site).unzip();
    let mut symbolizer = Symbolizer::new(executable_mappings(&text));
    let found = symbolizer.functions_at(&requested);
    let names = found.into_iter().map(|at| at.map(|at| at.function));
    Some(expected.into_iter().zip(names).collect())
}

fn site(line: &str) -> Option<(SourceLine, String)> {
    let mut fields = line.strip_prefix("site ")?.splitn(4, ' ');
    let (line, column) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    let file = fields.next()?.to_owned();
    Some((SourceLine { file, line, column }, fields.next()?.to_owned()))
}

fn assert_all(args: &[&str]) {
    for (expected, found) in answers(args).into_iter().flatten() {
        assert_eq!(found.as_deref(), Some(&*expected), "{args:?}");
    }
}

/// Where inlined functions have no path, an answer may be short or missing, but not wrong.
fn assert_none_wrong(args: &[&str]) {
    for (expected, found) in answers(args).into_iter().flatten() {
        println!("{args:?}: {expected}: {found:?}");
        if let Some(found) = found {
            assert!(
                expected.ends_with(&found),
                "{args:?}: {expected}, not {found}"
            );
        }
    }
}

#[test]
fn debug() {
    assert_all(&["-Cdebuginfo=2"]);
    assert_all(&["-Cdebuginfo=2", "-Csymbol-mangling-version=v0"]);
}

#[test]
fn zstd_compressed_sections() {
    assert_all(&[
        "-Cdebuginfo=2",
        "-Clink-arg=-Wl,--compress-debug-sections=zstd",
    ]);
}

#[test]
fn release_with_debug_info() {
    assert_all(&["-Cdebuginfo=2", "-Copt-level=3"]);
    assert_all(&["-Cdebuginfo=1", "-Copt-level=3"]);
    assert_all(&["-Cdebuginfo=2", "-Copt-level=3", "-Clto=fat"]);
    assert_all(&[
        "-Cdebuginfo=2",
        "-Copt-level=3",
        "-Csymbol-mangling-version=v0",
    ]);
}

#[test]
fn debug_with_line_tables_only() {
    assert_none_wrong(&["-Cdebuginfo=line-tables-only"]);
}

#[test]
fn release_with_line_tables_only() {
    assert_none_wrong(&["-Cdebuginfo=line-tables-only", "-Copt-level=3"]);
}

#[test]
fn program_without_debug_info() {
    for (_, found) in answers(&["-Cdebuginfo=0"]).into_iter().flatten() {
        assert_eq!(found, None);
    }
}
