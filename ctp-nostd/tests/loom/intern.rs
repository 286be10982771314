//! Sites and names.

use std::panic::Location;

use ctp_nostd::intern::{self, Entry};
use ctp_nostd::layout::Interned;
use loom::sync::Arc;
use loom::sync::atomic::AtomicU64;
use loom::sync::atomic::Ordering::{self, Acquire, Relaxed};
use loom::thread;

use crate::check;

fn entry() -> Entry<'static> {
    Entry {
        line: 3,
        column: 4,
        addr: 5,
        ..Entry::name("reader of sockets", 6)
    }
}

/// True for a whole entry, false for none; half an entry fails the test.
fn assert_whole(table: &[Interned], id: u32) -> bool {
    let Some(found) = intern::lookup(table, id) else {
        return false;
    };
    let expected = entry();
    assert_eq!(found.kind, expected.kind as u32);
    assert_eq!((found.line, found.column), (expected.line, expected.column));
    assert_eq!((found.addr, found.site), (expected.addr, expected.site));
    assert_eq!(found.text.as_str(), expected.text);
    true
}

// CTP-24
#[test]
fn equal_contents_share_an_id_and_are_never_partial() {
    check(|| {
        let table = Arc::new([Interned::default(), Interned::default()]);
        let other = Arc::clone(&table);
        let probe = thread::spawn(move || intern::intern(&*other, 1, &entry()));
        let here = intern::intern(&*table, 1, &entry());
        assert!([1, 2].contains(&here));
        assert_whole(&*table, here); // the other thread may still fill it in
        let there = probe.join().expect("a probe does not panic");
        assert_eq!(here, there);
        assert!(assert_whole(&*table, here));
        assert!(!assert_whole(&*table, 3 - here), "the other entry is empty");
    });
}

#[test]
fn different_contents_have_different_ids() {
    check(|| {
        let table = Arc::new([Interned::default(), Interned::default()]);
        let other = Arc::clone(&table);
        let place = Location::caller();
        let probe = thread::spawn(move || intern::intern(&*other, 1, &Entry::source(place)));
        let here = intern::intern(&*table, 1, &entry());
        let there = probe.join().expect("a probe does not panic");
        assert!(here + there == 3 && here != there);
        assert!(assert_whole(&*table, here));
    });
}

fn an_entry_is_whole(ready: Ordering) {
    check(move || {
        let entry = Arc::new([AtomicU64::new(0), AtomicU64::new(0)]);
        let filled = Arc::clone(&entry);
        let probe = thread::spawn(move || {
            filled[0].store(7, Relaxed);
            filled[1].store(1, ready);
        });
        if entry[1].load(Acquire) != 0 {
            assert_eq!(entry[0].load(Relaxed), 7, "half");
        }
        probe.join().expect("a probe does not panic");
    });
}

#[test]
#[should_panic = "half"]
fn without_the_release_an_entry_is_half_there() {
    an_entry_is_whole(Relaxed);
}
