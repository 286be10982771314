//! CT-07: other users and recorders do not interfere, by accident or on purpose.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;

use crate::lab::{Lab, fixture};
use crate::trace::Trace;

/// What there is of the recorder's in its directory for temporary files.
fn left_over(lab: &Lab) -> usize {
    let names = fs::read_dir(lab.path("")).expect("is there").flatten();
    names
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("ctp-"))
        .count()
}

// CT-07
#[test]
fn socket_directory_is_private() {
    let lab = Lab::new();
    let script = "stat -c '%a %U' \"$(dirname \"$CTP_SOCK_PATH\")\"; whoami";
    let outcome = lab.run(lab.recorder(&[], "sh").args(["-c", script]));
    let lines: Vec<&str> = outcome.stdout.lines().collect();
    assert_eq!(lines[0], format!("700 {}", lines[1]));
    assert_eq!(left_over(&lab), 0);
}

// CT-07
#[test]
fn the_directory_is_removed_however_the_program_ended() {
    for (program, script) in [("sh", "exit 1"), ("sh", "kill -KILL $$"), ("./nowhere", "")] {
        let lab = Lab::new();
        lab.run(lab.recorder(&[], program).args(["-c", script]));
        assert_eq!(left_over(&lab), 0, "{program} {script}");
    }
}

// CT-07
#[test]
fn occupied_name_is_left_alone() {
    let lab = Lab::new();
    fs::create_dir(lab.path("trap")).expect("can be made");
    symlink(lab.path("trap"), lab.path("link")).expect("can be made");
    // The shell's process id becomes the recorder's.
    let script = "mkdir ctp-$$-0; chmod 777 ctp-$$-0; cp -P link ctp-$$-1; ln -s /nowhere ctp-$$-2; \
                  exec \"$@\"";
    let recorder = lab.recorder(&[], fixture("paced"));
    let mut command = lab.command("sh");
    command
        .args(["-c", script, "sh"])
        .arg(recorder.get_program())
        .args(recorder.get_args());
    let outcome = lab.run(command.args(["truth", "2", "3", "5000"]));
    assert_eq!(outcome.status.code(), Some(0), "{}", outcome.stderr);
    lab.trace().is_complete();
    assert_eq!(left_over(&lab), 3, "what others made stays");
    assert_eq!(fs::read_dir(lab.path("trap")).expect("is there").count(), 0);
}

// CT-07
#[test]
fn two_recorders_do_not_interfere() {
    let lab = Lab::new();
    let start = |name: &str, coroutines: &str| {
        let mut command = lab.recorder(&["-o", name], fixture("paced"));
        let truth = format!("{name}.truth");
        let child = command.args([&truth, coroutines, "3", "10000"]).spawn();
        child.expect("can be started")
    };
    let children = [start("a", "2"), start("b", "3")];
    for child in children {
        assert_eq!(lab.outcome(child).status.code(), Some(0));
    }
    let read = |name| crate::trace::Trace::read(&lab.path(name));
    let (a, b) = (read("a"), read("b"));
    assert_eq!((a.coroutines.len(), b.coroutines.len()), (2, 3));
    a.is_complete();
    b.is_complete();
    assert_ne!(a.start.trace_id, b.start.trace_id);
}

// CT-07
#[test]
fn only_files_of_a_dead_recorder_are_removed() {
    let lab = Lab::new();
    let directory = |number: u32, mode| {
        let path = lab.path(&format!("ctp-4194303-{number}"));
        fs::create_dir(&path).expect("can be made");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("can be set");
        path
    };
    let socket = |path: &std::path::Path| UnixListener::bind(path.join("sock")).expect("is new");
    let left_over = directory(0, 0o700);
    drop(socket(&left_over));
    let listened_to = directory(1, 0o700);
    let listener = socket(&listened_to);
    let open_to_all = directory(2, 0o755);
    drop(socket(&open_to_all));
    let fuller = directory(3, 0o700);
    drop(socket(&fuller));
    fs::write(fuller.join("notes"), "").expect("can be written");
    let no_socket = directory(4, 0o700);
    fs::write(no_socket.join("sock"), "").expect("can be written");
    symlink(&open_to_all, lab.path("ctp-4194303-5")).expect("can be made");
    lab.run(&mut lab.recorder(&[], "true"));
    assert!(!left_over.exists());
    assert_eq!(left_over_names(&lab), ["1", "2", "3", "4", "5"]);
    assert!(fs::read_dir(&fuller).expect("is there").count() == 2);
    listener.set_nonblocking(true).expect("can be set");
    assert!(listener.accept().is_err(), "no connection");
}

/// The last numbers of what there is.
fn left_over_names(lab: &Lab) -> Vec<String> {
    let names = fs::read_dir(lab.path("")).expect("is there").flatten();
    let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut numbers: Vec<String> = names
        .filter_map(|name| name.strip_prefix("ctp-4194303-").map(str::to_owned))
        .collect();
    numbers.sort();
    numbers
}

// LT-25
#[test]
fn nested_recorder_has_the_program_alone() {
    let lab = Lab::new();
    let recorder = env!("CARGO_BIN_EXE_ctp-record");
    let mut command = lab.recorder(&["-o", "outer"], recorder);
    command.args(["-o", "inner", "--"]).arg(fixture("paced"));
    let outcome = lab.run(command.args(["truth", "3", "5", "0"]));
    assert_eq!(outcome.status.code(), Some(0), "{}", outcome.stderr);
    let coroutines = |name: &str| Trace::read(&lab.path(name)).coroutines.len();
    assert_eq!((coroutines("inner"), coroutines("outer")), (3, 0));
}
