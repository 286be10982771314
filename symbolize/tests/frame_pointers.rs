//! A program prints which of its frame pointers can be followed. The answers agree.
#![cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

mod support;

use std::process::Command;

use support::{TestDir, executable_mappings};
use symbolize::{Avma, Lookup, Symbolizer};

/// For each function: what the program printed, the answer at the address, and the answer for the
/// whole function.
fn answers(args: &[&str]) -> Vec<(bool, bool, Option<bool>)> {
    let test_dir = TestDir::new();
    let all = [&["--edition=2024"], args].concat();
    let Some(program) = test_dir.compile("rustc", "frames.rs", &all) else {
        return Vec::new();
    };
    let output = Command::new(&program).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let symbolizer = Symbolizer::new(executable_mappings(&text));
    let reported = text.lines().filter_map(reported);
    reported
        .map(|(address, truth)| {
            let found = symbolizer.can_follow_frame_pointer(address, Lookup::Exact);
            (truth, found, symbolizer.keeps_frame_pointer(address))
        })
        .collect()
}

fn reported(line: &str) -> Option<(Avma, bool)> {
    let (address, truth) = line.strip_prefix("at 0x")?.split_once(' ')?;
    let address = u64::from_str_radix(address, 16).ok()?;
    Some((Avma(address), truth.parse().ok()?))
}

#[test]
fn with_frame_pointers_each_can_be_followed() {
    for opt in ["-Copt-level=0", "-Copt-level=3"] {
        for answer in answers(&[opt, "-Cforce-frame-pointers=yes"]) {
            assert_eq!(answer, (true, true, Some(true)), "{opt}");
        }
    }
}

#[test]
fn no_unfollowable_frame_pointer_is_accepted() {
    for opt in ["-Copt-level=0", "-Copt-level=3"] {
        for (truth, found, keeps) in answers(&[opt, "-Cforce-frame-pointers=no"]) {
            assert_eq!((found, keeps), (truth, Some(truth)), "{opt}");
        }
    }
}

#[test]
fn outside_modules_nothing_can_be_followed() {
    let symbolizer = Symbolizer::new(support::own_mappings());
    for address in [0, 8, u64::MAX] {
        assert!(!symbolizer.can_follow_frame_pointer(Avma(address), Lookup::Exact));
        assert!(!symbolizer.can_follow_frame_pointer(Avma(address), Lookup::ReturnAddress));
        assert_eq!(symbolizer.keeps_frame_pointer(Avma(address)), None);
    }
}
