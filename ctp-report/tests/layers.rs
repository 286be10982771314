//! The layers of the report. `src/lib.rs` lists its modules so that each imports only from modules
//! after it, and a view imports no other view.

use std::fs;
use std::path::{Path, PathBuf};

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// The modules of the library, as it lists them.
fn layers() -> Vec<String> {
    let lib = fs::read_to_string(source().join("lib.rs")).expect("the library");
    let modules = lib.lines().filter_map(|line| {
        let line = line.strip_prefix("pub ").unwrap_or(line);
        line.strip_prefix("mod ")?.strip_suffix(';')
    });
    modules.map(str::to_owned).collect()
}

/// All files of a module, with their text.
fn files(module: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let file = module.with_extension("rs");
    if let Ok(text) = fs::read_to_string(&file) {
        found.push((file, text));
    }
    for entry in fs::read_dir(module).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() || !path.with_extension("").is_dir() {
            found.extend(files(&path.with_extension("")));
        }
    }
    found
}

/// What a text imports from below a path: the next name of each.
fn imports<'t>(text: &'t str, path: &'t str) -> impl Iterator<Item = &'t str> {
    text.split(path).skip(1).flat_map(|rest| {
        let names = match rest.strip_prefix('{') {
            Some(group) => group.split('}').next().unwrap_or_default(),
            None => rest,
        };
        let is_group = rest.starts_with('{');
        let names = names.split(',').take(if is_group { usize::MAX } else { 1 });
        names.filter_map(|name| name.trim().split(|c: char| !is_in_a_name(c)).next())
    })
}

fn is_in_a_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[test]
fn imports_point_down() {
    let layers = layers();
    assert!(layers.len() <= 20, "{layers:?}");
    for (height, module) in layers.iter().enumerate() {
        for (file, text) in files(&source().join(module)) {
            for name in imports(&text, "crate::") {
                let is_above = layers[..height].iter().any(|above| above == name);
                assert!(!is_above, "{}: crate::{name}", file.display());
            }
        }
    }
}

#[test]
fn no_view_imports_another() {
    let views = fs::read_dir(source().join("views")).expect("the views");
    let views: Vec<PathBuf> = views.flatten().map(|entry| entry.path()).collect();
    for view in views.iter().filter(|path| path.is_file()) {
        let view = view.with_extension("");
        let own = view.file_name().and_then(|name| name.to_str());
        for (file, text) in files(&view) {
            for name in imports(&text, "crate::views::") {
                assert_eq!(Some(name), own, "{}", file.display());
            }
        }
    }
}
