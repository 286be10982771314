//! Files that are written where other users can plant something. To be another user takes root.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, lchown, symlink};
use std::path::PathBuf;

use crate::room::{Room, Run, trace_of};

const OTHER_USER: u32 = 4242;

/// A directory as /tmp is, of root; nothing, with a visible reason, for other users.
fn shared_directory(room: &Room) -> Option<PathBuf> {
    room.write("ctp.data", &trace_of(Vec::new()));
    let shared = room.path("shared");
    fs::create_dir(&shared).unwrap();
    fs::set_permissions(&shared, Permissions::from_mode(0o1777)).unwrap();
    if !rustix::process::geteuid().is_root() {
        eprintln!("SKIPPED: only root can plant what belongs to another user");
        return None;
    }
    Some(shared)
}

/// Every option that writes a file, to this one.
fn write_to(room: &Room, path: &str) -> Vec<Run> {
    let ways: [&[&str]; 5] = [
        &["--flame"],
        &["--folded"],
        &["--timeline"],
        &["--export", "jsonl", "-o"],
        &["--export", "chrome", "-o"],
    ];
    let run = |way: &&[&str]| room.run(&[way, &[path][..]].concat());
    ways.iter().map(run).collect()
}

// CT-07
#[test]
fn a_planted_link_is_not_written_through() {
    let room = Room::new();
    let Some(shared) = shared_directory(&room) else {
        return;
    };
    let victim = room.write("victim", b"precious");
    let link = shared.join("out");
    symlink(&victim, &link).unwrap();
    lchown(&link, Some(OTHER_USER), Some(OTHER_USER)).unwrap();
    symlink("shared/out", room.path("own")).unwrap();
    for path in ["shared/out", "own"] {
        for run in write_to(&room, path) {
            assert_eq!(run.status, Some(1), "{run:?}");
            let why = "symbolic link of another user (uid 4242)";
            assert!(run.stderr.contains(why), "{run:?}");
        }
    }
    assert_eq!(fs::read(victim).unwrap(), b"precious");
}

#[test]
fn a_planted_file_is_not_written_to() {
    let room = Room::new();
    let Some(shared) = shared_directory(&room) else {
        return;
    };
    let planted = shared.join("out");
    fs::write(&planted, b"theirs").unwrap();
    lchown(&planted, Some(OTHER_USER), Some(OTHER_USER)).unwrap();
    for run in write_to(&room, "shared/out") {
        assert_eq!(run.status, Some(1), "{run:?}");
    }
    assert_eq!(fs::read(planted).unwrap(), b"theirs");
}

#[test]
fn own_links_and_files_are_written_to() {
    let room = Room::new();
    room.write("ctp.data", &trace_of(Vec::new()));
    fs::create_dir(room.path("shared")).unwrap();
    fs::set_permissions(room.path("shared"), Permissions::from_mode(0o1777)).unwrap();
    symlink("target", room.path("shared/link")).unwrap();
    symlink("shared", room.path("directory")).unwrap();
    for path in ["shared/link", "directory/link", "./new", "shared/../new"] {
        for run in write_to(&room, path) {
            assert_eq!(run.status, Some(0), "{run:?}");
        }
    }
    assert!(room.path("shared/link").is_symlink());
    assert!(!fs::read(room.path("shared/target")).unwrap().is_empty());
    let run = room.run(&["--folded", "/dev/stdout"]);
    assert!(run.stdout.contains("task"), "{run:?}");
}
