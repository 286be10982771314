//! `-p`: inspects running processes without a probe.

use std::process::Child;

use ctp_trace::record::Record;
use rustix::process::Signal;

use crate::lab::{Lab, only_child, wait_until};

/// A process without tasks; ends after that many seconds.
fn sleeper(lab: &Lab, seconds: &str) -> Child {
    let mut command = std::process::Command::new("sleep");
    let child = command.arg(seconds).current_dir(lab.path(".")).spawn();
    child.expect("can be started")
}

/// A process that ends with the test.
struct Running(Child);

impl Running {
    fn pid(&self) -> String {
        self.0.id().to_string()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn records(lab: &Lab, name: &str) -> Vec<Record> {
    let bytes = std::fs::read(lab.path(name)).expect("a trace");
    let reader = ctp_trace::Reader::new(&bytes).expect("a start");
    reader.map(|record| record.expect("undamaged")).collect()
}

fn inspections(records: &[Record]) -> usize {
    records
        .iter()
        .filter(|record| matches!(record, Record::InspectionEnd(_)))
        .count()
}

// CT-01
#[test]
fn options_of_a_recording_do_not_go_with_a_pid() {
    for words in [
        &["-p", "1", "--", "true"][..],
        &["-p", "1", "--image", "ram.bin"],
        &["-p", "1", "--summary"],
        &["-p", "1", "--flight-recorder"],
        &["-p", "1", "--stuck-after", "2s"],
        &["-p", "1", "-n", "10"],
        &["-p", "1", "--inspections", "3", "--duration", "2s"],
        &["-p", "0"],
        &["-p", "1", "--inspections", "0"],
        &["--inspections", "3", "--", "true"],
        &["--every", "3s", "--", "true"],
        &["--interrupt", "--", "true"],
        &["--debug-dir", "/usr/lib/debug", "--", "true"],
    ] {
        let lab = Lab::new();
        let outcome = lab.run(lab.bare_recorder().args(words));
        assert_eq!(
            outcome.status.code(),
            Some(2),
            "{words:?}: {}",
            outcome.stderr
        );
        assert!(!lab.path("ctp.data").exists(), "{words:?}");
    }
}

// CT-01, CT-18
#[test]
fn options_of_several_inspections_do_not_go_with_a_core_file() {
    for words in [
        &["--core", "core", "--", "true"][..],
        &["--core", "core", "-p", "1"],
        &["--core", "core", "--inspections", "2"],
        &["--core", "core", "--every", "2s"],
        &["--core", "core", "-d", "2s"],
        &["--core", "core", "--interrupt"],
        &["--core", "core", "--image", "ram.bin"],
        &["--core", "core", "--summary"],
        &["--elf", "app"],
    ] {
        let lab = Lab::new();
        let outcome = lab.run(lab.bare_recorder().args(words));
        assert_eq!(
            outcome.status.code(),
            Some(2),
            "{words:?}: {}",
            outcome.stderr
        );
        assert!(!lab.path("ctp.data").exists(), "{words:?}");
    }
}

// CT-18
#[test]
fn other_files_than_core_files_replace_nothing() {
    let lab = Lab::new();
    std::fs::write(lab.path("ctp.data"), "an earlier trace").expect("can be written");
    for (file, why) in [
        ("/proc/self/exe", "not a core file of a 64-bit program"),
        ("ctp.data", "not a core file of a 64-bit program"),
        ("missing", "No such file"),
    ] {
        let outcome = lab.run(lab.bare_recorder().args(["--core", file]));
        assert_eq!(outcome.status.code(), Some(1));
        let message = format!("cannot inspect {file}: ");
        assert!(outcome.stderr.contains(&message), "{}", outcome.stderr);
        assert!(outcome.stderr.contains(why), "{}", outcome.stderr);
        assert_eq!(lab.read("ctp.data"), "an earlier trace");
    }
}

#[test]
fn threads_of_a_running_process_are_recorded() {
    let lab = Lab::new();
    let running = Running(sleeper(&lab, "1000"));
    std::fs::write(lab.path("ctp.data"), "an earlier trace").expect("can be written");
    let words = ["-p", &running.pid(), "--every", "150ms"];
    let outcome = lab.run(lab.bare_recorder().args(words));
    assert!(outcome.status.success(), "{}", outcome.stderr);
    assert!(
        outcome
            .stderr
            .contains("(sleep): 2 inspections, 150 ms apart"),
        "{}",
        outcome.stderr
    );
    assert!(
        outcome.stderr.contains("0 tasks; 1 thread"),
        "{}",
        outcome.stderr
    );
    assert!(
        outcome.stderr.contains("next: ctp-report --stacks"),
        "{}",
        outcome.stderr
    );
    assert_eq!(lab.read("ctp.data.old"), "an earlier trace");
    let records = records(&lab, "ctp.data");
    assert_eq!(inspections(&records), 2);
    let thread = records.iter().find_map(|record| match record {
        Record::InspectedThread(thread) => Some(thread),
        _ => None,
    });
    let thread = thread.expect("a thread");
    assert_eq!(
        (thread.tid.to_string(), thread.name.as_str()),
        (running.pid(), "sleep")
    );
    let has_module = records
        .iter()
        .any(|record| matches!(record, Record::Module(_)));
    assert!(has_module, "names need the files of the process");
}

#[test]
fn looks_is_another_name_of_inspections() {
    let lab = Lab::new();
    let running = Running(sleeper(&lab, "1000"));
    let words = ["-p", &running.pid(), "--looks", "1"];
    let outcome = lab.run(lab.bare_recorder().args(words));
    assert!(outcome.status.success(), "{}", outcome.stderr);
    assert_eq!(inspections(&records(&lab, "ctp.data")), 1);
}

#[test]
fn a_refused_process_replaces_nothing() {
    let lab = Lab::new();
    let mut ended = sleeper(&lab, "0");
    ended.wait().expect("it ends");
    std::fs::write(lab.path("ctp.data"), "an earlier trace").expect("can be written");
    let outcome = lab.run(lab.bare_recorder().args(["-p", &ended.id().to_string()]));
    assert_eq!(outcome.status.code(), Some(1));
    let message = format!("cannot inspect {}: the process does not exist", ended.id());
    assert!(outcome.stderr.contains(&message), "{}", outcome.stderr);
    assert_eq!(lab.read("ctp.data"), "an earlier trace");
    assert!(!lab.path("ctp.data.old").exists());
}

#[test]
fn the_end_of_a_process_keeps_earlier_inspections() {
    let lab = Lab::new();
    let mut target = sleeper(&lab, "1000");
    let pid = target.id().to_string();
    std::fs::write(lab.path("ctp.data"), "an earlier trace").expect("can be written");
    let mut command = lab.bare_recorder();
    let recorder = command.args(["-p", &pid, "--inspections", "1000000", "--every", "10ms"]);
    let recorder = recorder.spawn().expect("can be started");
    wait_until("the first inspection", || lab.path("ctp.data.old").exists());
    target.kill().expect("it runs");
    target.wait().expect("it ends");
    let outcome = lab.outcome(recorder);
    assert!(outcome.status.success(), "{}", outcome.stderr);
    let message = format!("process {pid} ended before inspection");
    assert!(outcome.stderr.contains(&message), "{}", outcome.stderr);
    assert!(0 < inspections(&records(&lab, "ctp.data")));
}

#[test]
fn an_interrupt_keeps_earlier_inspections() {
    let lab = Lab::new();
    let running = Running(sleeper(&lab, "1000"));
    std::fs::write(lab.path("ctp.data"), "an earlier trace").expect("can be written");
    let mut command = lab.bare_recorder();
    let recorder = command.args(["-p", &running.pid(), "-d", "1h", "--every", "20s"]);
    let recorder = recorder.spawn().expect("can be started");
    wait_until("the first inspection", || lab.path("ctp.data.old").exists());
    let pid = rustix::process::Pid::from_child(&recorder);
    rustix::process::kill_process(pid, Signal::INT).expect("it runs");
    let outcome = lab.outcome(recorder);
    assert!(outcome.status.success(), "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("wrote ctp.data"),
        "{}",
        outcome.stderr
    );
    assert!(0 < inspections(&records(&lab, "ctp.data")));
}

#[test]
fn the_end_of_the_parent_keeps_earlier_inspections() {
    let lab = Lab::new();
    let running = Running(sleeper(&lab, "1000"));
    std::fs::write(lab.path("ctp.data"), "an earlier trace").expect("can be written");
    let recorder = lab.bare_recorder();
    let mut parent = std::process::Command::new("sh");
    // A second command keeps the shell from replacing itself by the recorder.
    parent
        .args(["-c", "\"$0\" \"$@\"; :"])
        .arg(recorder.get_program());
    parent.args(["-p", &running.pid(), "-d", "1h", "--every", "20s"]);
    let parent = parent.arg("--end-with-parent").current_dir(lab.path("."));
    let mut parent = Running(parent.spawn().expect("can be started"));
    wait_until("the first inspection", || lab.path("ctp.data.old").exists());
    let recorder = only_child(parent.0.id());
    parent.0.kill().expect("it runs");
    parent.0.wait().expect("it ends");
    // Until then, the last record may be written in part.
    let is_complete = || {
        let bytes = std::fs::read(lab.path("ctp.data")).unwrap_or_default();
        let records = ctp_trace::Reader::new(&bytes).into_iter().flatten();
        let mut whole = records.flatten();
        whole.any(|record| matches!(record, Record::End(_)))
    };
    wait_until(&format!("the end of recorder {recorder}"), is_complete);
    assert!(0 < inspections(&records(&lab, "ctp.data")));
}
