//! C probes, which ask the kernel for the time: see `docs/write-a-probe.md`.

use std::collections::BTreeMap;

use ctp_trace::record::{Event, EventKind};

use super::{KINDS, can_offset_clocks, deadlines_match_the_program, record_in, verdicts_are_right};
use crate::check_probe::page;
use crate::lab::Lab;

/// The timers of `examples/timers.rs`, by the C probe, which asks the kernel for the time.
const C_TIMERS: &str = r#"
int main(int count, char **words) {
    static const char *const names[] = {"long-ago", "soon", "late", "in-an-hour"};
    static const int64_t due_s[] = {-5, 10, 3600, 3600};
    FILE *truth = fopen(words[count - 1], "w");
    attach_extended();
    for (int i = 0; i < 4; i++) {
        int64_t due_ns = due_s[i] * 1000000000;
        Task task = spawn(names[i], HERE);
        run(&task);
        suspend(&task, (Wait){HERE, now() + due_ns, TIMER});
        fprintf(truth, "%s %lld\n", names[i], (long long)due_ns);
    }
    fclose(truth);
    Task clock = spawn("clock", HERE);
    for (int i = 0; i < 10; i++, usleep(30000)) {
        run(&clock);
        suspend(&clock, (Wait){HERE, 0, TIMER});
    }
    run(&clock);
    _exit(0);
}
"#;

/// Plain v1 coroutines without a time of birth, one of which ends. Writes the number of each, and
/// the program's time of each event.
const C_PLAIN: &str = r#"
int main(int count, char **words) {
    FILE *truth = fopen(words[count - 1], "w");
    attach();
    Coroutine c[3] = {born(), born(), born()};
    for (int i = 0; i < 3; i++) c[i].station->birth_ts = 0;
    for (int i = 0; i < 18; i++, usleep(20000)) {
        Coroutine *one = &c[i % 3];
        event(one, i / 3 % 2 == 0, 0);
        unsigned long long at = one->station->slots[(one->n - 1) % 8].timestamp;
        fprintf(truth, "%d %llu\n", i % 3 + 1, at);
    }
    died(&c[2]);
    fclose(truth);
    usleep(300000);
    _exit(0);
}
"#;

/// Each with the seconds by which the program's clock is ahead.
const C_WAYS: [(&[&str], i64); 4] = [
    (&["unshare", "-f", "-T", "--monotonic", "-50"], -50),
    (&["unshare", "-f", "-T", "--monotonic", "50"], 50),
    (&["unshare", "-T", "--monotonic", "-50"], -50),
    (
        &["unshare", "-f", "-T", "--monotonic", "5000000"],
        5_000_000,
    ),
];

// CTP-26, CT-15
#[test]
fn timers_of_a_c_probe_are_judged_by_own_clock() {
    let lab = Lab::new();
    let source = page::library() + &page::extension() + C_TIMERS;
    let program = page::compile(&lab, &source);
    let Some(program) = program.filter(|_| can_offset_clocks()) else {
        return;
    };
    for (way, _) in C_WAYS {
        for flags in KINDS {
            record_in(&lab, flags, way, &program, &[]);
            deadlines_match_the_program(&lab);
            verdicts_are_right(&lab);
        }
    }
}

// CTP-26
#[test]
fn events_of_a_plain_peer_have_the_recorders_time() {
    let lab = Lab::new();
    let program = page::compile(&lab, &(page::library() + C_PLAIN));
    let Some(program) = program.filter(|_| can_offset_clocks()) else {
        return;
    };
    for (way, ahead_s) in C_WAYS {
        for flags in KINDS {
            record_in(&lab, flags, way, &program, &[]);
            plain_times_are_right(&lab, ahead_s * 1_000_000_000);
        }
    }
}

// CTP-26
#[test]
fn a_checked_probe_may_have_another_clock() {
    let lab = Lab::new();
    let program = page::compile(&lab, &page::plain());
    let Some(program) = program.filter(|_| can_offset_clocks()) else {
        return;
    };
    for (way, _) in C_WAYS {
        let flags = ["-n", "2048", "--check-probe"];
        let mut command = lab.recorder(&flags, way[0]);
        let outcome = lab.run(command.args(&way[1..]).arg(&program));
        assert!(!outcome.stdout.contains("FAIL"), "{}", outcome.stdout);
        let verdict = outcome.stdout.lines().find(|line| line.ends_with(" clock"));
        assert_eq!(verdict, Some("PASS      clock"), "{}", outcome.stdout);
    }
}

// CTP-26
#[test]
fn two_clocks_in_the_same_memory_are_marked() {
    let lab = Lab::new();
    let program = page::compile(&lab, &(page::library() + C_PLAIN));
    let Some(program) = program.filter(|_| can_offset_clocks()) else {
        return;
    };
    let both = "\"$0\" here && unshare -f -T --monotonic -50 \"$0\" there";
    let mut command = lab.recorder(&[], "sh");
    let outcome = lab.run(command.args(["-c", both]).arg(program));
    assert_eq!(outcome.status.code(), Some(0), "{}", outcome.stderr);
    let message = "the memory of 3 coroutines held impossible numbers";
    assert!(outcome.stderr.contains(message), "{}", outcome.stderr);
    let coroutines = lab.trace().coroutines;
    let inexact = coroutines
        .values()
        .filter(|coroutine| coroutine.event_counts().inexact);
    assert_eq!((coroutines.len(), inexact.count()), (6, 3));
}

fn plain_times_are_right(lab: &Lab, ahead_ns: i64) {
    let trace = lab.trace();
    let zero_ns = trace.start.started_monotonic_ns;
    let mut written: BTreeMap<u64, Vec<i64>> = BTreeMap::new();
    for line in lab.truth("truth") {
        let number = |index: usize| line[index].parse::<i64>().expect("a number");
        let of_first = written.entry(number(0) as u64).or_default();
        of_first.push(number(1) - ahead_ns);
    }
    assert_eq!(trace.coroutines.len(), written.len());
    for coroutine in trace.coroutines.values() {
        let times = &written[&(coroutine.birth.probe_id & 0xFFFF_FFFF)];
        let is_death = |event: &&Event| event.kind == EventKind::Death;
        let events = coroutine.events.iter().filter(|event| !is_death(event));
        let read: Vec<i64> = events.map(|event| (zero_ns + event.at.0) as i64).collect();
        assert_eq!(&read, times);
        assert_eq!(coroutine.lost(), 0);
        assert!(!coroutine.event_counts().inexact);
        assert!(
            coroutine
                .events
                .iter()
                .all(|event| event.at <= trace.end().at)
        );
    }
}
