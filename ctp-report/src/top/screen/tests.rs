use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::*;
use crate::config::TopSort;
use crate::top::keys::Cursor;
use crate::top::order::Order;
use crate::top::row::RowId;
use crate::top::rows::RowCounts;
use ctp_trace::record::CoroutineId;

fn summary() -> Summary {
    Summary {
        program: "orders".to_owned(),
        pids: vec![4711],
        ended: "not yet (still recorded)".to_owned(),
        goes_on: true,
        complete_until_ns: 12_300_000_000,
        interval_ns: 1_000_000_000,
        events_per_s: 2_706.4,
        counts: RowCounts {
            alive: 52,
            stuck: 47,
            running: 1,
            waiting: 4,
            ..RowCounts::default()
        },
        over: 1_234,
        lost: 0,
        notes: Vec::new(),
        verdict_age: None,
    }
}

fn line(id: u32, verdict: &'static str) -> EntryText {
    EntryText {
        id,
        count: 1,
        verdict,
        state: "NOT_WOKEN",
        for_ns: 3_000_000_000,
        polls_per_s: 12.6,
        wakes_per_s: 0.0,
        running_percent: 4.25,
        name: format!("session-{id}"),
        function: "orders::connection::read_frame".to_owned(),
        at: Some("src/session.rs:64".to_owned()),
        waits_for: Some(format!("fd {id} readable")),
        ..EntryText::default()
    }
}

fn lines() -> Vec<EntryText> {
    vec![
        line(3, "STUCK"),
        line(4, "STUCK?"),
        EntryText {
            name: "a\u{301}接続\\u{1b}[31m".to_owned(),
            ..line(52, "WAITING")
        },
    ]
}

fn choices() -> Choices {
    Choices::new(Order {
        sort: TopSort::Verdict,
        is_reversed: false,
        is_grouped: false,
    })
}

/// The lines of the screen, without spaces at their ends.
fn drawn(
    summary: &Summary,
    lines: &[EntryText],
    choices: &Choices,
    size: (u16, u16),
) -> Vec<String> {
    let buffer = buffer(summary, lines, choices, size);
    let rows = (0..size.1).map(|y| {
        let cells = (0..size.0).map(|x| buffer[(x, y)].symbol());
        // The second cell of a wide character has a space of its own.
        cells.collect::<String>().trim_end().to_owned()
    });
    rows.collect()
}

fn buffer(summary: &Summary, lines: &[EntryText], choices: &Choices, size: (u16, u16)) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(size.0, size.1)).expect("memory");
    let screen = Screen {
        summary,
        lines,
        entries: lines.len(),
        choices,
        has_colors: true,
    };
    let drawn = terminal.draw(|frame| draw(frame, &screen));
    drawn.expect("memory").buffer.clone()
}

#[test]
fn screen_of_40_columns() {
    let expected = [
        "orders (pid 4711)      12.3 s, recording",
        "47 stuck, 1 running, 4 waiting",
        "2 706 events/s                    lost 0",
        "",
        "     id verdict       for function",
        "      3 STUCK       3.0 s ..::read_frame",
        "      4 STUCK?      3.0 s ..::read_frame",
        "     52 WAITING     3.0 s ..::read_frame",
        "",
        "h help  q quit  Enter proof  w why  / fi",
    ];
    let found = drawn(&summary(), &lines(), &choices(), (40, 10));
    assert_eq!(found, expected);
}

#[test]
fn screen_of_80_columns() {
    let expected = [
        "orders (pid 4711)                                              12.3 s, recording",
        "47 stuck, 1 running, 4 waiting                                       1 234 ended",
        "2 706 events/s                                                            lost 0",
        "",
        "     id verdict       for   polls/s  run % function               waits for",
        "      3 STUCK       3.0 s        13    4.2 ..::read_frame         fd 3 readable",
        "      4 STUCK?      3.0 s        13    4.2 ..::read_frame         fd 4 readable",
        "     52 WAITING     3.0 s        13    4.2 ..::read_frame         fd 52 readable",
        "",
        "h help  q quit  Enter proof  w why  / filter  g group  p pause  s sort: verdict",
    ];
    let found = drawn(&summary(), &lines(), &choices(), (80, 10));
    assert_eq!(found, expected);
}

#[test]
fn screen_of_200_columns_has_all_columns() {
    let found = drawn(&summary(), &lines(), &choices(), (200, 10));
    let heading = "     id verdict  state              for   polls/s   wakes/s  run % name";
    assert!(found[4].starts_with(heading), "{found:#?}");
    let names = "session-3       orders::connection::read_frame src/session.rs:64 fd 3 readable";
    assert!(found[5].ends_with(names), "{found:#?}");
}

#[test]
fn small_screens_are_no_error() {
    for width in [0, 1, 2, 3, 9, 20] {
        for height in [0, 1, 2, 4, 5, 6, 7] {
            for mode in [
                Mode::Table,
                Mode::Help,
                Mode::Page(TextPage::default()),
                Mode::Pattern("a".to_owned()),
            ] {
                let choices = Choices { mode, ..choices() };
                drawn(&summary(), &lines(), &choices, (width, height));
            }
        }
    }
}

#[test]
fn verdicts_are_coloured_and_the_selection_is_reversed() {
    let mut choices = choices();
    choices.cursor = Cursor::On(RowId::Coroutine(CoroutineId(4)), 1);
    let buffer = buffer(&summary(), &lines(), &choices, (80, 10));
    let verdicts = [5, 6, 7].map(|y| buffer[(8, y)].fg);
    assert_eq!(verdicts, [Color::Red, Color::Yellow, Color::Reset]);
    let is_reversed = |y| buffer[(0, y)].modifier.contains(Modifier::REVERSED);
    assert_eq!([4, 5, 6, 7].map(is_reversed), [true, false, true, false]);
}

#[test]
fn pages_name_their_keys() {
    let mut choices = choices();
    let row = RowId::Coroutine(CoroutineId(4));
    let mut drawn_page = |row| {
        choices.mode = Mode::Page(TextPage {
            lines: ["a", "b", "c", "d"].map(str::to_owned).to_vec(),
            first: 1,
            row,
            is_pending: false,
        });
        drawn(&summary(), &[], &choices, (70, 3))
    };
    let last = "Esc back  w why  arrows, PgUp, PgDn scroll   1 more lines below";
    assert_eq!(drawn_page(Some(row)), ["b", "c", last]);
    assert!(!drawn_page(None)[2].contains("w why"));
}

#[test]
fn list_of_keys_fits_80_columns() {
    let mut choices = choices();
    choices.mode = Mode::Help;
    let found = drawn(&summary(), &[], &choices, (80, 16));
    let wakes = "w           show the page of --why: the wakes before, and what blocks the row";
    assert!(found.iter().any(|line| line == wakes), "{found:#?}");
    assert_eq!(found[14], "q, Ctrl-C   quit");
}

#[test]
fn pattern_and_complaint_take_the_last_line() {
    let mut choices = choices();
    choices.mode = Mode::Pattern("se\u{1b}".to_owned());
    let last = |choices: &Choices| drawn(&summary(), &[], choices, (60, 8)).pop();
    assert_eq!(last(&choices).as_deref(), Some("/se\\u{1b}_"));
    choices.complaint = Some("not a pattern".to_owned());
    assert_eq!(last(&choices).as_deref(), Some("not a pattern"));
}

#[test]
fn ends_notes_and_old_verdicts_are_shown() {
    let summary = Summary {
        goes_on: false,
        ended: "exit 0".to_owned(),
        notes: vec!["the recorder did not finish".to_owned()],
        verdict_age: Some(std::time::Duration::from_secs(9)),
        ..summary()
    };
    let mut choices = choices();
    (choices.is_paused, choices.pattern) = (true, "se".to_owned());
    let found = drawn(&summary, &lines(), &choices, (80, 10));
    assert!(found[0].contains("PAUSED") && found[0].ends_with("12.3 s, ended: exit 0"));
    assert!(
        found[2].starts_with("2 706 events/s   verdicts 9 s old   /se: 3"),
        "{found:#?}"
    );
    assert_eq!(found[3], "the recorder did not finish");
}

#[test]
fn groups_have_a_count() {
    let mut choices = choices();
    choices.order.is_grouped = true;
    let lines = [EntryText {
        count: 47_000,
        ..line(3, "STUCK")
    }];
    let found = drawn(&summary(), &lines, &choices, (80, 8));
    assert!(
        found[4].starts_with("     id   count verdict"),
        "{found:#?}"
    );
    assert!(found[5].starts_with("      3  47 000 STUCK"), "{found:#?}");
}
