//! Tasks of FreeRTOS, recorded by the trace macros of `ctp_freertos.h`: with a small kernel that calls
//! them, and with the real kernel in the directory `CTP_FREERTOS`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::tempdir;

use super::build::{C_COMPILERS, Compiler, WARNINGS, libraries, lines_of_recorded, package};
use super::misuse::source;
use crate::support::{line_of, report, report_json};

/// A kernel: the directories of its headers, its source files and how strict the compiler is.
struct Kernel {
    headers: Vec<PathBuf>,
    sources: Vec<PathBuf>,
    flags: &'static [&'static str],
}

fn small_kernel() -> Kernel {
    let directory = source("freertos/kernel");
    Kernel {
        sources: vec![directory.join("kernel.c")],
        headers: vec![directory],
        flags: &WARNINGS,
    }
}

/// FreeRTOS with its port for POSIX.
fn real_kernel(root: &Path) -> Kernel {
    let port = root.join("portable/ThirdParty/GCC/Posix");
    let files = ["tasks.c", "queue.c", "list.c", "portable/MemMang/heap_3.c"];
    let of_port = ["port.c", "utils/wait_for_event.c"];
    Kernel {
        headers: vec![root.join("include"), port.clone(), port.join("utils")],
        sources: files
            .iter()
            .map(|file| root.join(file))
            .chain(of_port.iter().map(|file| port.join(file)))
            .collect(),
        flags: &["-D_GNU_SOURCE", "-pthread"],
    }
}

impl Kernel {
    /// Compiles the tasks with this kernel. `None`, with a visible reason, without the compiler.
    fn compile(&self, compiler: &Compiler, directory: &Path) -> Option<PathBuf> {
        if !compiler.is_able(directory) {
            return None;
        }
        let mut command = Command::new(compiler.command);
        command.args([compiler.level, "-g"]).args(self.flags);
        for headers in &self.headers {
            command.arg("-I").arg(headers);
        }
        command.arg("-I").arg(source("freertos"));
        command.arg("-I").arg(package().join("include"));
        command.arg(source("freertos/program.c"));
        command
            .args(&self.sources)
            .arg(libraries().join("libctp.a"));
        let program = directory.join("program");
        let compiled = command.arg("-o").arg(&program).output();
        let compiled = compiled.expect("the compiler runs");
        let message = String::from_utf8_lossy(&compiled.stderr);
        assert!(compiled.status.success(), "{compiler:?}: {message}");
        Some(program)
    }

    fn check(&self) {
        for compiler in &C_COMPILERS {
            let directory = tempdir().expect("room");
            if let Some(program) = self.compile(compiler, directory.path()) {
                let account = lines_of_recorded(directory.path(), &program, &[]);
                waiter_has_its_queue(directory.path(), &account);
                deadlock_has_both_tasks(directory.path());
                stacks_have_lines(directory.path());
            }
        }
    }
}

/// The task that waits for a queue without senders, compared with the program's own account.
fn waiter_has_its_queue(directory: &Path, account: &[String]) {
    let orders = account.iter().find_map(|line| line.strip_prefix("orders "));
    let orders: u64 = orders.and_then(|n| n.parse().ok()).expect("a number");
    let json = report_json(directory, &["--stuck"]);
    let groups = ["stuck", "waiting"].iter().flat_map(|list| {
        let groups = json[*list].as_array().expect("a list");
        groups.iter().filter(|group| group["file"] == "task waiter")
    });
    let groups: Vec<&Value> = groups.collect();
    assert_eq!(groups.len(), 1, "{json}");
    assert_eq!(groups[0]["count"], 1, "{json}");
    assert_eq!(groups[0]["state"], "NOT_WOKEN", "{json}");
    let wait = &groups[0]["waits_for"][0];
    assert_eq!(wait["kind"], "channel", "{json}");
    assert_eq!(wait["resources"][0], orders, "{json}");
}

fn deadlock_has_both_tasks(directory: &Path) {
    let json = report_json(directory, &["--stuck"]);
    let [deadlock] = &json["deadlocks"].as_array().expect("a list")[..] else {
        panic!("{json}");
    };
    assert_eq!(deadlock["confidence"], "CERTAIN", "{json}");
    let tasks = deadlock["cycle"].as_array().expect("a list").iter();
    let names: BTreeSet<&str> = tasks.filter_map(|task| task["name"].as_str()).collect();
    assert_eq!(names, BTreeSet::from(["in order", "in reverse"]), "{json}");
}

/// The call stacks have the lines of the program that called the kernel.
fn stacks_have_lines(directory: &Path) {
    let text = fs::read_to_string(source("freertos/program.c")).expect("text");
    let stacks = report(directory, &["--stacks"]).stdout;
    let stacks = String::from_utf8_lossy(&stacks);
    for (line, times) in [("/* no task sends */", 1), ("/* never */", 2)] {
        let place = format!("program.c:{}", line_of(&text, line));
        assert_eq!(stacks.matches(&place).count(), times, "{place} in {stacks}");
    }
}

#[test]
fn tasks_of_a_small_kernel_are_recorded() {
    small_kernel().check();
}

#[test]
fn tasks_of_freertos_are_recorded() {
    let Some(root) = std::env::var_os("CTP_FREERTOS") else {
        eprintln!("SKIPPED: CTP_FREERTOS does not name FreeRTOS");
        return;
    };
    real_kernel(Path::new(&root)).check();
}
