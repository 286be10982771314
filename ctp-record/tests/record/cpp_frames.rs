//! Plain v1 peers that give the addresses of C++20 coroutine frames.

use std::process::Command;

use ctp_trace::record::Place;

use crate::lab::Lab;

// CTP-13
#[test]
fn frames_of_v1_peers_get_the_function_that_resumes_them() {
    for compiler in ["g++", "clang++"] {
        let lab = Lab::new();
        let program = lab.path("v1_frames");
        let mut command = Command::new(compiler);
        command.args(["-std=c++20", "-O2", "-o"]).arg(&program);
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/v1_frames.cpp");
        match command.arg(source).status() {
            Ok(status) => assert!(status.success(), "{compiler}"),
            Err(error) => {
                eprintln!("skipped: {compiler}: {error}");
                continue;
            }
        }
        let outcome = lab.run(lab.recorder(&[], &program).arg("truth"));
        assert_eq!(outcome.status.code(), Some(0), "{}", outcome.stderr);
        check(&lab);
    }
}

/// The function that resumes each frame is that which the program has read in the frame.
fn check(lab: &Lab) {
    let trace = lab.trace();
    let mut frames = 0;
    for line in lab.truth("truth") {
        let [probe_id, frame, resume] =
            [0, 1, 2].map(|index| line[index].parse().expect("a number"));
        let mut coroutines = trace.coroutines.values();
        let coroutine = coroutines.find(|coroutine| coroutine.birth.probe_id == probe_id);
        let event = coroutine.expect("is recorded").events[0];
        assert_eq!(event.arg, frame);
        let place = trace.sites.get(&event.site);
        match resume {
            0 => assert_eq!(place, None, "no frame"),
            _ => assert_eq!(place, Some(&Place::Address(resume))),
        }
        frames += u32::from(resume != 0);
    }
    assert_eq!(frames, 40);
}
