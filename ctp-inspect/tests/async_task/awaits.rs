//! Each task has its await stack: the functions of the program at their lines, and the innermost future.

// STB-22

use crate::program::{Inspected, Program, build};

/// The functions of the program that tasks of a kind are in, each with the name of its line, and the innermost future.
struct Expected {
    kind: &'static str,
    functions: &'static [(&'static str, &'static str)],
    leaf: &'static str,
}

const fn expected(
    kind: &'static str,
    functions: &'static [(&'static str, &'static str)],
    leaf: &'static str,
) -> Expected {
    Expected {
        kind,
        functions,
        leaf,
    }
}

const RECEIVING: &[(&str, &str)] = &[("receiving", "receiving")];

const EXPECTED: &[Expected] = &[
    expected(
        "receiving",
        &[("outer", "outer"), ("receiving", "receiving")],
        "Recv",
    ),
    expected("joined", RECEIVING, "Recv"),
    expected("bare-receiving", RECEIVING, "Recv"),
    expected("bare-cancelled", RECEIVING, "Recv"),
    expected("local-receiving", RECEIVING, "Recv"),
    expected("static-receiving", RECEIVING, "Recv"),
    expected("sending", &[("sending", "sending")], "Send"),
    expected("sleeping", &[("sleeping", "sleeping")], "Timer"),
    expected("holding", &[("holding", "holding")], "Recv"),
    expected("locking", &[("locking", "locking")], "Lock"),
    expected(
        "reading_table",
        &[("reading_table", "reading_table")],
        "Read",
    ),
    expected("acquiring", &[("acquiring", "acquiring")], "Acquire"),
    expected("forgetting", &[("forgetting", "forgetting")], "Forgetful"),
    expected(
        "bare-forgetting",
        &[("forgetting", "bare.forgetting")],
        "Forgetful",
    ),
    expected(
        "local-forgetting",
        &[("forgetting", "executors.forgetting")],
        "Forgetful",
    ),
    expected(
        "static-forgetting",
        &[("forgetting", "executors.forgetting")],
        "Forgetful",
    ),
    expected("forever", &[("forever", "forever")], "Pending"),
    expected("large", &[("large", "large")], "Recv"),
    expected("joining", &[("joining", "joining")], "Task"),
    expected("accepting", &[("accepting", "accepting")], "Readable"),
    expected("reading", &[("reading", "reading")], "ReadFuture"),
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
        leaf.ends_with(expected.leaf),
        "{}: {frames:#?}",
        expected.kind
    );
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
