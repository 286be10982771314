//! CT-06, CT-08: the file.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;

use crate::lab::{Lab, fixture};
use crate::trace::Trace;

// CT-06
#[test]
fn an_earlier_trace_is_kept_and_never_appended_to() {
    let lab = Lab::new();
    let record = |coroutines| {
        lab.record(&[], "paced", &["truth", coroutines, "2", "0"]);
        lab.trace().start.trace_id
    };
    let old = || Trace::read(&lab.path("ctp.data.old"));
    let first = record("3");
    assert!(!lab.path("ctp.data.old").exists());
    let second = record("5");
    assert_ne!(first, second);
    assert_eq!((old().start.trace_id, old().coroutines.len()), (first, 3));
    let third = record("2");
    assert_eq!((old().start.trace_id, old().coroutines.len()), (second, 5));
    assert!(![first, second].contains(&third));
    assert_eq!(lab.trace().coroutines.len(), 2);
}

// CT-06
#[test]
fn a_run_without_coroutines_keeps_the_earlier_trace() {
    let lab = Lab::new();
    lab.record(&[], "paced", &["truth", "3", "2", "0"]);
    let first = lab.trace().start.trace_id;
    let message = "ctp.data is still the trace of an earlier run";
    for _ in 0..2 {
        let outcome = lab.run(&mut lab.recorder(&[], "true"));
        assert!(outcome.stderr.contains(message), "{}", outcome.stderr);
        assert!(!outcome.stderr.contains("wrote"), "{}", outcome.stderr);
    }
    assert_eq!(lab.trace().start.trace_id, first);
    let files = fs::read_dir(lab.path("")).expect("can be read");
    let names = files.map(|entry| entry.expect("can be read").file_name());
    let traces = names.filter(|name| name.as_bytes().starts_with(b"ctp.data"));
    assert_eq!(traces.count(), 1, "no draft and no .old file is left");
}

// CT-06
#[test]
fn trace_has_command_host_and_build_ids() {
    let lab = Lab::new();
    lab.record(&[], "paced", &["truth", "1", "5", "1000"]);
    let Trace {
        start,
        modules,
        processes,
        ..
    } = lab.trace();
    let program = fixture("paced");
    let argv: [&[u8]; 5] = [
        program.as_os_str().as_bytes(),
        b"truth",
        b"1",
        b"5",
        b"1000",
    ];
    assert_eq!(start.argv, argv);
    assert_eq!(
        start.host,
        rustix::system::uname().nodename().to_string_lossy()
    );
    assert!(start.started_unix_ns > 0 && start.started_monotonic_ns > 0);
    assert_eq!(processes.len(), 1);
    let module = modules.iter().find(|module| module.path == argv[0]);
    let module = module.expect("the program is a module");
    let bytes = fs::read(&program).expect("is there");
    assert!(module.build_id.len() >= 8);
    assert!(
        bytes
            .windows(module.build_id.len())
            .any(|window| window == module.build_id)
    );
}

// CT-06
#[test]
fn trace_goes_to_the_given_path() {
    let lab = Lab::new();
    let outcome = lab.record(
        &["-o", "other name.ctp"],
        "paced",
        &["truth", "1", "2", "0"],
    );
    Trace::read(&lab.path("other name.ctp"));
    assert!(!lab.path("ctp.data").exists());
    assert!(
        outcome.stderr.contains("next: ctp-report -i"),
        "{}",
        outcome.stderr
    );
}

// CT-06
#[test]
fn output_link_stays_and_the_old_file_is_kept() {
    let lab = Lab::new();
    fs::create_dir(lab.path("disk")).expect("can be made");
    symlink("disk/day", lab.path("day")).expect("can be made");
    symlink("day", lab.path("ctp.data")).expect("can be made");
    for coroutines in ["3", "4"] {
        lab.record(&["-q"], "paced", &["truth", coroutines, "2", "0"]);
    }
    let count = |name| Trace::read(&lab.path(name)).coroutines.len();
    assert_eq!((count("disk/day.old"), count("disk/day")), (3, 4));
    for link in ["day", "ctp.data"] {
        assert!(lab.path(link).is_symlink());
        assert!(!lab.path(&format!("{link}.old")).exists());
    }
}

// CT-06
#[test]
fn unmovable_trace_is_complete_elsewhere() {
    let lab = Lab::new();
    lab.record(&["-q"], "paced", &["truth", "3", "2", "0"]);
    fs::create_dir(lab.path("ctp.data.old")).expect("can be made");
    let mut command = lab.recorder(&["-q"], fixture("paced"));
    let outcome = lab.run(command.args(["truth", "5", "2", "0"]));
    assert_eq!(outcome.status.code(), Some(1));
    let (_, place) = outcome.stderr.rsplit_once("it is in ").expect("says where");
    lab.run(&mut lab.recorder(&["-q", "-o", "other"], "true"));
    assert_eq!(Trace::read(&lab.path(place.trim())).coroutines.len(), 5);
    assert_eq!(lab.trace().coroutines.len(), 3, "as it was");
}

// CT-06
#[test]
fn trace_is_not_mixed_with_program_output() {
    for place in ["/dev/stdout", "/dev/stderr", "stdout"] {
        let lab = Lab::new();
        let mut command = lab.recorder(&["-o", place], fixture("args_echo"));
        let outcome = lab.run(command.arg("started"));
        assert_eq!(outcome.status.code(), Some(1), "{place}");
        let sentence = format!(
            "ctp-record: cannot create {place}: the program's own output goes there; choose \
             another place with -o FILE\n"
        );
        assert_eq!(outcome.stderr, sentence);
        assert!(!lab.path("started").exists(), "{place}");
    }
}

// CT-08
#[test]
fn unwritable_output_prevents_the_start_with_a_reason() {
    let lab = Lab::new();
    fs::create_dir(lab.path("locked")).expect("can be made");
    fs::write(lab.path("file"), "").expect("can be written");
    let places = [
        "missing/ctp.data",
        "locked",
        "file/ctp.data",
        "/proc/ctp.data",
    ];
    let modes: [&[&str]; 2] = [&[], &["--flight-recorder"]];
    for (place, mode) in places
        .iter()
        .flat_map(|text| modes.map(|mode| (*text, mode)))
    {
        let flags = [&["-o", place], mode].concat();
        let mut command = lab.recorder(&flags, fixture("args_echo"));
        let outcome = lab.run(command.arg("started"));
        assert_eq!(outcome.status.code(), Some(1), "{place}");
        assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
        let sentence = format!("ctp-record: cannot create {place}: ");
        assert!(outcome.stderr.starts_with(&sentence), "{}", outcome.stderr);
        assert!(outcome.stderr.contains("choose another place with -o FILE"));
        assert!(!lab.path("started").exists(), "{place}");
    }
}

#[test]
fn a_device_without_an_end_is_no_dump() {
    let lab = Lab::new();
    let outcome = lab.run(lab.bare_recorder().args(["--image", "/dev/zero"]));
    assert_eq!(outcome.status.code(), Some(1), "{}", outcome.stderr);
    let sentence = "ctp-record: cannot read /dev/zero: it is a device; ";
    assert!(outcome.stderr.starts_with(sentence), "{}", outcome.stderr);
}

// CT-08
#[test]
fn full_disk_is_reported_and_the_program_continues() {
    let lab = Lab::new();
    let mut command = lab.recorder(&["-o", "/dev/full"], fixture("paced"));
    let outcome = lab.run(command.args(["truth", "3", "50", "100"]));
    assert_eq!(outcome.status.code(), Some(1), "{}", outcome.stderr);
    assert_eq!(lab.truth("truth").len(), 3, "it ran to its end");
    let sentence = "ctp-record: cannot write /dev/full: No space left on device";
    let reported = outcome
        .stderr
        .lines()
        .filter(|line| line.starts_with(sentence));
    assert_eq!(reported.count(), 1, "{}", outcome.stderr);
    let seen = " events seen, not all of them written, 0 lost";
    assert!(outcome.stderr.contains(seen), "{}", outcome.stderr);
    assert!(!outcome.stderr.contains("next: "), "{}", outcome.stderr);
}
