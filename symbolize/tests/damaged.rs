//! Lookups in damaged files return frames or a miss, and never panic.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

mod support;

use std::path::Path;

use support::{ProgramOutput, TestDir};
use symbolize::{Avma, Lookup, Mapping, SourceLine, Symbolizer};

/// Small and reproducible; the quality of the numbers does not matter here.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }
}

/// Makes every kind of lookup in the program's present file.
fn exercise(mappings: &[Mapping], program: &Path) {
    let path = program.to_str().unwrap().as_bytes();
    let own: Vec<Mapping> = mappings
        .iter()
        .filter(|m| m.path == path)
        .cloned()
        .collect();
    let mut symbolizer = Symbolizer::new(own.clone());
    for mapping in &own {
        for address in (mapping.start.0..mapping.end.0).step_by(61) {
            if let Ok(resolved) = symbolizer.resolve(Avma(address), Lookup::ReturnAddress) {
                assert!(!resolved.frames.is_empty());
            }
        }
    }
    let lines = [4, 9, 18].map(|line| SourceLine {
        file: "told.c".to_owned(),
        line,
        column: 0,
    });
    assert_eq!(symbolizer.functions_at(&lines).len(), 3);
}

#[test]
fn truncated_anywhere() {
    let test_dir = TestDir::new();
    let Some(program) = test_dir.compile("cc", "told.c", &["-g", "-O2"]) else {
        return;
    };
    let mappings = ProgramOutput::by(&program).mappings;
    let whole = std::fs::read(&program).unwrap();
    for eighth in 0..256 {
        std::fs::write(&program, &whole[..whole.len() * eighth / 256]).unwrap();
        exercise(&mappings, &program);
    }
}

#[test]
fn flipped_bytes() {
    let test_dir = TestDir::new();
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    for args in [
        &["-g", "-O2"][..],
        &["-g", "-O2", "-gdwarf-4"],
        &["-g", "-gz"],
    ] {
        let Some(program) = test_dir.compile("cc", "told.c", args) else {
            continue;
        };
        let mappings = ProgramOutput::by(&program).mappings;
        let whole = std::fs::read(&program).unwrap();
        let rounds = std::env::var("SYMBOLIZE_FLIP_ROUNDS").map_or(150, |n| n.parse().unwrap());
        for _ in 0..rounds {
            std::fs::write(&program, flipped(&whole, &mut numbers)).unwrap();
            exercise(&mappings, &program);
        }
    }
}

#[test]
fn code_stated_at_the_last_address() {
    let test_dir = TestDir::new();
    let Some(program) = test_dir.compile("cc", "told.c", &["-g", "-O2"]) else {
        return;
    };
    let mappings = ProgramOutput::by(&program).mappings;
    let path = program.to_str().unwrap().as_bytes();
    let mapping = mappings.iter().find(|m| m.path == path).unwrap().clone();
    let mut bytes = std::fs::read(&program).unwrap();
    place_code_at(&mut bytes, u64::MAX);
    std::fs::write(&program, bytes).unwrap();
    let first = mapping.start;
    let mut symbolizer = Symbolizer::new(vec![mapping]);
    let resolved = symbolizer.resolve(first, Lookup::Exact).unwrap();
    assert_eq!(resolved.offset, u64::MAX);
    assert_eq!(resolved.frames.len(), 1);
}

/// Changes the stated address of the first executable segment of a 64-bit ELF file.
fn place_code_at(bytes: &mut [u8], address: u64) {
    let half = |at: usize| usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]));
    let table = usize::from(bytes[32]) | usize::from(bytes[33]) << 8;
    let (size, count) = (half(54), half(56));
    let mut headers = (0..count).map(|index| table + index * size);
    let code = headers
        .find(|header| bytes[*header] == 1 && bytes[header + 4] & 1 == 1)
        .unwrap();
    bytes[code + 16..code + 24].copy_from_slice(&address.to_le_bytes());
}

/// Most flips far behind the start, where the debug info is, and some in the headers.
fn flipped(whole: &[u8], numbers: &mut Numbers) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    let half = bytes.len() / 2;
    for _ in 0..1 + numbers.below(30) {
        let at = match numbers.below(4) {
            0 => 16 + numbers.below(1024),
            _ => half + numbers.below(half),
        };
        bytes[at] = numbers.below(256) as u8;
    }
    bytes
}

#[test]
fn any_text_as_a_name() {
    let mut numbers = Numbers(7);
    let alphabet = [
        "_ZN",
        "_R",
        "E",
        "{",
        "}",
        "{{closure}}",
        "::",
        "<",
        ">",
        "(",
        ")",
        "17h",
        "3abc",
        "S_",
        "I",
        "->",
        "ö",
        " ",
        ".",
        "llvm",
        "actor",
        ".Frame",
    ];
    for _ in 0..20_000 {
        let parts = (0..numbers.below(24)).map(|_| alphabet[numbers.below(alphabet.len())]);
        let name: String = parts.collect();
        symbolize::demangle(&name);
        symbolize::tidy(&name);
    }
}
