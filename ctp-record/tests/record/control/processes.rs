//! Control of programs with several processes: a single process is stopped, also where processes share memory.

use super::*;

/// The process that this thread is of.
fn process_of(tid: &str) -> u32 {
    let status = fs::read_to_string(format!("/proc/{tid}/status")).expect("alive");
    let line = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
    line.and_then(|id| id.trim().parse().ok())
        .expect("it has one")
}

/// `controlled` in two processes. The second begins when a file `go` exists, which `meanwhile`
/// makes.
fn two(meanwhile: impl FnOnce(&Lab, u32)) -> Recording {
    let lab = Lab::new();
    for name in ["a", "b"] {
        fs::create_dir(lab.path(name)).expect("can be made");
    }
    let both = "\"$0\" a & until [ -e go ]; do sleep 0.01; done; \"$0\" b & wait";
    let mut command = lab.recorder(&["--wait-all"], "/bin/sh");
    command.args(["-c", both]).arg(fixture("controlled"));
    let recorder = command.spawn().expect("can be started");
    lab.wait_for_file("a/tids");
    meanwhile(&lab, recorder.id());
    lab.wait_for_file("b/tids");
    let program = process_of(&lab.truth("b/tids")[0][0]);
    Recording {
        lab,
        recorder,
        program,
    }
}

/// Stops the second of two processes. Gives the `sleeper` of each, and the number of the second.
fn stop_second(recording: Recording) -> (Vec<Coroutine>, ProcessId) {
    let program = recording.program;
    recording.control(&["stop"]);
    for name in ["a/during", "b/during", "a/after", "b/after"] {
        recording.step(name);
    }
    fs::write(recording.lab.path("a/end"), "").expect("can be made");
    let (lab, _) = recording.end_of("b/end");
    let trace = lab.trace();
    let stopped = trace
        .processes
        .iter()
        .find(|process| process.pid == program);
    let stopped = stopped.expect("it attached").id;
    let all = trace.coroutines.into_values();
    let sleepers: Vec<_> = all
        .filter(|coroutine| coroutine.birth.name == "sleeper")
        .collect();
    assert_eq!(sleepers.len(), 2);
    (sleepers, stopped)
}

/// Whether its memory is shared with other processes.
fn shares(coroutine: &Coroutine) -> bool {
    (coroutine.birth.probe_id >> 48) < u64::from(FIRST_OWN_ID)
}

// LT-11
#[test]
fn only_the_selected_process_is_stopped() {
    let (sleepers, stopped) = stop_second(two(|lab, _| {
        fs::write(lab.path("go"), "").expect("can be made")
    }));
    // On a busy machine the second may not have waited for its own memory: then both are the same.
    let is_meant =
        |coroutine: &Coroutine| coroutine.birth.process == stopped || sleepers.iter().all(shares);
    for coroutine in &sleepers {
        let filtered = if is_meant(coroutine) { 2 } else { 0 };
        assert_eq!(coroutine.event_counts().filtered, filtered, "{coroutine:?}");
    }
}

// LT-11
#[test]
fn process_in_shared_memory_can_be_stopped() {
    let (sleepers, _) = stop_second(two(|lab, recorder| {
        send(Signal::STOP, recorder);
        fs::write(lab.path("go"), "").expect("can be made");
        lab.wait_for_file("b/tids");
        send(Signal::CONT, recorder);
        let data = lab.path("ctp.data");
        wait_until("the recorder has met it", || {
            data.exists() && Trace::read_any(&data).0.processes.len() == 2
        });
    }));
    assert!(sleepers.iter().all(shares));
    assert!(
        sleepers
            .iter()
            .all(|sleeper| sleeper.event_counts().filtered == 2)
    );
}
