//! C and C++ programs print the addresses of their functions. The addresses resolve to the right names,
//! however the programs were linked.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

mod support;

use object::{Object, ObjectSegment};
use std::path::Path;
use support::{ProgramOutput, TestDir, build_id};
use symbolize::{Avma, Frame, Lookup, Miss, Symbolizer};

fn frames(symbolizer: &mut Symbolizer, address: Avma) -> Vec<Frame> {
    symbolizer
        .resolve(address, Lookup::Exact)
        .unwrap()
        .frames
        .clone()
}

fn function(symbolizer: &mut Symbolizer, address: Avma) -> Option<String> {
    let innermost = frames(symbolizer, address).remove(0);
    innermost.function.map(|name| name.to_string())
}

/// Names, files and lines of a program that was compiled with debug info and without optimization.
fn assert_named(program: &Path) {
    let reported = ProgramOutput::by(program);
    let mut symbolizer = Symbolizer::new(reported.mappings.clone());
    for (name, line) in [("hidden", 4), ("visible", 13), ("main", 21)] {
        let frame = frames(&mut symbolizer, reported.address(name)).remove(0);
        assert_eq!(frame.function.as_deref(), Some(name));
        assert_eq!(frame.line, Some(line));
        let file = frame.file.unwrap();
        assert!(
            file.starts_with('/') && file.ends_with("tests/programs/told.c"),
            "{file}"
        );
        assert!(symbolizer.is_text(reported.address(name)));
    }
}

#[test]
fn position_dependent_and_independent() {
    let test_dir = TestDir::new();
    for flag in ["-no-pie", "-pie", "-static"] {
        if let Some(program) = test_dir.compile("cc", "told.c", &["-g", "-O0", "-fPIE", flag]) {
            assert_named(&program);
        }
    }
}

#[test]
fn compressed_debug_sections() {
    let test_dir = TestDir::new();
    for flag in ["-gz=zlib", "-gz=zstd"] {
        if let Some(program) = test_dir.compile("cc", "told.c", &["-g", "-O0", flag]) {
            assert_named(&program);
        }
    }
}

#[test]
fn text_address_differs_from_the_file_offset() {
    let test_dir = TestDir::new();
    let args = ["-g", "-O0", "-fPIE", "-pie", "-Wl,-Ttext=0x30000"];
    let Some(program) = test_dir.compile("cc", "told.c", &args) else {
        return;
    };
    let bytes = std::fs::read(&program).unwrap();
    let object = object::File::parse(&*bytes).unwrap();
    let is_shifted = |s: object::Segment<'_, '_>| {
        s.permissions().executable() && s.address() != s.file_range().0
    };
    assert!(
        object.segments().any(is_shifted),
        "the linker ignored the option"
    );
    assert_named(&program);
}

#[test]
fn inlined_frames_end_in_the_real_function() {
    let test_dir = TestDir::new();
    let Some(program) = test_dir.compile("cc", "told.c", &["-g", "-O2"]) else {
        return;
    };
    let reported = ProgramOutput::by(&program);
    let mut symbolizer = Symbolizer::new(reported.mappings.clone());
    let start = reported.address("caller_of_inlined");
    let found = (0..16)
        .map(|byte| frames(&mut symbolizer, Avma(start.0 + byte)))
        .find(|frames| frames.len() == 2)
        .expect("somewhere in these bytes is the inlined function");
    assert_eq!(found[0].function.as_deref(), Some("twice"));
    assert_eq!(found[1].function.as_deref(), Some("caller_of_inlined"));
    assert!(found[0].inlined && !found[1].inlined);
    assert_eq!(found[1].line, Some(18), "the line of the call");
}

#[test]
fn symbol_table_only() {
    let test_dir = TestDir::new();
    let Some(program) = test_dir.compile("cc", "told.c", &["-O1", "-g0"]) else {
        return;
    };
    let reported = ProgramOutput::by(&program);
    let mut symbolizer = Symbolizer::new(reported.mappings.clone());
    let frame = frames(&mut symbolizer, reported.address("visible")).remove(0);
    assert_eq!(frame.function.as_deref(), Some("visible"));
    assert_eq!((frame.file, frame.line), (None, None));
    assert_eq!(
        function(&mut symbolizer, reported.address("libc_puts")).as_deref(),
        Some("puts")
    );
}

#[test]
fn without_any_name_there_is_module_and_offset() {
    let test_dir = TestDir::new();
    let Some(program) = test_dir.compile("cc", "told.c", &["-O1", "-g0", "-s", "-no-pie"]) else {
        return;
    };
    let reported = ProgramOutput::by(&program);
    let mut symbolizer = Symbolizer::new(reported.mappings.clone());
    let address = reported.address("visible");
    let resolved = symbolizer.resolve(address, Lookup::Exact).unwrap();
    assert_eq!(resolved.frames, [Frame::default()]);
    assert_eq!(
        &*resolved.module,
        program.file_name().unwrap().to_str().unwrap()
    );
    assert_eq!(
        resolved.offset, address.0,
        "a program that is not relocated runs where the file says"
    );
}

#[test]
fn a_return_address_after_the_last_byte_is_in_the_function() {
    let test_dir = TestDir::new();
    let Some(program) = test_dir.compile("cc", "told.c", &["-g", "-O0"]) else {
        return;
    };
    let reported = ProgramOutput::by(&program);
    let mut symbolizer = Symbolizer::new(reported.mappings.clone());
    let start = reported.address("visible");
    let end = (0..1000)
        .map(|byte| Avma(start.0 + byte))
        .find(|&at| function(&mut symbolizer, at).as_deref() != Some("visible"))
        .unwrap();
    let resolved = symbolizer.resolve(end, Lookup::ReturnAddress).unwrap();
    assert_eq!(resolved.frames[0].function.as_deref(), Some("visible"));
}

#[test]
fn cpp_names() {
    let test_dir = TestDir::new();
    for args in [&["-g", "-O0"][..], &["-g0", "-O1"][..]] {
        let Some(program) = test_dir.compile("g++", "told.cpp", args) else {
            continue;
        };
        let reported = ProgramOutput::by(&program);
        let mut symbolizer = Symbolizer::new(reported.mappings.clone());
        let grow = function(&mut symbolizer, reported.address("grow"));
        assert_eq!(grow.as_deref(), Some("pool::Queue<int>::grow(int)"));
        let apply = function(&mut symbolizer, reported.address("apply"));
        assert_eq!(apply.as_deref(), Some("apply(int (*)(int))"));
    }
}

#[test]
fn a_cpp_coroutine_body_has_the_function_name() {
    let test_dir = TestDir::new();
    for args in [
        ["-std=c++20", "-g", "-O0"],
        ["-std=c++20", "-g", "-O2"],
        ["-std=c++20", "-g0", "-O1"],
    ] {
        let Some(program) = test_dir.compile("g++", "coroutine.cpp", &args) else {
            continue;
        };
        let reported = ProgramOutput::by(&program);
        let mut symbolizer = Symbolizer::new(reported.mappings.clone());
        let body = frames(&mut symbolizer, reported.address("serve"))
            .pop()
            .unwrap();
        assert_eq!(
            body.function.as_deref(),
            Some("app::serve(int)"),
            "{args:?}"
        );
    }
}

#[test]
fn another_build_is_never_used() {
    let test_dir = TestDir::new();
    let ran = test_dir.compile("cc", "told.c", &["-g", "-O0", "-Wl,--build-id"]);
    let other = test_dir.compile("cc", "told.c", &["-g", "-O1", "-Wl,--build-id"]);
    let (Some(ran), Some(other)) = (ran, other) else {
        return;
    };
    let recorded = build_id(&ran);
    assert_ne!(recorded, build_id(&other));

    let reported = ProgramOutput::by(&ran).with_build_id(&ran, &recorded);
    let address = reported.address("visible");
    let mut symbolizer = Symbolizer::new(reported.mappings.clone());
    assert_eq!(
        function(&mut symbolizer, address).as_deref(),
        Some("visible")
    );

    std::fs::rename(&other, &ran).unwrap();
    let mut symbolizer = Symbolizer::new(reported.mappings);
    let miss = symbolizer.resolve(address, Lookup::Exact).unwrap_err();
    assert!(matches!(miss, Miss::BuildIdMismatch { .. }), "{miss}");
}

#[test]
fn a_deleted_file_is_used_only_with_a_matching_build_id() {
    let test_dir = TestDir::new();
    let Some(program) = test_dir.compile("cc", "told.c", &["-g", "-O0", "-Wl,--build-id"]) else {
        return;
    };
    let reported = ProgramOutput::by(&program);
    let address = reported.address("visible");
    let path = program.to_str().unwrap();
    let resolve = |build_id: &[u8]| {
        let mut mappings = reported.mappings.clone();
        for mapping in mappings.iter_mut().filter(|m| m.path == path.as_bytes()) {
            mapping.path.extend(b" (deleted)");
            mapping.build_id = build_id.to_vec();
        }
        Symbolizer::new(mappings)
            .resolve(address, Lookup::Exact)
            .cloned()
            .map_err(Miss::clone)
    };
    let deleted = Err(Miss::Deleted {
        path: path.to_owned(),
    });
    assert_eq!(resolve(&[]), deleted);
    assert_eq!(resolve(&[1, 2, 3]), deleted);
    assert!(resolve(&build_id(&program)).is_ok());
    std::fs::remove_file(&program).unwrap();
    assert_eq!(resolve(&[1, 2, 3]), deleted);
}
