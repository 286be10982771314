//! Each task has its await stack: the functions of the program at their lines, and the innermost future.

// STB-22

use ctp_trace::record::{InspectedTask, Resource};

use crate::program::{Inspected, Program, build};

/// What is known of the tasks of a kind.
struct Expected {
    kind: &'static str,
    /// The functions of the program in which the task is, each with the name of its line.
    functions: &'static [(&'static str, &'static str)],
    /// The innermost future, and what it waits for.
    leaf: (&'static str, &'static str),
    /// Whether the innermost future has a waker.
    has_waker: Option<bool>,
}

type Functions = &'static [(&'static str, &'static str)];

const fn waiting(
    kind: &'static str,
    functions: Functions,
    leaf: (&'static str, &'static str),
) -> Expected {
    Expected {
        kind,
        functions,
        leaf,
        has_waker: Some(true),
    }
}

const fn forgetting(kind: &'static str, functions: Functions) -> Expected {
    Expected {
        kind,
        functions,
        leaf: ("Forgetful", "Unknown"),
        has_waker: Some(false),
    }
}

const RECEIVING: Functions = &[("receiving", "receiving")];
const RECV: (&str, &str) = ("Recv", "Channel");

const EXPECTED: &[Expected] = &[
    waiting(
        "receiving",
        &[("outer", "outer"), ("receiving", "receiving")],
        RECV,
    ),
    waiting("joined", RECEIVING, RECV),
    waiting("bare-receiving", RECEIVING, RECV),
    waiting("bare-cancelled", RECEIVING, RECV),
    waiting("local-receiving", RECEIVING, RECV),
    waiting("static-receiving", RECEIVING, RECV),
    waiting("sending", &[("sending", "sending")], ("Send", "Room")),
    waiting("sleeping", &[("sleeping", "sleeping")], ("Timer", "Timer")),
    waiting("holding", &[("holding", "holding")], RECV),
    waiting("locking", &[("locking", "locking")], ("Lock", "Mutex")),
    waiting("crossing", &[("crossing", "crossing")], ("Lock", "Mutex")),
    waiting(
        "reading_table",
        &[("reading_table", "reading_table")],
        ("Read", "RwLock"),
    ),
    waiting(
        "acquiring",
        &[("acquiring", "acquiring")],
        ("Acquire", "Semaphore"),
    ),
    waiting("large", &[("large", "large")], RECV),
    waiting("joining", &[("joining", "joining")], ("Task", "Task")),
    waiting(
        "unblocking",
        &[("unblocking", "unblocking")],
        ("Task", "Task"),
    ),
    waiting(
        "accepting",
        &[("accepting", "accepting")],
        ("Readable", "Readable"),
    ),
    waiting(
        "reading",
        &[("reading", "reading")],
        ("ReadFuture", "Readable"),
    ),
    forgetting("forgetting", &[("forgetting", "forgetting")]),
    forgetting("bare-forgetting", &[("forgetting", "bare.forgetting")]),
    forgetting(
        "local-forgetting",
        &[("forgetting", "executors.forgetting")],
    ),
    forgetting(
        "static-forgetting",
        &[("forgetting", "executors.forgetting")],
    ),
    Expected {
        kind: "never_due",
        functions: &[("never_due", "never_due")],
        leaf: ("Timer", "Unknown"),
        has_waker: None,
    },
    Expected {
        kind: "forever",
        functions: &[("forever", "forever")],
        leaf: ("Pending", "Unknown"),
        has_waker: None,
    },
];

fn check(args: &[&str], profile: &str) {
    let program = Program::run(&build(args, profile), 2);
    let Some(mut inspector) = program.inspector() else {
        return;
    };
    let inspected = Inspected::first(&mut inspector);
    assert_eq!(inspected.end.gaps, Vec::<String>::new());
    for expected in EXPECTED {
        assert_ne!(program.count(expected.kind), 0);
        let of_kind = program.tasks.iter();
        for (address, _) in of_kind.filter(|(_, kind)| *kind == expected.kind) {
            check_task(&program, &inspected, *address, expected);
        }
    }
}

fn check_task(program: &Program, inspected: &Inspected, address: u64, expected: &Expected) {
    let task = &inspected.tasks[&address];
    let frames = inspected
        .stacks
        .get(&task.stack)
        .unwrap_or_else(|| panic!("{task:#?}"));
    let own = frames
        .iter()
        .filter(|frame| frame.name.starts_with("on_smol::") && frame.line != 0);
    let own: Vec<_> = own
        .map(|frame| (frame.name.rsplit("::").next().unwrap(), frame.line))
        .collect();
    let lines = expected.functions.iter();
    let lines: Vec<_> = lines
        .map(|(name, line)| (*name, program.lines[*line]))
        .collect();
    assert_eq!(own, lines, "{}: {frames:#?}", expected.kind);
    assert_eq!(frames[0].depth, 0);
    assert!(task.name.ends_with(expected.functions[0].0), "{task:#?}");
    let leaf = frames.last().unwrap().name.split('<').next().unwrap();
    assert!(
        leaf.ends_with(expected.leaf.0),
        "{}: {frames:#?}",
        expected.kind
    );
    check_wait(program, task, expected);
}

/// What the innermost future waits for, and whether it has a waker.
fn check_wait(program: &Program, task: &InspectedTask, expected: &Expected) {
    let [wait] = &task.waits[..] else {
        panic!("one wait: {task:#?}");
    };
    let resource = format!("{:?}", wait.resource);
    let found = (resource.split('(').next().unwrap(), wait.has_waker);
    assert_eq!(found, (expected.leaf.1, expected.has_waker), "{task:#?}");
    let fd = program.lines.get(&format!("{}.fd", expected.kind));
    if let Some(fd) = fd {
        assert_eq!(wait.resource, Resource::Readable(*fd));
    }
}

#[test]
fn debug_program_has_await_stacks() {
    check(&[], "debug");
}

#[test]
fn release_program_has_await_stacks() {
    check(&["--release"], "release");
}

/// Both branches of an `or` are shown, the timer with the time when it is due.
#[test]
fn branches_are_shown() {
    let program = Program::run(&build(&[], "debug"), 1);
    let Some(mut inspector) = program.inspector() else {
        return;
    };
    let inspected = Inspected::first(&mut inspector);
    let either = program.tasks.iter().find(|(_, kind)| *kind == "either");
    let task = &inspected.tasks[either.unwrap().0];
    let frames = &inspected.stacks[&task.stack];
    let leaves: Vec<_> = task
        .waits
        .iter()
        .map(|wait| &frames[wait.frame as usize].name)
        .collect();
    assert_eq!(leaves.len(), 2, "{frames:#?}");
    assert!(
        leaves[0].contains("Recv") && leaves[1].contains("Timer"),
        "{leaves:?}"
    );
}

/// The guards among the variables of a task hold their locks.
#[test]
fn guards_hold_locks() {
    let program = Program::run(&build(&[], "debug"), 1);
    let Some(mut inspector) = program.inspector() else {
        return;
    };
    let inspected = Inspected::first(&mut inspector);
    let task = |kind| {
        let found = program.tasks.iter().find(|(_, of)| *of == kind);
        &inspected.tasks[found.unwrap().0]
    };
    let held = task("holding").holds.iter();
    let held: Vec<_> = held
        .map(|held| (held.resource, held.is_exclusive, &*held.variable))
        .collect();
    let awaited = |kind| task(kind).waits[0].resource;
    let expected = [
        (awaited("locking"), true, "guard"),
        (awaited("reading_table"), true, "writing"),
    ];
    assert_eq!(held, expected);
}
