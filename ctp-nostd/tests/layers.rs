//! The sources of the probe follow the table of layers in `lib.rs`.

use std::fs;
use std::path::{Path, PathBuf};

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// The modules in the table of layers, lowest first.
fn layers() -> Vec<String> {
    let text = fs::read_to_string(source().join("lib.rs")).expect("lib.rs is there");
    let rows = text.lines().filter_map(|line| line.strip_prefix("// | `"));
    rows.filter_map(|row| Some(row.split_once('`')?.0.to_owned()))
        .collect()
}

fn files(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("a directory").flatten() {
        match entry.path() {
            path if path.is_dir() => files(&path, found),
            path => found.push(path),
        }
    }
}

/// The module path of a file, such as `["linux", "stack", "maps"]`.
fn module_path(file: &Path) -> Vec<String> {
    let relative = file.strip_prefix(source()).expect("a file below src");
    let parts = relative.with_extension("");
    let parts = parts.iter().map(|part| part.to_string_lossy().into_owned());
    parts.collect()
}

/// The names that follow `start` in a line.
fn names_after<'c>(code: &'c str, start: &str) -> Vec<&'c str> {
    let is_end = |c: char| !(c.is_alphanumeric() || c == '_');
    let rests = code.split(start).skip(1);
    rests.filter_map(|rest| rest.split(is_end).next()).collect()
}

/// Lines of a file that import from a higher layer, or make system calls outside of `linux`.
fn violations(file: &Path, layers: &[String]) -> Vec<String> {
    let text = fs::read_to_string(file).expect("source is text");
    let path = module_path(file);
    let height = |name: &str| layers.iter().position(|layer| layer == name);
    let own = height(&path[0]).expect("its module is in the table");
    let to_root = "super::".repeat(path.len());
    let is_wrong = |code: &str| {
        // The exports of `lib.rs` are for users: inside of the crate a path begins with a layer.
        !names_after(code, "crate::")
            .into_iter()
            .all(|name| height(name).is_some_and(|other| other <= own))
            || names_after(code, &to_root)
                .into_iter()
                .any(|name| height(name).is_some_and(|other| own < other))
            || (code.contains("rustix::") && path[0] != "linux")
    };
    let code = |line: &str| line.split("//").next().unwrap_or_default().to_owned();
    let wrong = text.lines().filter(|line| is_wrong(&code(line)));
    wrong
        .map(|line| format!("{}: {}", path.join("::"), line.trim()))
        .collect()
}

#[test]
fn a_module_imports_only_from_lower_layers() {
    let layers = layers();
    let mut sources = Vec::new();
    files(&source(), &mut sources);
    sources.retain(|file| !file.ends_with("lib.rs"));
    let wrong = sources.iter().flat_map(|file| violations(file, &layers));
    assert_eq!(wrong.collect::<Vec<_>>(), [] as [String; 0]);
}

#[test]
fn each_module_of_the_crate_is_a_layer() {
    let text = fs::read_to_string(source().join("lib.rs")).expect("lib.rs is there");
    let modules = text.lines().filter_map(|line| line.strip_prefix("mod "));
    let modules: Vec<_> = modules.map(|module| module.trim_end_matches(';')).collect();
    assert_eq!(modules, layers(), "in the order of the table");
}
