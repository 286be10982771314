//! The code of an event has no path to a panic.
#![cfg(not(loom))]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

/// The assembly of `event_path.rs` and of the probe, optimized, or why there is none.
fn assembly() -> Result<String, String> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("no_panic");
    let probe = target.join("probe.s");
    let event_path = target.join("event_path.s");
    run(compile_probe(&target, &probe))?;
    run(compile_event_path(&target, &event_path))?;
    Ok(read(&event_path)? + &read(&probe)?)
}

const FLAGS: [&str; 2] = ["-Ccodegen-units=1", "-Cdebuginfo=0"];

/// Compiles only after a change, because the output has a file of its own.
fn compile_probe(target: &Path, output: &Path) -> Command {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(env!("CARGO_MANIFEST_DIR"));
    cargo.args(["rustc", "--release", "--lib", "--offline", "--quiet"]);
    cargo.arg("--target-dir").arg(target);
    cargo.args(["--", &emit(output)]).args(FLAGS);
    cargo
}

/// Without cargo, which would compile the development dependencies of the probe with optimization.
fn compile_event_path(target: &Path, output: &Path) -> Command {
    let release = target.join("release");
    let dependencies = release.join("deps");
    let probe = release.join("libctp_nostd.rlib");
    let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    rustc.current_dir(env!("CARGO_MANIFEST_DIR"));
    rustc.args(["tests/no_panic/event_path.rs", "--edition=2024"]);
    rustc.args(["--crate-type=rlib", "-Copt-level=3", &emit(output)]);
    rustc.arg(format!("--extern=ctp_nostd={}", probe.display()));
    rustc.arg(format!("-Ldependency={}", dependencies.display()));
    rustc.args(FLAGS);
    rustc
}

fn emit(output: &Path) -> String {
    format!("--emit=asm={}", output.display())
}

fn run(mut compiler: Command) -> Result<(), String> {
    let output = compiler.output().map_err(|error| error.to_string())?;
    if output.status.success() {
        Ok(())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| error.to_string())
}

/// Each function's own text.
fn functions(assembly: &str) -> BTreeMap<&str, Vec<&str>> {
    let mut functions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut name = "";
    for line in assembly.lines() {
        match line.strip_suffix(':') {
            Some(label) if label.starts_with("_") => name = label,
            _ if line.starts_with("\t.") => {} // a directive, maybe of the next function
            _ => functions.entry(name).or_default().push(line),
        }
    }
    functions
}

/// Symbols in a line: what it calls, jumps to, or takes the address of.
fn symbols(line: &str) -> impl Iterator<Item = &str> {
    let words = line.split(|byte: char| !(byte.is_alphanumeric() || "_.$".contains(byte)));
    words.filter(|word| word.starts_with("_"))
}

/// Everything that this function can reach.
fn reach<'a>(functions: &BTreeMap<&'a str, Vec<&'a str>>, name: &str) -> BTreeSet<&'a str> {
    let start = functions
        .keys()
        .find(|symbol| symbol.contains("event_path") && symbol.contains(name))
        .expect("the function is there");
    let (mut reached, mut next) = (BTreeSet::from([*start]), vec![*start]);
    while let Some(lines) = next.pop().map(|name| functions.get(name)) {
        for symbol in lines.into_iter().flatten().flat_map(|line| symbols(line)) {
            if reached.insert(symbol) {
                next.push(symbol);
            }
        }
    }
    reached
}

fn panics<'a>(functions: &BTreeMap<&'a str, Vec<&'a str>>, name: &str) -> Vec<&'a str> {
    reach(functions, name)
        .into_iter()
        .filter(|symbol| symbol.contains("panic") && !symbol.contains("event_path"))
        .collect()
}

// CTP-35
#[test]
fn an_event_does_not_panic() {
    let assembly = match assembly() {
        Ok(assembly) => assembly,
        Err(reason) => return eprintln!("skipped: {reason}"),
    };
    let functions = functions(&assembly);
    assert_ne!(
        panics(&functions, "control"),
        [] as [&str; 0],
        "panics are found"
    );
    assert_eq!(panics(&functions, "6events"), [] as [&str; 0]);
    assert_eq!(panics(&functions, "5death"), [] as [&str; 0]);
    let whole = reach(&functions, "6events");
    let bodies = whole.iter().filter(|name| functions.contains_key(**name));
    assert!(
        bodies.count() > 3,
        "the probe's own functions are looked at"
    );
}
