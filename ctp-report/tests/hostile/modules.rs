//! The files that a trace names as modules, and those that these name in turn.

use std::fs::{self, File};
use std::path::Path;

use ctp_trace::record::{Module, ProcessId};

use crate::elf::{self, Section};
use crate::room::{MIB, Room, Run, trace_of};

const GIB: u64 = 1 << 30;

pub fn module(path: &Path, build_id: &[u8]) -> Module {
    Module {
        process: ProcessId(1),
        start: elf::BASE,
        end: 0x9000,
        file_offset: 0,
        path: path.as_os_str().as_encoded_bytes().to_vec(),
        build_id: build_id.to_vec(),
    }
}

/// The page of a trace with this module, which has to be written whatever the module is.
fn page(room: &Room, path: &Path, args: &[&str]) -> Run {
    room.write("ctp.data", &trace_of(vec![module(path, &elf::BUILD_ID)]));
    let run = room.run(args);
    assert_eq!(run.status, Some(0), "{run:?}");
    run
}

/// The page as one line, for sentences that were broken.
pub fn flat(run: &Run) -> String {
    let lines: Vec<&str> = run
        .stdout
        .lines()
        .map(|line| line.trim_start_matches('#').trim())
        .collect();
    lines.join(" ")
}

const DEBUG: [&str; 4] = [".debug_info", ".debug_abbrev", ".debug_line", ".debug_str"];

#[test]
fn a_sparse_module_costs_nothing() {
    let room = Room::new();
    let path = room.write_sparse("app", b"\x7fELF\x02\x01\x01", 15 * GIB);
    let run = page(&room, &path, &[]);
    assert!(run.peak_bytes < 64 * MIB, "{run:?}");
    assert!(flat(&run).contains("names are missing"), "{run:?}");
}

// LT-22
#[test]
fn another_build_is_not_read() {
    let room = Room::new();
    let mut program = elf::file(vec![Section {
        claimed: Some(14 * GIB),
        ..Section::plain(".debug_info", Vec::new())
    }]);
    let at = program
        .windows(4)
        .position(|window| window == elf::BUILD_ID)
        .unwrap();
    program[at] ^= 1;
    let path = room.write_sparse("app", &program, 15 * GIB);
    let run = page(&room, &path, &[]);
    assert!(run.peak_bytes < 64 * MIB, "{run:?}");
    assert!(
        flat(&run).contains("app has build id aacdef01, but abcdef01 is what ran"),
        "{run:?}"
    );
}

// CT-21
#[test]
fn sections_that_claim_gibibytes_are_refused_by_name() {
    let room = Room::new();
    let sections = DEBUG.map(|name| Section::of_zeros(name, 3 * GIB / 2));
    let path = room.write("app", &elf::file(sections.into()));
    let run = page(&room, &path, &[]);
    assert!(run.peak_bytes < 256 * MIB, "{}", run.peak_bytes);
    let text = flat(&run);
    assert!(
        text.contains("/app (") && text.contains("--max-module"),
        "{text}"
    );
}

#[test]
fn a_claim_that_cannot_be_true_is_refused_by_name() {
    let room = Room::new();
    let sections = DEBUG.map(|name| {
        let mut section = Section::of_zeros(name, 1000);
        section.bytes[8..16].copy_from_slice(&(3 * GIB / 2).to_le_bytes());
        section
    });
    let path = room.write("app", &elf::file(sections.into()));
    let run = page(&room, &path, &[]);
    assert!(run.peak_bytes < 64 * MIB, "{}", run.peak_bytes);
    let text = flat(&run);
    assert!(
        text.contains("/app (") && text.contains("--max-module"),
        "{text}"
    );
}

#[test]
fn a_plain_section_of_gibibytes_is_refused_by_name() {
    let room = Room::new();
    let program = elf::file(vec![
        Section::plain(".debug_info", vec![0; 64]),
        Section {
            claimed: Some(14 * GIB),
            ..Section::plain(".debug_str", vec![0; 64])
        },
    ]);
    let path = room.write_sparse("app", &program, 15 * GIB);
    let run = page(&room, &path, &[]);
    assert!(run.peak_bytes < 64 * MIB, "{}", run.peak_bytes);
    let text = flat(&run);
    assert!(
        text.contains("/app (15.0 GiB)") && text.contains("--max-module"),
        "{text}"
    );
}

#[test]
fn all_modules_share_a_budget() {
    let room = Room::new();
    let sections = || {
        vec![
            Section::of_zeros(".debug_str", 100 * MIB),
            Section::plain(".debug_info", Vec::new()),
        ]
    };
    let program = elf::file(sections());
    let modules = (0..8).map(|i| {
        let path = room.write(&format!("lib{i}"), &program);
        let mut module = module(&path, &elf::BUILD_ID);
        (module.start, module.end) = (0x10_0000 * (i + 1), 0x10_0000 * (i + 1) + 0x1000);
        module
    });
    room.write("ctp.data", &trace_of(modules.collect()));
    let run = room.run(&[]);
    assert_eq!(run.status, Some(0), "{run:?}");
    assert!(run.peak_bytes < 256 * MIB, "{}", run.peak_bytes);
    assert!(flat(&run).contains("--max-module"), "{run:?}");
}

#[test]
fn what_is_allowed_is_read() {
    let room = Room::new();
    let sections = vec![
        Section::of_zeros(".debug_str", 300 * MIB),
        Section::plain(".debug_info", vec![0; 64]),
    ];
    let path = room.write("app", &elf::file(sections));
    let text = flat(&page(&room, &path, &[]));
    assert!(text.contains("--max-module"), "{text}");
    let text = flat(&page(&room, &path, &["--max-module", "1G"]));
    assert!(!text.contains("--max-module"), "{text}");
}

#[test]
fn a_module_under_a_lease_is_not_waited_for() {
    let room = Room::new();
    let path = room.write("app", &elf::file(Vec::new()));
    let held = File::options().read(true).write(true).open(&path).unwrap();
    let Some(mut holder) = lease(held) else {
        return eprintln!("SKIPPED: no python3 to take a lease");
    };
    let text = flat(&page(&room, &path, &[]));
    drop(holder.stdin.take());
    holder.wait().unwrap();
    assert!(
        text.contains("another process holds a lease on it"),
        "{text}"
    );
}

/// Another process that takes a write lease on the file at its standard output, until its input ends.
fn lease(file: File) -> Option<std::process::Child> {
    let script = "import fcntl, signal, sys\n\
                  signal.signal(signal.SIGIO, signal.SIG_IGN)\n\
                  fcntl.fcntl(1, fcntl.F_SETLEASE, fcntl.F_WRLCK)\n\
                  sys.stderr.write('held\\n'); sys.stderr.flush(); sys.stdin.read()";
    let mut holder = std::process::Command::new("python3")
        .args(["-c", script])
        .stdin(std::process::Stdio::piped())
        .stdout(file)
        .stderr(std::process::Stdio::piped())
        .spawn()
        .ok()?;
    let mut held = [0; 5];
    let reported = holder.stderr.as_mut().unwrap();
    std::io::Read::read_exact(reported, &mut held).unwrap();
    Some(holder)
}

#[test]
fn pipes_and_devices_are_no_modules() {
    let room = Room::new();
    let pipe = room.path("pipe");
    let mode = rustix::fs::Mode::from(0o600);
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, mode).unwrap();
    fs::write(room.path("app"), elf::file(Vec::new())).unwrap();
    for path in [
        pipe.as_path(),
        Path::new("/dev/zero"),
        Path::new("/dev/full"),
    ] {
        let text = flat(&page(&room, path, &[]));
        assert!(text.contains("not a regular file"), "{text}");
    }
}
