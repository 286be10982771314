//! Files and pipes given as a trace.

use std::fs;
use std::io::Write as _;
use std::process::Stdio;

use crate::room::{MIB, Room, trace_of, watch};

const GIB: u64 = 1 << 30;

/// What is said of this input, which must cost next to nothing.
fn refusal(room: &Room, input: &str) -> String {
    let run = room.run(&["-i", input]);
    assert_eq!(run.status, Some(1), "{run:?}");
    assert!(run.peak_bytes < 64 * MIB, "{run:?}");
    assert_eq!(run.stderr.lines().count(), 1, "{run:?}");
    run.stderr
}

// CT-21
#[test]
fn three_gib_of_zeros_are_refused_at_once() {
    let room = Room::new();
    room.write_sparse("zeros", b"", 3 * GIB);
    assert!(refusal(&room, "zeros").contains("not a ctp trace"));
    room.write_sparse("magic", &ctp_trace::format::MAGIC, 3 * GIB);
    assert!(refusal(&room, "magic").contains("header is damaged"));
}

#[test]
fn devices_and_directories_are_refused() {
    let room = Room::new();
    for device in ["/dev/zero", "/dev/null", "/dev/full"] {
        assert!(refusal(&room, device).contains("is a device"));
    }
    assert!(refusal(&room, "/").contains("is a directory"));
    let run = watch(
        room.command(&["-"])
            .stdin(fs::File::open("/dev/zero").unwrap()),
    );
    assert!(run.stderr.contains("is a device"), "{run:?}");
}

#[test]
fn a_pipe_without_a_writer_is_refused() {
    let room = Room::new();
    let pipe = room.path("pipe");
    let mode = rustix::fs::Mode::from(0o600);
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, mode).unwrap();
    assert!(refusal(&room, "pipe").contains("nothing writes into pipe"));
}

/// Runs the report with this on standard input, again and again until it reads no more.
fn fed(room: &Room, args: &[&str], first: Vec<u8>, endless: Vec<u8>) -> crate::room::Run {
    let (reader, mut writer) = std::io::pipe().unwrap();
    let feeder = std::thread::spawn(move || {
        let mut is_read = writer.write_all(&first).is_ok();
        while is_read && !endless.is_empty() {
            is_read = writer.write_all(&endless).is_ok();
        }
    });
    let run = {
        let mut command = room.command(args);
        command.stdin(Stdio::from(reader));
        let run = watch(&mut command);
        drop(command);
        run
    };
    feeder.join().unwrap();
    run
}

#[test]
fn lines_with_holes_between_them_are_refused() {
    let room = Room::new();
    let line = br#"{"probe_id":1,"tid":9,"addr":"0x00","seq":2,"is_active":true,"ts":100}
"#;
    let path = room.write_sparse("lines.jsonl", line, GIB);
    let file = fs::File::options().write(true).open(path).unwrap();
    for at in (1..1024).map(|number| number * MIB - 1) {
        std::os::unix::fs::FileExt::write_all_at(&file, b"\n", at).unwrap();
    }
    let run = room.run(&["-i", "lines.jsonl"]);
    assert_eq!(run.status, Some(1), "{run:?}");
    assert!(run.stderr.contains("--max-memory"), "{run:?}");
    assert!(run.peak_bytes < 280 * MIB, "{run:?}");
}

#[test]
fn a_pipe_that_never_ends_is_refused() {
    let room = Room::new();
    for name in ["-", "/dev/stdin"] {
        let run = fed(&room, &["-i", name], Vec::new(), vec![0; 1 << 16]);
        assert!(run.stderr.contains("not a ctp trace"), "{run:?}");
        let run = fed(&room, &["-i", name], trace_of(Vec::new()), vec![0; 1 << 16]);
        assert!(run.stderr.contains("goes on after 256 MiB"), "{run:?}");
        assert!(run.peak_bytes < 320 * MIB, "{run:?}");
    }
}

#[test]
fn a_trace_is_read_from_a_pipe_that_ends() {
    let room = Room::new();
    for name in ["-", "/dev/stdin"] {
        let run = fed(
            &room,
            &["-i", name, "--dump"],
            trace_of(Vec::new()),
            Vec::new(),
        );
        assert!(run.stdout.contains("suspend"), "{run:?}");
    }
}

#[test]
fn what_follows_a_trace_is_not_kept() {
    let room = Room::new();
    let whole = trace_of(Vec::new());
    // Without its end, which is the last thing that is read.
    room.write_sparse("cut", &whole[..whole.len() - 1], 3 * GIB);
    let run = room.run(&["-i", "cut", "--dump"]);
    assert!(run.stdout.contains("suspend"), "{run:?}");
    assert!(run.peak_bytes < 64 * MIB, "{run:?}");
}

#[test]
fn chunks_behind_a_hole_are_found() {
    let room = Room::new();
    let whole = trace_of(Vec::new());
    let start = 32 + 32 + u32::from_le_bytes(whole[40..44].try_into().unwrap()) as usize;
    room.write_sparse("hole", &whole[..start], 3 * GIB);
    let mut file = fs::File::options()
        .append(true)
        .open(room.path("hole"))
        .unwrap();
    file.write_all(&whole[start..]).unwrap();
    let run = room.run(&["-i", "hole", "--dump"]);
    assert!(run.stdout.contains("suspend"), "{run:?}");
    assert!(run.peak_bytes < 64 * MIB, "{run:?}");
}
