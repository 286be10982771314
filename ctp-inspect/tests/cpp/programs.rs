//! Frames of compiled programs, compared with what the programs know of themselves.

use std::path::{Path, PathBuf};

use ctp_trace::record::AwaitFrame;
use tempfile::TempDir;

use crate::program::Program;
use crate::support::compile;

const SOURCE: &str = "cpp/coroutines.cpp";

/// A compiler, and the levels of optimization.
const COMPILERS: [(&str, &str); 8] = [
    ("g++", "-O0"),
    ("g++", "-O2"),
    ("clang++", "-O0"),
    ("clang++", "-O2"),
    ("clang++-16", "-O0"),
    ("clang++-16", "-O2"),
    ("clang++-22", "-O0"),
    ("clang++-22", "-O2"),
];

/// Compiles the program. `None` if the compiler is missing, which is printed.
fn compiled(compiler: &str, args: &[&str]) -> Option<(TempDir, PathBuf)> {
    let directory = TempDir::new().unwrap();
    let args = [&["-std=c++20", "-pthread"], args].concat();
    let program = compile(directory.path(), compiler, SOURCE, &args)?;
    Some((directory, program))
}

#[test]
fn exactly_the_live_frames_are_found() {
    for (compiler, level) in COMPILERS {
        let Some((_directory, path)) = compiled(compiler, &[level]) else {
            continue;
        };
        let program = Program::start(&path, &[]);
        let found = program.inspect();
        for is_finished in [false, true] {
            let known = program.counts(is_finished);
            assert_eq!(found.counts(is_finished), known, "{compiler} {level}");
        }
        let known = program.addresses();
        let certain = found.tasks.iter().filter(|task| !task.may_be_freed);
        let unknown = certain.filter(|task| !known.contains(&task.address));
        assert_eq!(unknown.count(), 0, "{compiler} {level}");
        assert_eq!(found.end.runtimes, ["C++20 coroutines"]);
    }
}

#[test]
fn awaited_frames_follow_their_callers() {
    for (compiler, level) in COMPILERS {
        let Some((_directory, path)) = compiled(compiler, &["-g", level]) else {
            continue;
        };
        let program = Program::start(&path, &[]);
        let found = program.inspect();
        assert_eq!(found.chains(), program.chains(), "{compiler} {level}");
        for frame in found.stacks.values().flat_map(|stack| &stack.frames) {
            assert!(has_right_line(frame), "{compiler} {level}: {frame:?}");
        }
    }
}

/// Whether the line of a frame declares the function, or suspends it. Only newer versions of clang say which line
/// suspends a function.
fn has_right_line(frame: &AwaitFrame) -> bool {
    let lines: Vec<&str> = include_str!("../programs/cpp/coroutines.cpp")
        .lines()
        .collect();
    let line = lines
        .get(frame.line as usize - 1)
        .copied()
        .unwrap_or_default();
    let name = frame.name.split(['(', '<']).next().unwrap_or_default();
    let function = name.rsplit("::").next().unwrap_or_default();
    let suspends = ["co_await", "co_yield"]
        .iter()
        .any(|word| line.contains(word));
    let declares = line.contains(&format!("{function}(")) && line.ends_with('{');
    frame.file.ends_with(&format!("/{SOURCE}")) && (declares || suspends && 0 < frame.suspension)
}

#[test]
fn symbols_suffice_for_the_chains_of_gcc() {
    let Some((_directory, path)) = compiled("g++", &["-O2"]) else {
        return;
    };
    let program = Program::start(&path, &[]);
    assert_eq!(program.inspect().chains(), program.chains());
}

#[test]
fn a_stripped_program_is_recognised() {
    let Some((_directory, path)) = compiled("g++", &["-O2", "-s"]) else {
        return;
    };
    let program = Program::start(&path, &[]);
    let found = program.inspect();
    assert_eq!(found.tasks, []);
    let mut gaps = found.end.gaps.iter();
    let gap = gaps.find(|gap| gap.contains(" objects look like frames of C++20 coroutines"));
    let number = gap.and_then(|gap| gap.split(' ').next()?.parse::<usize>().ok());
    // Memory that is used again may have remains of frames.
    let live: usize = program.counts(false).values().sum();
    assert!(
        number.is_some_and(|number| live <= number),
        "{:?}",
        found.end.gaps
    );
}

#[test]
fn frames_under_other_allocators_are_uncertain() {
    let libraries = [
        "libjemalloc.so.2",
        "libmimalloc.so.2.0",
        "libtcmalloc_minimal.so.4",
    ];
    let Some((_directory, path)) = compiled("g++", &["-O2"]) else {
        return;
    };
    for library in libraries {
        let library = format!("/usr/lib/{}-linux-gnu/{library}", std::env::consts::ARCH);
        if !Path::new(&library).exists() {
            eprintln!("SKIPPED: {library} is missing");
            continue;
        }
        let program = Program::start(&path, &[("LD_PRELOAD", &library)]);
        let found = program.inspect();
        let certain = found.tasks.iter().filter(|task| !task.may_be_freed);
        assert_eq!(certain.count(), 0, "{library}");
        assert!(program.frames.len() <= found.uncertain(), "{library}");
        let gaps = &found.end.gaps;
        assert!(
            gaps.iter().any(|gap| gap.contains("may be freed")),
            "{gaps:?}"
        );
    }
}
