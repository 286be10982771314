//! `--check-probe` with real programs: some keep the rules, and some break one rule each. They are
//! the C probes of `docs/write-a-probe.md`, the latter with one piece changed.

mod breaks;
pub mod page;
mod secure;

use std::collections::BTreeSet;
use std::path::Path;

use ctp_nostd::layout::{Attach, EXT_MAGIC, Header, Interned, LAYOUT_HASH, Slot, Span, Station};

use breaks::{EXTENDED, HELP, PLAIN};
use page::compile;

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

// CTP-13
#[test]
fn the_probe_on_the_page_is_recorded_and_keeps_every_rule() {
    let lab = Lab::new();
    assert!(page::plain().lines().count() <= 120);
    let Some(program) = compile(&lab, &page::plain()) else {
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
            .all(|c| c.event_counts().attempted == 101)
    );
}

#[test]
fn the_extended_probe_on_the_page_keeps_every_rule() {
    let lab = Lab::new();
    let Some(program) = compile(&lab, &page::extended()) else {
        return;
    };
    let outcome = check(&lab, &program, &[]);
    assert_eq!(broken(&outcome), [""; 0], "{}", outcome.stdout);
    for rule in [
        "extension",
        "generation",
        "event kind",
        "event head",
        "sites",
    ] {
        let line = format!("PASS      {rule}");
        assert!(
            outcome.stdout.lines().any(|found| found == line),
            "{rule}: {}",
            outcome.stdout
        );
    }
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

/// The same with the extension: the coroutines take each other's stations, and wake each other.
const EXTENDED_STORM: &str = r#"
static Waker latest[32];
static void *live(void *number) {
    Task t = spawn("stormy", HERE);
    latest[(long)number] = waker(&t);
    for (int i = 0; i < 50; i++) {
        wake(latest[i % 32]);
        run(&t), suspend(&t, (Wait){HERE, i, LOCK});
    }
    finish(&t);
    return number;
}
int main(void) {
    attach_extended();
    for (int i = 0; i < 80; i++) {
        pthread_t t[32];
        for (long k = 0; k < 32; k++) pthread_create(&t[k], NULL, live, (void *)k);
        for (long k = 0; k < 32; k++) pthread_join(t[k], NULL);
    }
}
"#;

#[test]
fn many_threads_cause_no_false_report() {
    let lab = Lab::new();
    let mut programs = vec![
        (fixture("v1_writer"), "truth d2 60 400 8 100", &[][..]),
        (fixture("v1_writer"), "truth d1 60 400 8 100", &["dialect"]),
        (fixture("hot"), "truth 4 8 5000", &[]),
        (fixture("churn"), "truth 20000", &[]),
    ];
    if let Some(program) = compile(&lab, &[&page::library(), STORM].concat()) {
        programs.push((program, "", &[]));
    }
    let extended = Lab::new();
    let source = [
        page::library(),
        page::extension(),
        EXTENDED_STORM.to_owned(),
    ];
    if let Some(program) = compile(&extended, &source.concat()) {
        programs.push((program, "", &[]));
    }
    for (program, arguments, reported) in programs {
        let arguments: Vec<&str> = arguments.split_whitespace().collect();
        let outcome = check(&lab, &program, &arguments);
        let name = program.display();
        assert_eq!(broken(&outcome), reported, "{name}: {}", outcome.stdout);
    }
}

// CTP-12
#[test]
fn d1_peer_is_reported_to_number_by_station() {
    let lab = Lab::new();
    let arguments = ["truth", "d1", "3", "100", "1", "500"];
    let outcome = check(&lab, &fixture("v1_writer"), &arguments);
    assert_eq!(broken(&outcome), ["dialect"], "{}", outcome.stdout);
    assert_eq!(outcome.status.code(), Some(3));
}

#[test]
fn program_without_a_probe_is_reported_as_not_attached() {
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

#[test]
fn each_broken_rule_of_the_plain_probe_is_reported() {
    for (rule, good, bad) in PLAIN {
        assert_reported(rule, &page::plain(), good, bad);
    }
}

#[test]
fn each_broken_rule_of_the_extended_probe_is_reported() {
    for (rule, good, bad) in EXTENDED {
        assert_reported(rule, &page::extended(), good, bad);
    }
}

fn assert_reported(rule: &str, source: &str, good: &str, bad: &str) {
    let lab = Lab::new();
    assert_eq!(source.matches(good).count(), 1, "{rule}: {good:?}");
    let source = source.replacen(good, bad, 1);
    let source = source.replacen(
        "static uint64_t now",
        &[HELP, "static uint64_t now"].concat(),
        1,
    );
    let Some(program) = compile(&lab, &source) else {
        return;
    };
    // Without a processor at the right moment the recorder misses the fault: retry.
    let mut outcomes = (0..5).map(|_| check(&lab, &program, &[]));
    let reported = outcomes.find(|outcome| !broken(outcome).is_empty());
    let outcome = reported.unwrap_or_else(|| panic!("{rule}: no report of {bad:?}"));
    assert_eq!(broken(&outcome), [rule], "{bad:?}: {}", outcome.stdout);
    assert_eq!(outcome.status.code(), Some(3));
}

#[test]
fn each_rule_has_a_probe_that_breaks_the_rule() {
    let lab = Lab::new();
    let outcome = check(&lab, Path::new("true"), &[]);
    let all = outcome.stdout.lines().filter(|line| !line.starts_with(' '));
    let all: BTreeSet<&str> = all.map(|line| &line[10..]).collect();
    let tables = PLAIN.iter().chain(EXTENDED).map(|(rule, _, _)| *rule);
    // These two have their own tests.
    let proven: BTreeSet<&str> = tables.chain(["attached", "dialect"]).collect();
    assert_eq!(proven, all);
}

#[test]
fn words_on_the_page_match_the_layout() {
    let page = page::extended();
    let structs = [
        ("HEADER_", Header::FIELDS),
        ("SPAN_", Span::FIELDS),
        ("STATION_", Station::FIELDS),
        ("SLOT_", Slot::FIELDS),
        ("INTERNED_", Interned::FIELDS),
        ("ATTACH_", Attach::FIELDS),
    ];
    let names = page
        .split(['\n', ','])
        .filter_map(|word| word.trim().split_once(" = 0x"));
    let names = names.filter(|(name, _)| name.chars().all(|c| c.is_ascii_uppercase() || c == '_'));
    let mut words = 0;
    for (name, value) in names {
        let named = structs.iter().find(|(prefix, _)| name.starts_with(prefix));
        let (prefix, fields) = named.expect(name);
        let field = name[prefix.len()..].to_lowercase();
        let named = fields.iter().find(|known| known.name == field);
        let offset = named.expect(name).offset;
        assert_eq!(usize::from_str_radix(value, 16), Ok(offset), "{name}");
        words += 1;
    }
    assert!(40 < words, "{words}");
    for (name, value) in [("EXT_MAGIC", EXT_MAGIC), ("LAYOUT_HASH", LAYOUT_HASH)] {
        let line = format!("#define {name} {value:#018X}u").replace("0X", "0x");
        assert!(page.contains(&line), "the page has: {line}");
    }
}
