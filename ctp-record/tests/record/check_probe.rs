//! `--check-probe` with real programs: those that keep the rules, and those that break one each,
//! made from the C probe of `docs/write-a-probe.md` by changing one line of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::lab::{Lab, Outcome, fixture};

fn check(lab: &Lab, program: &Path, arguments: &[&str]) -> Outcome {
    let flags = ["-n", "2048", "--check-probe"];
    lab.run(lab.recorder(&flags, program).args(arguments))
}

fn broken(outcome: &Outcome) -> Vec<&str> {
    let lines = outcome.stdout.lines();
    lines
        .filter_map(|line| line.strip_prefix("FAIL"))
        .map(str::trim)
        .collect()
}

/// The probe on the page.
fn page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/write-a-probe.md");
    let page = fs::read_to_string(path).expect("the page");
    let (_, code) = page.split_once("```c\n").expect("has a probe");
    code.split_once("```").expect("it ends").0.to_owned()
}

/// Compiles it, unless this machine has no C compiler.
fn compile(lab: &Lab, source: &str) -> Option<PathBuf> {
    fs::write(lab.path("probe.c"), source).expect("can be written");
    let program = lab.path("probe");
    let mut cc = Command::new("cc");
    cc.args(["-std=c11", "-O1", "-pthread", "-Wall"]);
    cc.args(["-Wno-unused-function", "-o"]);
    match cc.arg(&program).arg(lab.path("probe.c")).status() {
        Ok(status) => assert!(status.success(), "the probe compiles"),
        Err(error) => {
            eprintln!("SKIPPED: no C compiler: {error}");
            return None;
        }
    }
    Some(program)
}

// CTP-13
#[test]
fn the_probe_on_the_page_is_recorded_and_keeps_every_rule() {
    let lab = Lab::new();
    assert!(page().lines().count() <= 120);
    let Some(program) = compile(&lab, &page()) else {
        return;
    };
    let outcome = check(&lab, &program, &[]);
    assert_eq!(outcome.status.code(), Some(0), "{}", outcome.stdout);
    assert_eq!(broken(&outcome), [""; 0]);
    let recorded = lab.run(&mut lab.recorder(&[], &program));
    assert_eq!(recorded.status.code(), Some(0), "{}", recorded.stderr);
    let trace = lab.trace();
    let mut ids: Vec<u64> = trace
        .coroutines
        .values()
        .map(|c| c.birth.probe_id & 0xFFFF_FFFF)
        .collect();
    ids.sort_unstable();
    assert_eq!(ids, [1, 2, 3]);
    assert!(
        trace
            .coroutines
            .values()
            .all(|c| c.tally().attempted == 101)
    );
}

#[test]
fn our_own_probe_keeps_every_rule() {
    let lab = Lab::new();
    let outcome = check(&lab, &fixture("paced"), &["truth", "4", "100", "300"]);
    assert_eq!(outcome.status.code(), Some(0), "{}", outcome.stdout);
    assert!(
        outcome.stdout.contains("PASS      extension"),
        "{}",
        outcome.stdout
    );
}

/// 1 280 coroutines, each with a thread of its own, 32 at a time; then 8 that change their thread
/// with every event.
const STORM: &str = r"
static void *live(void *none) {
    Coroutine c = born();
    for (int i = 0; i < 50; i++) event(&c, i % 2 == 0, 0);
    died(&c);
    return none;
}
static Coroutine wanderers[8];
static void *step(void *number) {
    long i = (long)number;
    event(&wanderers[i % 8], i / 8 % 2 == 0, 0);
    return NULL;
}
static void wave(void *(*run)(void *), int threads, long first) {
    pthread_t t[32];
    for (long i = 0; i < threads; i++) pthread_create(&t[i], NULL, run, (void *)(first + i));
    for (long i = 0; i < threads; i++) pthread_join(t[i], NULL);
}
int main(void) {
    attach();
    for (int i = 0; i < 40; i++) wave(live, 32, 0);
    for (int i = 0; i < 8; i++) wanderers[i] = born();
    for (int i = 0; i < 500; i++) wave(step, 8, 8 * i);
}
";

#[test]
fn a_storm_of_threads_accuses_nobody() {
    let lab = Lab::new();
    let page = page();
    let (probe, _) = page.split_once("int main").expect("has a main");
    let mut programs = vec![
        (fixture("v1_writer"), "truth d2 60 400 8 100", &[][..]),
        (fixture("v1_writer"), "truth d1 60 400 8 100", &["dialect"]),
        (fixture("hot"), "truth 4 8 5000", &[]),
        (fixture("churn"), "truth 20000", &[]),
    ];
    if let Some(program) = compile(&lab, &[probe, STORM].concat()) {
        programs.push((program, "", &[]));
    }
    for (program, arguments, told) in programs {
        let arguments: Vec<&str> = arguments.split_whitespace().collect();
        let outcome = check(&lab, &program, &arguments);
        let name = program.display();
        assert_eq!(broken(&outcome), told, "{name}: {}", outcome.stdout);
    }
}

// CTP-12
#[test]
fn a_d1_peer_is_told_that_it_numbers_by_station() {
    let lab = Lab::new();
    let arguments = ["truth", "d1", "3", "100", "1", "500"];
    let outcome = check(&lab, &fixture("v1_writer"), &arguments);
    assert_eq!(broken(&outcome), ["dialect"], "{}", outcome.stdout);
    assert_eq!(outcome.status.code(), Some(3));
}

#[test]
fn a_program_without_a_probe_is_told_that_it_did_not_attach() {
    let lab = Lab::new();
    let outcome = check(&lab, Path::new("true"), &[]);
    assert_eq!(broken(&outcome), ["attached"], "{}", outcome.stdout);
    assert_eq!(outcome.status.code(), Some(3));
    let lines: Vec<&str> = outcome.stdout.lines().collect();
    assert!(lines[1].contains("no station was claimed"), "{lines:?}");
    assert!(lines[2].contains("see that CTP_SHM_PATH"), "{lines:?}");
    let others = &lines[3..];
    assert!(
        others.iter().all(|line| line.starts_with("not seen")),
        "{lines:?}"
    );
}

/// A rule, a line of the page, and what stands there instead in a probe that breaks the rule.
const BREAKS: &[(&str, &str, &str)] = &[
    (
        "count",
        "    attach();\n",
        "    attach(); header->allocated_count += 3000;\n",
    ),
    ("close-on-exec", "SOCK_STREAM | SOCK_CLOEXEC", "SOCK_STREAM"),
    (
        "connected",
        "            dial(getenv(\"CTP_SOCK_PATH\"));\n",
        "",
    ),
    ("id", "(uint64_t)getpid() << 32 | (i + 1)", "0"),
    ("unique ids", "(uint64_t)getpid() << 32 | (i + 1)", "7"),
    ("no gap", "n / 8 * 2 + 2", "n / 8 * 4 + 2"),
    (
        "even at last",
        "&s->seq, done, memory",
        "&s->seq, done - (n % 8 == 3), memory",
    ),
    (
        "no way back",
        "usleep(500)) ",
        "usleep(500)) if (i == 200) c[1].n -= 40; else ",
    ),
    (
        "finished",
        "&s->seq, done, memory_order_release);\n",
        "&s->seq, done - (n == 20), memory_order_release); if (n == 20) usleep(700000), _exit(0);\n",
    ),
    (
        "one writer",
        "&s->seq, done - 1, memory_order_relaxed);\n",
        "&s->seq, done - 1, memory_order_relaxed);\n\
         if (n % 8 == 4) { s[1].seq = done - 1; usleep(3000); }\n",
    ),
    ("clock", "CLOCK_MONOTONIC", "CLOCK_REALTIME"),
    ("clock", "CLOCK_MONOTONIC", "CLOCK_PROCESS_CPUTIME_ID"),
    (
        "time order",
        "timestamp, now(),",
        "timestamp, now() - (n == 50) * 60000000,",
    ),
    (
        "thread id",
        "(uint64_t)syscall(SYS_gettid)",
        "(uint64_t)pthread_self()",
    ),
    (
        "own thread",
        "(uint64_t)syscall(SYS_gettid)",
        "(uint64_t)getppid()",
    ),
    (
        "own thread",
        "(uint64_t)syscall(SYS_gettid)",
        "(uint64_t)nobody()",
    ),
    (
        "one process",
        "usleep(500)) ",
        "usleep(500)) if (i == 150) FORK(c[0]) else ",
    ),
    (
        "is_active",
        "is_active, is_active,",
        "is_active, is_active * 2,",
    ),
    ("is_active", "is_active, is_active,", "is_active, 0,"),
    ("is_active", "is_active, is_active,", "is_active, 1,"),
    (
        "is_dead",
        "died(&c[i]);\n",
        "died(&c[i]), usleep(3000), event(&c[i], 1, 0), usleep(3000);\n",
    ),
    (
        "free bytes",
        "    ring();\n",
        "    s->free_bytes[3] = 9; ring();\n",
    ),
    ("rings", "    ring();\n", ""),
    (
        "bell swallowed",
        "(void)!send(bell, \"\", 1,",
        "(void)!send(bell, \"\", 0,",
    ),
    (
        "rung without need",
        "    ring();\n",
        "    ring(); if (bell >= 0) (void)!send(bell, \"\", 1, MSG_DONTWAIT);\n",
    ),
];

/// For those that break a rule: the id of a process that was, and a fork that goes on where its
/// parent was, which goes on where the fork ends.
const HELP: &str = r"
#include <sys/wait.h>
static pid_t nobody(void) {
    static pid_t pid;
    if (!pid && !(pid = fork())) _exit(0);
    waitpid(pid, NULL, 0);
    return pid;
}
#define FORK(c) { \
    Header *kept = header; \
    if (!fork()) { header = kept; event(&c, 1, 0); usleep(5000); _exit(0); } \
    wait(NULL); \
    c.n++; \
}
";

#[test]
fn a_probe_that_breaks_one_rule_is_told_that_one() {
    for (rule, good, bad) in BREAKS {
        let lab = Lab::new();
        assert!(page().contains(good), "{rule}: the page has {good:?}");
        let source = page().replacen(good, bad, 1);
        let source = source.replacen(
            "static uint64_t now",
            &[HELP, "static uint64_t now"].concat(),
            1,
        );
        let Some(program) = compile(&lab, &source) else {
            return;
        };
        let outcome = check(&lab, &program, &[]);
        assert_eq!(broken(&outcome), [*rule], "{rule}: {}", outcome.stdout);
        assert_eq!(outcome.status.code(), Some(3));
    }
}
