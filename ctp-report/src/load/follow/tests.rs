use std::fs;
use std::io::{Seek as _, SeekFrom, Write as _};

use anstream::ColorChoice;
use rustix::fs::{FlockOperation, flock};
use symbolize::SearchPaths;
use tempfile::TempDir;

use super::*;
use crate::config::filter::Filter;
use crate::config::ignore::Ignore;
use crate::config::{DEFAULT_INPUT, Detail, View};
use crate::load::test_trace;
use crate::text::Width;

/// A trace of several chunks, of which parts can be written.
fn bytes() -> Vec<u8> {
    test_trace::of_records(40_000)
}

/// A file that a recorder writes, as far as the lock says.
struct Growing {
    folder: TempDir,
    file: File,
}

impl Growing {
    fn start(bytes: &[u8]) -> Self {
        let folder = tempfile::tempdir().expect("room");
        let file = File::create(folder.path().join("ctp.data")).expect("room");
        flock(&file, FlockOperation::NonBlockingLockExclusive).expect("a lock");
        let mut growing = Growing { folder, file };
        growing.write(bytes);
        growing
    }

    fn write(&mut self, bytes: &[u8]) {
        self.file.write_all(bytes).expect("room");
    }

    fn path(&self) -> std::path::PathBuf {
        self.folder.path().join("ctp.data")
    }
}

fn config() -> Config {
    Config {
        input: DEFAULT_INPUT.into(),
        run: None,
        search_paths: SearchPaths::recorded(),
        skip: Ignore::default(),
        max_module: None,
        max_memory: None,
        view: View::Dump,
        filter: Filter::default(),
        json: false,
        detail: Detail::Usual,
        color: ColorChoice::Never,
        width: Width::Full,
        has_links: false,
        has_pager: false,
    }
}

/// How many records a reading returns, and what it says.
fn read(followed: &mut Followed) -> (usize, TraceProgress) {
    let mut records = 0;
    let progress = followed.read_on(|_| records += 1).expect("a trace");
    (records, progress)
}

// LT-23
#[test]
fn each_reading_returns_only_what_is_new() {
    let (bytes, config) = (bytes(), config());
    let mut growing = Growing::start(&bytes[..400]);
    let path = growing.path();
    let mut followed = Followed::open(&config, &path).expect("a trace");
    let mut all = 0;
    // Parts end within chunks.
    for part in bytes[400..].chunks(bytes.len() / 9 + 1) {
        let (records, progress) = read(&mut followed);
        assert_eq!(progress, TraceProgress::GoesOn);
        assert!(followed.model.goes_on);
        assert_eq!(read(&mut followed).0, 0);
        all += records;
        growing.write(part);
    }
    let (records, progress) = read(&mut followed);
    assert_eq!((all + records, progress), (40_002, TraceProgress::Finished));
    assert!(followed.model.damage.is_empty() && !followed.model.goes_on);
    assert_eq!(read(&mut followed), (0, TraceProgress::Finished));
}

#[test]
fn another_reading_has_what_came_after_the_trace_was_opened() {
    let (bytes, config) = (bytes(), config());
    let mut growing = Growing::start(&bytes[..400]);
    let path = growing.path();
    let followed = Followed::open(&config, &path).expect("a trace");
    growing.write(&bytes[400..]);
    let count = |input: &Input| {
        let mut records = 0;
        let model = input.model(|_, _| records += 1, |_, _| {});
        model.expect("a trace");
        records
    };
    assert_eq!(count(&followed.whole_input().expect("a file")), 40_002);
    assert!(count(followed.input()) < 40_002);
}

#[test]
fn a_trace_without_a_recorder_is_cut_off() {
    let (bytes, config) = (bytes(), config());
    let growing = Growing::start(&bytes[..bytes.len() / 2]);
    let path = growing.path();
    let mut followed = Followed::open(&config, &path).expect("a trace");
    assert_eq!(read(&mut followed).1, TraceProgress::GoesOn);
    flock(&growing.file, FlockOperation::Unlock).expect("a lock");
    assert_eq!(read(&mut followed).1, TraceProgress::CutOff);
    assert!(followed.model.truncated_at.is_some() && !followed.is_replaced());
}

#[test]
fn damage_is_counted() {
    let (mut bytes, config) = (bytes(), config());
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    let mut growing = Growing::start(&bytes[..400]);
    let path = growing.path();
    let mut followed = Followed::open(&config, &path).expect("a trace");
    read(&mut followed);
    growing.write(&bytes[400..]);
    let (records, progress) = read(&mut followed);
    assert_eq!(progress, TraceProgress::Finished);
    assert_eq!(
        followed.model.damage.len(),
        1,
        "{:?}",
        followed.model.damage
    );
    assert!(0 < records && records < 40_000, "{records}");
}

#[test]
fn another_trace_of_this_name_is_noticed() {
    let (bytes, config) = (bytes(), config());
    let mut growing = Growing::start(&bytes);
    let path = growing.path();
    let mut followed = Followed::open(&config, &path).expect("a trace");
    assert!(!followed.is_replaced());
    fs::rename(&path, growing.folder.path().join("old")).expect("room");
    assert!(!followed.is_replaced());
    fs::write(&path, &bytes).expect("room");
    assert!(followed.is_replaced());
    growing.file.set_len(500).expect("room");
    growing.file.seek(SeekFrom::Start(0)).expect("room");
    assert_eq!(read(&mut followed).1, TraceProgress::Truncated);
}

#[test]
fn only_traces_in_files_are_followed() {
    let config = config();
    let folder = tempfile::tempdir().expect("room");
    let lines = folder.path().join("lines");
    let row = r#"{"probe_id":1,"tid":1,"addr":"0x0","seq":2,"is_active":true,"ts":1}"#;
    fs::write(&lines, row).expect("room");
    for path in [lines, folder.path().join("missing"), folder.path().into()] {
        assert!(Followed::open(&config, &path).is_err(), "{path:?}");
    }
}
