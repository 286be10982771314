//! Files that are written where other users can plant something. To be another user takes root.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, lchown, symlink};
use std::path::PathBuf;

use ctp_trace::record::Place;

use crate::room::{Room, Run, trace, trace_of};

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
    let ways: [&[&str]; 10] = [
        &["--html"],
        &["--markdown"],
        &["--flame"],
        &["--folded"],
        &["--timeline"],
        &["--export", "jsonl", "-o"],
        &["--export", "chrome", "-o"],
        &["--export", "perfetto", "-o"],
        &["--export", "speedscope", "-o"],
        &["--export", "pprof", "-o"],
    ];
    ways.iter()
        .map(|way| room.run(&[way, &[path][..]].concat()))
        .collect()
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

// CT-07
#[test]
fn tables_are_not_written_through_a_planted_link() {
    let room = Room::new();
    let Some(shared) = shared_directory(&room) else {
        return;
    };
    let (file, folder) = (room.write("victim", b""), room.path("folder"));
    fs::create_dir(&folder).unwrap();
    for (format, victim) in [("csv-tables", &folder), ("sqlite", &file)] {
        let link = shared.join(format);
        symlink(victim, &link).unwrap();
        lchown(&link, Some(OTHER_USER), Some(OTHER_USER)).unwrap();
        let path = format!("shared/{format}");
        let run = room.run(&["--export", format, "-o", &path]);
        let why = if format == "csv-tables" || cfg!(feature = "sqlite") {
            "symbolic link of another user (uid 4242)"
        } else {
            "this build has no SQLite"
        };
        assert!(run.stderr.contains(why), "{run:?}");
    }
    assert_eq!(fs::read_dir(folder).unwrap().count(), 0);
    assert_eq!(fs::read(file).unwrap(), b"");
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

/// A directory `shared/theirs` of another user, with a link, a file and a pipe of that user.
fn planted_directory(room: &Room, mode: u32) -> Option<PathBuf> {
    let directory = shared_directory(room)?.join("theirs");
    fs::create_dir(&directory).unwrap();
    fs::set_permissions(&directory, Permissions::from_mode(mode)).unwrap();
    symlink("../../victim", directory.join("link")).unwrap();
    symlink("../..", directory.join("up")).unwrap();
    fs::write(directory.join("file"), b"theirs").unwrap();
    for planted in [".", "link", "up", "file"] {
        lchown(directory.join(planted), Some(OTHER_USER), Some(OTHER_USER)).unwrap();
    }
    Some(directory)
}

// CT-07
#[test]
fn what_is_in_a_planted_directory_is_not_written_to() {
    for mode in [0o755, 0o777] {
        let room = Room::new();
        let victim = room.write("victim", b"precious");
        let Some(directory) = planted_directory(&room, mode) else {
            return;
        };
        for planted in ["link", "up/victim", "file", "../theirs/link"] {
            for run in write_to(&room, &format!("shared/theirs/{planted}")) {
                assert_eq!(run.status, Some(1), "{planted}: {run:?}");
                let why = "in a directory that another user (uid 4242) made";
                assert!(run.stderr.contains(why), "{run:?}");
            }
        }
        assert_eq!(fs::read(victim).unwrap(), b"precious");
        assert_eq!(fs::read(directory.join("file")).unwrap(), b"theirs");
    }
}

// CT-07
#[test]
fn own_entries_of_a_planted_directory_are_written_to() {
    let room = Room::new();
    let Some(directory) = planted_directory(&room, 0o777) else {
        return;
    };
    symlink("../../target", directory.join("ours")).unwrap();
    fs::write(directory.join("old"), b"ours").unwrap();
    for path in ["ours", "old", "new"] {
        for run in write_to(&room, &format!("shared/theirs/{path}")) {
            assert_eq!(run.status, Some(0), "{run:?}");
        }
    }
    assert!(!fs::read(room.path("target")).unwrap().is_empty());
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

/// Runs the program where files can have 512 bytes at most.
fn with_small_files(room: &Room, option: &str, path: &str) -> std::process::Output {
    let script = "trap '' XFSZ; ulimit -f 1; exec \"$0\" \"$@\"";
    let mut command = std::process::Command::new("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_ctp-report")]);
    command.args(["-i", "ctp.data"]);
    command.args(option.split(' ')).arg(path);
    command.current_dir(room.path("")).output().unwrap()
}

/// A trace of which every output has more than 512 bytes.
fn long_trace() -> Vec<u8> {
    let name = "name".repeat(200);
    let place = Place::Function { address: 1, name };
    trace(Vec::new(), "task", place)
}

// CT-19
#[test]
fn no_half_file_stays_if_the_disk_is_full() {
    let room = Room::new();
    room.write("ctp.data", &long_trace());
    room.write("old.html", b"an earlier page");
    for (option, path) in [
        ("--html", "new.html"),
        ("--html", "old.html"),
        ("--timeline", "new.svg"),
        ("--flame", "flame.svg"),
        ("--folded", "new.txt"),
        ("--markdown", "new.md"),
        ("--export chrome -o", "new.json"),
        ("--export speedscope -o", "new.json"),
        ("--export otlp -o", "new.json"),
        ("--export csv-tables -o", "new"),
        ("--export ctf -o", "new"),
        #[cfg(feature = "parquet")]
        ("--export parquet -o", "new"),
        #[cfg(feature = "sqlite")]
        ("--export sqlite -o", "new.sqlite"),
    ] {
        let run = with_small_files(&room, option, path);
        assert_eq!(run.status.code(), Some(1), "{option}");
        let error = String::from_utf8(run.stderr).unwrap();
        assert!(
            error.contains(&format!("cannot write {path}")),
            "{option}: {error}"
        );
        let left = fs::read(room.path(path)).unwrap_or_default();
        assert!(left.is_empty(), "{option} left {} bytes", left.len());
        assert_eq!(room.path(path).exists(), path == "old.html", "{option}");
    }
}

// CT-19
#[test]
fn a_full_standard_output_is_an_error() {
    let room = Room::new();
    room.write("ctp.data", &long_trace());
    let views: [&[&str]; 13] = [
        &[],
        &["--json"],
        &["--stuck"],
        &["--why", "1"],
        &["--dump"],
        &["--html", "-"],
        &["--folded", "-"],
        &["--export", "csv"],
        &["--export", "perfetto"],
        &["--export", "speedscope"],
        &["--export", "pprof"],
        &["--export", "otlp"],
        &["--man"],
    ];
    for view in views {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let output = room.command(view).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{view:?}");
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(
            error.contains("No space left on device"),
            "{view:?}: {error}"
        );
    }
}
