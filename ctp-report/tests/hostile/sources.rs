//! The lines of source that are shown: of files that are named by the program, or by its debug info.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use ctp_trace::record::Place;

use crate::room::{MIB, Room, trace};

/// What is shown of a coroutine that waits at line 1 of this file.
fn page(room: &Room, file: &Path) -> String {
    let place = Place::Source {
        file: file.to_str().unwrap().to_owned(),
        line: 1,
        column: 1,
    };
    room.write("ctp.data", &trace(Vec::new(), "task", place));
    let run = room.run(&["--stuck"]);
    assert_eq!(run.status, Some(0), "{run:?}");
    run.stdout
}

const SECRET: &str = "root:secret:1:0:::::";

#[test]
fn only_files_with_names_of_sources_are_shown() {
    let room = Room::new();
    for name in ["a.rs", "b.CPP", "c.zig", "d.h"] {
        let path = room.write(name, SECRET.as_bytes());
        assert!(page(&room, &path).contains(SECRET), "{name}");
    }
    for name in ["shadow", "id_rsa", ".rs", "a.rs.key", "b.txt"] {
        let path = room.write(name, SECRET.as_bytes());
        assert!(!page(&room, &path).contains(SECRET), "{name}");
    }
}

#[test]
fn a_link_shows_no_other_kind_of_file() {
    let room = Room::new();
    room.write("shadow", SECRET.as_bytes());
    symlink("shadow", room.path("link.rs")).unwrap();
    symlink("link.rs", room.path("second.rs")).unwrap();
    for name in ["link.rs", "second.rs"] {
        assert!(!page(&room, &room.path(name)).contains(SECRET), "{name}");
    }
    fs::create_dir(room.path("tree")).unwrap();
    room.write("tree/a.rs", SECRET.as_bytes());
    symlink("tree", room.path("src")).unwrap();
    assert!(page(&room, &room.path("src/a.rs")).contains(SECRET));
}

#[test]
fn a_source_that_is_a_pipe_is_not_waited_for() {
    let room = Room::new();
    let pipe = room.path("pipe.rs");
    let mode = rustix::fs::Mode::from(0o600);
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, mode).unwrap();
    assert!(page(&room, &pipe).contains("pipe.rs:1"));
}

#[test]
fn a_line_as_long_as_a_file_is_cut_before_being_escaped() {
    let room = Room::new();
    let path = room.write("long.rs", &vec![1; 60 << 20]);
    let place = Place::Source {
        file: path.to_str().unwrap().to_owned(),
        line: 1,
        column: 1,
    };
    room.write("ctp.data", &trace(Vec::new(), "task", place));
    let run = room.run(&["--stuck"]);
    assert!(run.stdout.contains("\\u{1}"), "{run:?}");
    assert!(run.peak_bytes < 100 * MIB, "{}", run.peak_bytes);
}
