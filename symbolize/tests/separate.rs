//! Debug info outside the program: in a separate file, split, or below another directory. A file that
//! only seems to belong to the program gives no name.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use support::{ProgramOutput, TestDir, build_id};
use symbolize::{Avma, Lookup, Miss, SearchPaths, Symbolizer};

/// Runs a tool of binutils. Returns false and prints the reason if the tool is absent or fails.
fn run(tool: &str, words: &[&Path]) -> bool {
    match Command::new(tool).args(words).output() {
        Ok(output) if output.status.success() => true,
        Ok(output) => skipped(tool, &String::from_utf8_lossy(&output.stderr)),
        Err(error) => skipped(tool, &error.to_string()),
    }
}

fn skipped(tool: &str, reason: &str) -> bool {
    eprintln!("SKIPPED: {tool}: {reason}");
    false
}

fn word(word: &str) -> &Path {
    Path::new(word)
}

/// Moves the debug info of a program to this file and strips the program.
fn move_debug_info(program: &Path, to: &Path) -> bool {
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    run("objcopy", &[word("--only-keep-debug"), program, to]) && run("strip", &[program])
}

/// Writes the name and checksum of that file into the program.
fn link(program: &Path, debug: &Path) -> bool {
    let option = format!("--add-gnu-debuglink={}", debug.display());
    run("objcopy", &[word(&option), program])
}

/// The line of a function, which symbol tables do not have.
fn line_of_hidden(
    reported: &ProgramOutput,
    search_paths: SearchPaths,
) -> Result<Option<u32>, Miss> {
    let mut symbolizer = Symbolizer::with_search_paths(reported.mappings.clone(), search_paths);
    let found = symbolizer.resolve(reported.address("hidden"), Lookup::Exact);
    let frame = found.map_err(Miss::clone)?.frames[0].clone();
    assert_eq!(frame.function.is_some(), frame.line.is_some(), "{frame:?}");
    Ok(frame.line)
}

fn compiled(test_dir: &TestDir, more: &[&str]) -> Option<PathBuf> {
    let mut args = vec!["-g", "-O0"];
    args.extend(more);
    test_dir.compile("cc", "told.c", &args)
}

fn by_id(directory: &Path, program: &Path) -> PathBuf {
    let id: String = build_id(program)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let (first, rest) = id.split_at(2);
    directory.join(format!(".build-id/{first}/{rest}.debug"))
}

// LT-22
#[test]
fn a_linked_debug_file_names_a_stripped_program() {
    for place in ["app.debug", ".debug/app.debug"] {
        let test_dir = TestDir::new();
        let Some(program) = compiled(&test_dir, &[]) else {
            return;
        };
        let reported = ProgramOutput::by(&program);
        let debug = test_dir.path(place);
        if !(move_debug_info(&program, &debug) && link(&program, &debug)) {
            return;
        }
        assert_eq!(
            line_of_hidden(&reported, SearchPaths::recorded()),
            Ok(Some(4)),
            "{place}"
        );
    }
}

// LT-22
#[test]
fn a_build_id_names_a_stripped_program() {
    let test_dir = TestDir::new();
    let Some(program) = compiled(&test_dir, &["-Wl,--build-id"]) else {
        return;
    };
    let reported = ProgramOutput::by(&program);
    let directory = test_dir.path("debug");
    if !move_debug_info(&program, &by_id(&directory, &program)) {
        return;
    }
    assert_eq!(
        line_of_hidden(&reported, SearchPaths::recorded()),
        Ok(None),
        "the program is stripped"
    );
    let search_paths = SearchPaths::recorded().with_debug_directory(directory);
    assert_eq!(line_of_hidden(&reported, search_paths), Ok(Some(4)));
}

// LT-22
#[test]
fn moved_symbols_are_read_from_the_debug_file() {
    let test_dir = TestDir::new();
    let Some(program) = test_dir.compile("cc", "told.c", &["-O0"]) else {
        return;
    };
    let reported = ProgramOutput::by(&program);
    let debug = test_dir.path("app.debug");
    if !(move_debug_info(&program, &debug) && link(&program, &debug)) {
        return;
    }
    let mut symbolizer = Symbolizer::new(reported.mappings.clone());
    let found = symbolizer.resolve(reported.address("hidden"), Lookup::Exact);
    let function = found.unwrap().frames[0].function.as_deref();
    assert_eq!(function, Some("hidden"));
}

#[test]
fn a_pipe_or_an_endless_debug_file_does_not_block() {
    let test_dir = TestDir::new();
    let Some(program) = compiled(&test_dir, &[]) else {
        return;
    };
    let reported = ProgramOutput::by(&program);
    let debug = test_dir.path("app.debug");
    if !(move_debug_info(&program, &debug) && link(&program, &debug)) {
        return;
    }
    fs::File::options()
        .write(true)
        .open(&debug)
        .and_then(|file| file.set_len(8 << 40))
        .unwrap();
    assert_eq!(line_of_hidden(&reported, SearchPaths::recorded()), Ok(None));
    fs::remove_file(&debug).unwrap();
    if run("mkfifo", &[&debug]) {
        assert_eq!(line_of_hidden(&reported, SearchPaths::recorded()), Ok(None));
    }
}

#[test]
fn a_debug_file_of_another_build_gives_no_name() {
    let test_dir = TestDir::new();
    let Some(program) = compiled(&test_dir, &["-Wl,--build-id"]) else {
        return;
    };
    let Some(other) = compiled(&test_dir, &["-Wl,--build-id", "-DX"]) else {
        return;
    };
    let reported = ProgramOutput::by(&program);
    let (directory, others) = (test_dir.path("debug"), by_id(&test_dir.path("x"), &other));
    let place = by_id(&directory, &program);
    if !(move_debug_info(&program, &place) && move_debug_info(&other, &others)) {
        return;
    }
    // Both builds have the same id unless their bytes differ, so the second id is changed by hand.
    let mut bytes = fs::read(&place).unwrap();
    let id = build_id(&program);
    let at = bytes
        .windows(id.len())
        .position(|window| window == id)
        .unwrap();
    bytes[at] ^= 1;
    fs::write(&place, bytes).unwrap();
    let search_paths = SearchPaths::recorded().with_debug_directory(directory);
    assert_eq!(line_of_hidden(&reported, search_paths), Ok(None));
}

#[test]
fn without_a_build_id_the_checksum_decides() {
    let test_dir = TestDir::new();
    let Some(program) = compiled(&test_dir, &["-Wl,--build-id=none"]) else {
        return;
    };
    let reported = ProgramOutput::by(&program);
    let debug = test_dir.path("app.debug");
    if !(move_debug_info(&program, &debug) && link(&program, &debug)) {
        return;
    }
    assert_eq!(
        line_of_hidden(&reported, SearchPaths::recorded()),
        Ok(Some(4))
    );
    let mut bytes = fs::read(&debug).unwrap();
    bytes.push(0);
    fs::write(&debug, bytes).unwrap();
    assert_eq!(line_of_hidden(&reported, SearchPaths::recorded()), Ok(None));
}

// LT-22
#[test]
fn split_debug_info_is_read_from_parts_and_package() {
    for version in ["-gdwarf-4", "-gdwarf-5"] {
        let test_dir = TestDir::new();
        let (object, program) = (test_dir.path("told.o"), test_dir.path("told"));
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/told.c");
        let compile = ["-c", "-g", "-O2", "-gsplit-dwarf", version, "-o"].map(word);
        let compile = [&compile[..], &[&object, &source]].concat();
        if !(run("cc", &compile) && run("cc", &[&object, word("-o"), &program])) {
            return;
        }
        let reported = ProgramOutput::by(&program);
        let part = test_dir.path("told.dwo");
        assert!(part.exists(), "the compiler wrote no .dwo");
        assert!(has_inlined_function(&reported), "{version}: from its part");

        let package = test_dir.path("told.dwp");
        if !run("dwp", &[word("-e"), &program, word("-o"), &package]) {
            continue;
        }
        fs::remove_file(&part).unwrap();
        assert!(
            has_inlined_function(&reported),
            "{version}: from the package"
        );
        fs::remove_file(package).unwrap();
        assert!(!has_inlined_function(&reported), "no other source");
    }
}

/// Whether the inlined function is found, which only debug info has.
fn has_inlined_function(reported: &ProgramOutput) -> bool {
    let mut symbolizer = Symbolizer::new(reported.mappings.clone());
    let start = reported.address("caller_of_inlined");
    (0..16).any(|byte| {
        let found = symbolizer.resolve(Avma(start.0 + byte), Lookup::Exact);
        found.is_ok_and(|resolved| resolved.frames[0].function.as_deref() == Some("twice"))
    })
}

// LT-22
#[test]
fn files_of_another_machine_are_read_below_a_root() {
    let test_dir = TestDir::new();
    let Some(program) = compiled(&test_dir, &["-Wl,--build-id"]) else {
        return;
    };
    let reported = ProgramOutput::by(&program);
    let id = build_id(&program);
    let reported = reported.with_build_id(&program, &id);
    let root = test_dir.path("root");
    let whole = root.join(program.strip_prefix("/").unwrap());
    fs::create_dir_all(whole.parent().unwrap()).unwrap();
    fs::rename(&program, &whole).unwrap();
    let missing = line_of_hidden(&reported, SearchPaths::recorded());
    assert!(
        matches!(missing, Err(Miss::Unreadable { .. })),
        "{missing:?}"
    );
    assert_eq!(
        line_of_hidden(&reported, SearchPaths::below(root.clone())),
        Ok(Some(4))
    );

    let by_name = root.join(program.file_name().unwrap());
    fs::rename(&whole, &by_name).unwrap();
    assert_eq!(
        line_of_hidden(&reported, SearchPaths::below(root.clone())),
        Ok(Some(4))
    );
    let installed = root.join("usr/lib/debug");
    if move_debug_info(&by_name, &by_id(&installed, &by_name)) {
        assert_eq!(
            line_of_hidden(&reported, SearchPaths::below(root)),
            Ok(Some(4))
        );
    }
}
