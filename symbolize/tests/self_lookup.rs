//! The test program looks itself up: its own functions and addresses, and its own source lines.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

mod support;

use std::hint::black_box;
use std::panic::Location;
use std::pin::pin;
use std::task::{Context, Waker};
use std::time::Instant;

use support::own_mappings;
use symbolize::{Avma, Lookup, Miss, SourceLine, Symbolizer};

const PLAIN_LINE: u32 = line!() + 2;
#[inline(never)]
fn plain_function(n: u64) -> u64 {
    black_box(n) + 1
}

struct Subject;

trait Acts {
    fn act(&self) -> u64;
}

impl Acts for Subject {
    #[inline(never)]
    fn act(&self) -> u64 {
        black_box(7)
    }
}

fn function(address: u64, how: Lookup) -> String {
    let mut symbolizer = Symbolizer::new(own_mappings());
    let resolved = symbolizer.resolve(Avma(address), how).unwrap();
    let outermost = resolved.frames.last().unwrap();
    outermost.function.as_ref().unwrap().to_string()
}

#[test]
fn own_functions() {
    assert_eq!(plain_function(1), 2);
    let plain = plain_function as fn(u64) -> u64 as usize as u64;
    assert_eq!(
        function(plain, Lookup::Exact),
        "self_lookup::plain_function"
    );
    assert_eq!(Subject.act(), 7);
    let method = <Subject as Acts>::act as fn(&Subject) -> u64 as usize as u64;
    assert_eq!(
        function(method, Lookup::Exact),
        "<self_lookup::Subject as self_lookup::Acts>::act"
    );
}

#[test]
fn own_file_and_line() {
    let mut symbolizer = Symbolizer::new(own_mappings());
    let plain = plain_function as fn(u64) -> u64 as usize as u64;
    let resolved = symbolizer.resolve(Avma(plain), Lookup::Exact).unwrap();
    let frame = resolved.frames.last().unwrap();
    let file = frame.file.as_deref().unwrap();
    assert!(
        file.starts_with('/') && file.ends_with("tests/self_lookup.rs"),
        "{file}"
    );
    assert!(
        [PLAIN_LINE, PLAIN_LINE + 1].contains(&frame.line.unwrap()),
        "{frame:?}"
    );
    assert!(resolved.module.starts_with("self_lookup"));
}

#[test]
fn addresses_outside_are_named_misses() {
    let mut symbolizer = Symbolizer::new(own_mappings());
    assert!(!symbolizer.is_text(Avma(1)));
    let miss = symbolizer.resolve(Avma(1), Lookup::Exact).unwrap_err();
    assert_eq!(*miss, Miss::NoModule(Avma(1)));
    let vdso = own_mappings().into_iter().find(|m| m.path == b"[vdso]");
    let Some(vdso) = vdso else { return };
    let miss = symbolizer.resolve(vdso.start, Lookup::Exact).unwrap_err();
    assert_eq!(
        *miss,
        Miss::NotAFile {
            path: "[vdso]".to_owned()
        }
    );
}

#[test]
fn a_missing_file_and_a_file_that_is_not_elf() {
    let test_dir = support::TestDir::new();
    let mut mapping = own_mappings().remove(0);
    mapping.path = test_dir.path("gone").to_str().unwrap().into();
    let miss = |mapping: &symbolize::Mapping| {
        let mut symbolizer = Symbolizer::new(vec![mapping.clone()]);
        symbolizer
            .resolve(mapping.start, Lookup::Exact)
            .unwrap_err()
            .clone()
    };
    assert!(
        matches!(miss(&mapping), Miss::Unreadable { reason, .. } if reason.starts_with("no such file"))
    );
    for content in ["", "text, not code", "\x7fELF", "\x7fELF and then nothing"] {
        std::fs::write(test_dir.path("gone"), content).unwrap();
        assert!(matches!(miss(&mapping), Miss::NotElf { .. }), "{content}");
    }
    mapping.path = b"/dev/null".to_vec();
    assert!(matches!(miss(&mapping), Miss::NotElf { .. }));
}

#[test]
fn repeated_lookups_come_from_the_cache() {
    let mut symbolizer = Symbolizer::new(own_mappings());
    let plain = plain_function as fn(u64) -> u64 as usize as u64;
    let module = own_mappings()
        .into_iter()
        .find(|m| m.start.0 <= plain && plain < m.end.0)
        .unwrap();
    let step = ((module.end.0 - module.start.0) / 10_000).max(1);
    let addresses: Vec<Avma> = (0..10_000)
        .map(|n| Avma(module.start.0 + n * step))
        .collect();
    let mut pass = || {
        let start = Instant::now();
        let mut resolved = |&&at: &&Avma| symbolizer.resolve(at, Lookup::Exact).is_ok();
        let named = addresses.iter().filter(&mut resolved).count();
        (named, start.elapsed())
    };
    let (first_named, first) = pass();
    let (again_named, again) = pass();
    println!("10 000 addresses: {first:?}, {first_named} resolved; again: {again:?}");
    assert_eq!(first_named, again_named);
    assert!(9_000 < first_named, "{first_named}");
    assert!(again < first);
}

/// What a runtime would record: the line of the caller.
#[track_caller]
fn site() -> SourceLine {
    let location = Location::caller();
    SourceLine {
        file: location.file().to_owned(),
        line: location.line(),
        column: location.column(),
    }
}

async fn waits(seen: &mut Vec<SourceLine>) {
    seen.push(site());
    std::future::ready(()).await;
    let mut in_closure = || seen.push(site());
    in_closure();
}

fn poll_once(future: impl Future<Output = ()>) {
    let mut context = Context::from_waker(Waker::noop());
    assert!(pin!(future).poll(&mut context).is_ready());
}

#[test]
fn the_function_of_a_recorded_site() {
    let mut seen = vec![site()];
    poll_once(async {
        seen.push(site());
        waits(&mut seen).await;
    });

    let mut symbolizer = Symbolizer::new(own_mappings());
    let found = symbolizer.functions_at(&seen);
    let names = found.iter().map(|at| at.as_ref().map(|at| &*at.function));
    let expected = [
        "self_lookup::the_function_of_a_recorded_site",
        "async block in self_lookup::the_function_of_a_recorded_site",
        "self_lookup::waits",
        "closure in self_lookup::waits",
    ];
    for (name, expected) in names.zip(expected) {
        if cfg!(debug_assertions) {
            assert_eq!(name, Some(expected));
        } else {
            // This workspace's release builds have line tables only: less is known, but nothing wrong.
            assert!(name.is_none_or(|name| expected.ends_with(name)), "{name:?}");
        }
    }
    assert!(found.iter().flatten().all(|at| at.file.starts_with('/')));
    assert_eq!(
        symbolizer.functions_at(&seen),
        found,
        "the cache answers the same"
    );
}
