//! The programs of the zoo: the report matches each program's own account, in the words of the
//! table in `docs/verdicts.md`. `CTP_RUNS=100` repeats each that many times, `CTP_BLESS=1` updates
//! these words.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use serde_json::Value;
use tempfile::tempdir;

use crate::awaited::built_in_package_with_frame_pointers;
use crate::support::{record, record_built, record_with, report, report_json};

const VERDICTS: &str = include_str!("../../../docs/verdicts.md");
const VERDICTS_FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/verdicts.md");

/// Of a coroutine: verdict, how sure, why.
type Verdict = [String; 3];

/// What the program printed of its coroutines: fate, name, and line or thread.
fn truth(stdout: &str) -> Vec<[&str; 3]> {
    let lines = stdout
        .lines()
        .map(|line| line.split(' ').collect::<Vec<_>>());
    lines
        .map(|words| words.try_into().expect("a fate, a name and a number"))
        .collect()
}

/// The cells of a program's row.
fn row(program: &str) -> Vec<&'static str> {
    let cells = |line: &'static str| -> Vec<&str> {
        line.trim_matches('|').split('|').map(str::trim).collect()
    };
    let mut rows = VERDICTS.lines().map(cells);
    let name = format!("`{program}`");
    rows.find(|cells| cells[0] == name)
        .expect("each program has a row")
}

/// Puts what was said into the program's row.
fn write_row(program: &str, message: &Verdict) {
    static FILE: Mutex<()> = Mutex::new(());
    let _alone = FILE.lock().unwrap_or_else(PoisonError::into_inner);
    let text = fs::read_to_string(VERDICTS_FILE).expect("the table");
    let begin = format!("| `{program}` |");
    let table: String = text
        .lines()
        .map(|line| match line.strip_prefix(&begin) {
            Some(cells) => {
                let what = cells.split('|').next().unwrap_or_default();
                format!("{begin}{what}| {} |\n", message.join(" | "))
            }
            None => format!("{line}\n"),
        })
        .collect();
    fs::write(VERDICTS_FILE, table).expect("can be written");
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

fn text(value: &Value) -> String {
    value.as_str().expect("a word").to_owned()
}

/// The groups of some verdicts by coroutine name, with an entry for each coroutine.
fn by_name<'a>(groups: &'a [Value], names: &BTreeMap<u64, String>) -> BTreeMap<String, &'a Value> {
    groups
        .iter()
        .flat_map(|group| {
            let ids = list(&group["ids"]).iter();
            ids.map(move |id| (names[&id.as_u64().expect("an id")].clone(), group))
        })
        .collect()
}

fn verdict(group: &Value) -> Verdict {
    ["verdict", "confidence", "reason"].map(|field| text(&group[field]))
}

fn names(directory: &Path) -> BTreeMap<u64, String> {
    let words = report_json(directory, &["--last-words"]);
    let all = list(&words["last_words"]).iter();
    all.map(|value| (value["id"].as_u64().expect("an id"), text(&value["name"])))
        .collect()
}

/// The names of all coroutines, including those that were dropped at the end.
fn names_of_births(directory: &Path) -> BTreeMap<u64, String> {
    let dump = report_json(directory, &["--dump"]);
    let births = list(&dump["records"]).iter();
    let births = births.filter(|record| record["record"] == "birth");
    births
        .map(|birth| {
            (
                birth["coroutine"].as_u64().expect("an id"),
                text(&birth["name"]),
            )
        })
        .collect()
}
/// Programs whose leaf futures only chains distinguish.
const CHAINED: [&str; 28] = [
    "zoo_once_cell",
    "zoo_own_leaf",
    "zoo_full_channels",
    "zoo_own_queue",
    "zoo_select_idle",
    "zoo_timeout_lock",
    "zoo_forgotten_permits",
    "zoo_service",
    "zoo_hang_after_load",
    "zoo_both_send",
    "zoo_no_progress",
    "zoo_event_loop",
    "zoo_second_connection",
    "zoo_second_permit",
    "zoo_silent_client",
    "zoo_shared_queue",
    "zoo_opposite_locks",
    "zoo_ask_ring",
    "zoo_half_frame",
    "zoo_full_queue",
    "zoo_lost_permits",
    "zoo_too_many_permits",
    "zoo_kept_connection",
    "zoo_left_queue",
    "zoo_self_join",
    "zoo_own_permits",
    "zoo_join_with_lock",
    "zoo_hung_call",
];

/// Compares the stuck, busy and broken coroutines of the report with the program's account.
fn check(program: &str) {
    check_with(program, &[]);
}

pub fn check_with(program: &str, arguments: &[&str]) {
    let directory = tempdir().expect("room");
    let recorded = if CHAINED.contains(&program) {
        let built = built_in_package_with_frame_pointers("ctp-zoo", program);
        record_built(&[], directory.path(), &built, arguments)
    } else {
        record(directory.path(), program, arguments)
    };
    let stdout = String::from_utf8(recorded.stdout).expect("text");
    assert!(recorded.status.success(), "{program} ends by itself");
    let truth = truth(&stdout);
    let json = report_json(directory.path(), &["--stuck"]);
    let names = if truth.iter().all(|texts| texts[0] == "waits") && is_empty(&json) {
        BTreeMap::new()
    } else if program == "zoo_shutdown" {
        names_of_births(directory.path())
    } else {
        names(directory.path())
    };
    compare(
        program,
        &truth,
        "stuck",
        &by_name(list(&json["stuck"]), &names),
    );
    compare(
        program,
        &truth,
        "busy",
        &by_name(list(&json["busy"]), &names),
    );
    check_first_lines(directory.path(), &json);
    let broken = list(&json["trace"]["broken"]).iter();
    let broken: Vec<String> = broken.map(|broken| text(&broken["name"])).collect();
    let known: Vec<&str> = with_fate(&truth, "broken")
        .map(|[_, name, _]| *name)
        .collect();
    assert_eq!(broken, known, "{program}");
}

/// Checks that the first ten lines of the page name the place of a stuck group.
fn check_first_lines(directory: &Path, json: &Value) {
    let page = report(directory, &["--stuck"]).stdout;
    let page = String::from_utf8(page).expect("text");
    let first: Vec<&str> = page.lines().take(10).collect();
    let mut stuck = list(&json["stuck"]).iter().peekable();
    let is_named = |group: &Value| {
        let at = format!(":{}", group["line"]);
        first.iter().any(|line| line.contains(&at))
    };
    assert!(stuck.peek().is_none() || stuck.any(is_named), "{page}");
}

fn is_empty(json: &Value) -> bool {
    list(&json["stuck"]).is_empty() && list(&json["busy"]).is_empty()
}

fn with_fate<'a>(truth: &'a [[&'a str; 3]], fate: &str) -> impl Iterator<Item = &'a [&'a str; 3]> {
    truth.iter().filter(move |texts| texts[0] == fate)
}

fn compare(program: &str, truth: &[[&str; 3]], fate: &str, message: &BTreeMap<String, &Value>) {
    let known: Vec<_> = with_fate(truth, fate).collect();
    let victims: Vec<&str> = with_fate(truth, "victim").map(|texts| texts[1]).collect();
    let names = message.keys().map(String::as_str);
    let names: Vec<&str> = names.filter(|name| !victims.contains(name)).collect();
    let mut expected: Vec<&str> = known.iter().map(|texts| texts[1]).collect();
    expected.sort_unstable();
    assert_eq!(names, expected, "{program}, {fate}");
    for [_, name, number] in known {
        let group = message[*name];
        match std::env::var_os("CTP_BLESS") {
            Some(_) => write_row(program, &verdict(group)),
            None => assert_eq!(verdict(group), row(program)[2..5], "{program}: {group}"),
        }
        let number: u64 = number.parse().expect("a number");
        match fate {
            "busy" => {
                assert!(list(&group["threads"]).contains(&number.into()), "{group}");
                check_place(truth, name, group);
            }
            _ => {
                // If the leaf is the program's own function, that is the site, and the line is of
                // its awaiter.
                let spawned = &group["awaited_by"]["spawned"];
                let lines = [&group["line"], &spawned["line"]];
                assert!(lines.contains(&&number.into()), "{group}");
            }
        }
    }
}

/// Checks that the group is where the program says that its busy coroutine is, in a call.
fn check_place(truth: &[[&str; 3]], name: &str, group: &Value) {
    let mut places = with_fate(truth, "at").filter(|[_, of, _]| *of == name);
    if let Some([_, _, line]) = places.next() {
        assert_eq!(group["line"].to_string(), *line, "{group}");
        assert_eq!(group["thread"]["call"], "futex", "{group}");
    }
}

fn check_often(program: &str) {
    let runs = std::env::var("CTP_RUNS").map_or(1, |runs| runs.parse().expect("a number"));
    (0..runs).for_each(|_| check(program));
}

macro_rules! programs {
    ($($name:ident)*) => {
        /// All of them, so that the table has no others.
        const PROGRAMS: &[&str] = &[$(stringify!($name)),*];
        $(
            #[test]
            fn $name() {
                check_often(stringify!($name));
            }
        )*
    };
}

// CT-15, CT-16
programs! {
    zoo_closed zoo_unserved zoo_unqueued zoo_leaked_sender zoo_leaked_permits zoo_leaked_replies zoo_load_over zoo_subscribers zoo_blocking zoo_starved zoo_queued
    zoo_double
    zoo_idle zoo_accept zoo_timers zoo_slow zoo_cancelled zoo_burst zoo_closed_first zoo_deadlock
    zoo_deadlock_tokio zoo_deadlock_inside zoo_deadlock_busy zoo_unclaimed zoo_lost_join zoo_join_cycle zoo_futurelock zoo_unpolled zoo_kept_lock zoo_contended
    zoo_convoy zoo_late_suspend zoo_given_out zoo_no_waker zoo_pending zoo_shutdown
    zoo_timeout zoo_unclosed zoo_renumbered zoo_own_table zoo_unread zoo_unarmed zoo_quiet zoo_chatty zoo_panic
    zoo_guard_awaited zoo_guard_dropped zoo_blocking_tokio zoo_lifo zoo_smol zoo_smol_lost zoo_join_cycle_smol zoo_unordered
    zoo_read_twice zoo_long_read
    zoo_own_queue zoo_once_cell zoo_own_leaf zoo_timeout_lock zoo_select_idle zoo_full_channels
    zoo_forgotten_permits
    zoo_service zoo_closed_early zoo_hang_after_load zoo_both_send zoo_no_progress
    zoo_event_loop
    zoo_second_connection zoo_second_permit zoo_silent_client zoo_shared_queue zoo_opposite_locks
    zoo_ask_ring zoo_half_frame zoo_full_queue zoo_lost_permits zoo_too_many_permits
    zoo_kept_connection zoo_left_queue zoo_self_join zoo_own_permits zoo_join_with_lock
    zoo_hung_call
}

#[test]
fn given_names_appear_on_every_page() {
    let directory = tempdir().expect("room");
    let program = built_in_package_with_frame_pointers("ctp-zoo", "zoo_ask_ring");
    record_built(&[], directory.path(), &program, &[]);
    let text = [
        "",
        "--stuck",
        "--histogram",
        "--tree",
        "--last-words",
        "--dump",
    ];
    let drawn = ["--flame=-", "--folded=-", "--timeline=-", "--export=chrome"];
    for view in text.into_iter().chain(drawn) {
        let view: Vec<&str> = Some(view)
            .filter(|view| !view.is_empty())
            .into_iter()
            .collect();
        let page = report(directory.path(), &view).stdout;
        let page = String::from_utf8(page).expect("text");
        for name in ["client-", "supervisor"] {
            assert!(page.contains(name), "{view:?} without {name}: {page}");
        }
    }
}

#[test]
fn causes_come_before_victims() {
    let directory = tempdir().expect("room");
    let program = built_in_package_with_frame_pointers("ctp-zoo", "zoo_ask_ring");
    record_built(&[], directory.path(), &program, &[]);
    let json = report_json(directory.path(), &["--stuck"]);
    let births = names_of_births(directory.path());
    let supervisor = &by_name(list(&json["stuck"]), &births)["supervisor"]["ids"];
    let groups = list(&json["stuck"]).iter();
    let groups = groups.filter(|group| group["ids"] != *supervisor);
    let is_of_clients = groups.map(|group| {
        let names = list(&group["names"]).iter();
        let is_of_clients = names.map(text).all(|name| name.starts_with("client-"));
        let expected = if is_of_clients {
            supervisor
        } else {
            &Value::Null
        };
        assert_eq!(&group["joined_by"], expected, "{group}");
        is_of_clients
    });
    let is_of_clients: Vec<bool> = is_of_clients.collect();
    assert!(is_of_clients.is_sorted(), "{json}");
    assert!(is_of_clients.contains(&false) && is_of_clients.contains(&true));
}

// CT-15
#[test]
fn closures_of_the_blocking_pool_are_shown() {
    let directory = tempdir().expect("room");
    record(directory.path(), "zoo_blocking_tokio", &[]);
    let json = report_json(directory.path(), &["--stuck"]);
    let [thread] = list(&json["blocking_pool"]) else {
        panic!("a single closure runs: {json}");
    };
    assert_eq!(thread["call"], "clock_nanosleep", "{thread}");
    let functions = list(&thread["frames"]).iter();
    let mut functions = functions.map(|frame| text(&frame["function"]));
    let import = functions.find(|function| function.ends_with("zoo_blocking_tokio::import"));
    assert!(import.is_some(), "{thread}");
}

#[test]
fn panicked_task_has_ended() {
    let directory = tempdir().expect("room");
    let recorded = record(directory.path(), "zoo_panic", &[]);
    let stdout = String::from_utf8(recorded.stdout).expect("text");
    let truth = truth(&stdout);
    let waiting: Vec<&str> = truth.iter().map(|truth| truth[1]).collect();
    let mut left: Vec<String> = names(directory.path()).into_values().collect();
    left.sort_unstable();
    assert_eq!(left, waiting);
}

// CT-15
#[test]
fn unreported_closings_are_seen_in_every_mode() {
    for flag in ["--summary", "--flight-recorder"] {
        let directory = tempdir().expect("room");
        record_with(&[flag], directory.path(), "zoo_unclosed", &[]);
        let json = report_json(directory.path(), &["--stuck"]);
        let seen = list(&json["stuck"]).iter();
        let seen = seen.filter(|value| verdict(value) == ["STUCK", "CERTAIN", "seen-closed"]);
        let count: u64 = seen
            .map(|value| value["count"].as_u64().expect("a count"))
            .sum();
        assert_eq!(count, 3, "{flag}: {json}");
    }
}

// CT-14
#[test]
fn leaked_replies_are_found_by_totals_alone() {
    let reasons = [
        ("--summary", "far-beyond"),
        ("--flight-recorder=1s", "beyond-lives"),
    ];
    for (flag, reason) in reasons {
        let directory = tempdir().expect("room");
        record_with(&[flag], directory.path(), "zoo_leaked_replies", &[]);
        let json = report_json(directory.path(), &["--stuck"]);
        let stuck = list(&json["stuck"]).iter();
        let found = stuck.filter(|value| verdict(value)[2] == reason);
        let count: u64 = found
            .map(|value| value["count"].as_u64().expect("a count"))
            .sum();
        assert_eq!(count, 10, "{flag}: {json}");
    }
}

/// Whether the kernel answers what is asked of local sockets.
fn local_sockets_are_observed() -> bool {
    use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
    use rustix::net::{netlink, recv, send, socket_with};
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(
        AddressFamily::NETLINK,
        SocketType::DGRAM,
        flags,
        Some(netlink::SOCK_DIAG),
    );
    // All of them, see `unix_diag.h`.
    let mut question = [0; 40];
    (question[0], question[4], question[6], question[7]) = (40, 20, 1, 3);
    question[16] = 1;
    question[20..24].fill(0xff);
    let mut answer = [0; 64];
    let is_answer = socket.is_ok_and(|socket| {
        send(&socket, &question, SendFlags::empty()).is_ok()
            && recv(&socket, &mut answer[..], RecvFlags::DONTWAIT).is_ok()
    });
    is_answer && answer[4] == question[4]
}

// CT-15
#[test]
fn readable_local_sockets_are_seen() {
    if !local_sockets_are_observed() {
        return eprintln!("skipped: no data on local sockets from this kernel");
    }
    check_with("zoo_unread", &["local"]);
}

// CT-15
#[test]
fn waits_beside_others_are_marked_as_several() {
    let directory = tempdir().expect("room");
    let recorded = record(directory.path(), "zoo_unordered", &[]);
    let stdout = String::from_utf8(recorded.stdout).expect("text");
    let json = report_json(directory.path(), &["--stuck"]);
    let names = names(directory.path());
    let waiting = by_name(list(&json["waiting"]), &names);
    let truth = truth(&stdout);
    let listeners: Vec<_> = truth
        .iter()
        .filter(|truth| truth[1].starts_with("listener-"))
        .collect();
    assert_eq!(listeners.len(), 3, "{stdout}");
    for [_, name, line] in listeners {
        let group = waiting[*name];
        assert_eq!(group["line"].to_string(), *line, "{group}");
        assert_eq!(group["one_of_several"], true, "{group}");
    }
}

#[test]
fn lost_wakers_are_listed_below_the_sites() {
    let directory = tempdir().expect("room");
    let recorded = record(directory.path(), "zoo_no_waker", &[]);
    let stdout = String::from_utf8(recorded.stdout).expect("text");
    let json = report_json(directory.path(), &[]);
    let lints = list(&json["lints"]);
    assert!(
        lints.iter().all(|lint| lint["lint"] == "lost-waker"),
        "{json}"
    );
    let reported = lints.iter().filter_map(|lint| lint["coroutines"].as_u64());
    let known = with_fate(&truth(&stdout), "stuck").count();
    assert_eq!(reported.sum::<u64>(), known as u64, "{json}");
}

#[test]
fn zoo_programs_match_the_table() {
    let named = VERDICTS
        .lines()
        .filter_map(|line| line.strip_prefix("| `zoo_"));
    let rows: Vec<&str> = named.filter_map(|line| line.split('`').next()).collect();
    let programs: Vec<&str> = PROGRAMS.iter().map(|name| &name["zoo_".len()..]).collect();
    assert_eq!(rows, programs);
    PROGRAMS
        .iter()
        .for_each(|program| assert_eq!(row(program).len(), 5));
}
