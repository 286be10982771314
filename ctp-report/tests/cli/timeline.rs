//! CT-19: timelines are self-contained, well-formed, reproducible, and small for any number of
//! coroutines. Stuck coroutines come first, and sampling is noted.

use std::fs;

use crate::flame::well_formed;
use crate::html::{browser, opened, opened_at};
use crate::test_dir::TestDir;
use crate::traces;

fn draw(test_dir: &TestDir, trace: &str, more: &[&str]) -> String {
    let input = format!("{trace}.data");
    let mut args = vec!["-i", &input, "--timeline", "t.svg"];
    args.extend(more);
    let message = test_dir.text(&args);
    assert!(message.starts_with("wrote t.svg (") && message.ends_with("open it in a browser\n"));
    fs::read_to_string(test_dir.path("t.svg")).unwrap()
}

fn many(test_dir: &TestDir, count: u32, stuck: u32, rounds: u64) -> String {
    let bytes = traces::many(count, stuck, rounds);
    fs::write(test_dir.path("many.data"), bytes).unwrap();
    draw(test_dir, "many", &[])
}

/// The picture without scripts.
fn scriptless(svg: &str) -> String {
    let (before, rest) = svg.split_once("<script>").unwrap();
    let (script, after) = rest.split_once("</script>").unwrap();
    assert!(script.starts_with("<![CDATA[") && script.ends_with("]]>"));
    format!("{before}{after}")
}

/// What stands in the elements of a class, in order.
fn texts<'a>(svg: &'a str, class: &str) -> Vec<&'a str> {
    let start = format!("<text class=\"{class}\"");
    let parts = svg.split(&start).skip(1);
    let words = |part: &'a str| part.split_once('>').unwrap().1.split_once("</text>");
    parts.map(|part| words(part).unwrap().0).collect()
}

#[test]
fn a_few_are_all_shown_the_stuck_first() {
    let svg = scriptless(&many(&TestDir::new(), 10, 2, 12));
    assert_eq!(svg.matches("<g class=\"row of-").count(), 10);
    assert_eq!(svg.matches("<g class=\"group\"").count(), 0);
    assert_eq!(texts(&svg, "end likely"), ["STUCK? 7.2 s"; 2]);
    assert!(svg.find("end likely").unwrap() < svg.find("end good").unwrap());
    let findings = texts(&svg, "likely");
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert!(findings[0].starts_with("STUCK? (likely)  2 x session  src/session.rs:17, since +2.8"));
    assert!(texts(&svg, "facts").contains(&"showing all 10, stuck coroutines first"));
}

#[test]
fn rows_have_spans_marks_ends_and_tooltips() {
    let svg = scriptless(&many(&TestDir::new(), 10, 2, 12));
    for class in [
        "runs", "fd", "timer", "channel", "stuck", "wakes", "moves", "birth", "death",
    ] {
        let lane = format!("class=\"{class}\" ");
        let legend = 1;
        assert!(legend < svg.matches(&lane).count(), "{class}");
    }
    assert_eq!(
        svg.matches("<path class=\"arrow likely\"").count(),
        2,
        "open ends"
    );
    for part in [
        "STUCK? (likely), NOT_WOKEN since +2.8",
        "waits for fd 18 readable at src/session.rs:17, from +",
        "runs on thread 2, from +",
        "last woken +2.7",
        "by thread 7",
        "thread change",
    ] {
        assert!(svg.contains(part), "{part}");
    }
}

#[test]
fn ten_thousand_rows_are_grouped_and_sampled() {
    let svg = scriptless(&many(&TestDir::new(), 10_000, 47, 30));
    let rows = svg.matches("<g class=\"row of-").count();
    assert_eq!(rows, 60);
    let facts = texts(&svg, "facts");
    let message = "showing 60 of 10 000: the longest by verdict and site, stuck coroutines first";
    assert!(
        facts.iter().any(|fact| fact.starts_with(message)),
        "{facts:?}"
    );
    let first = svg.find("<g class=\"group\"").unwrap();
    let heading = &svg[first..first + 400];
    assert!(heading.contains("STUCK? (likely)") && heading.contains("47 x session"));
    assert!(heading.contains("showing the 20 longest"), "{heading}");
    assert_eq!(texts(&svg, "end likely").len(), 20);
    let message = "a search also finds 5 000 without a row; 4 940 are not in this file";
    assert!(facts.contains(&message), "{facts:?}");
    assert!(svg.len() < 3 << 20);
}

#[test]
fn a_long_trace_makes_no_large_file() {
    let svg = scriptless(&many(&TestDir::new(), 200, 20, 700));
    assert!(
        svg.contains("class=\"m2\" d=") && svg.contains("runs and waits, ran"),
        "shades"
    );
    assert!(svg.contains("--time FROM,TO draws a part with more detail"));
    assert!(svg.len() < 3 << 20, "{}", svg.len());
}

#[test]
fn time_window_shows_only_rows_in_the_window() {
    let test_dir = TestDir::new();
    many(&test_dir, 10, 2, 12);
    let svg = scriptless(&draw(&test_dir, "many", &["--time", "4s,5s"]));
    assert!(svg.contains("data-from=\"4000000000\" data-to=\"5000000000\""));
    assert!(svg.contains(">4.2 s</text>"));
    assert!(svg.contains("8 that lived between +4.000000 s and +5.000000 s"));
    assert_eq!(
        svg.matches("<g class=\"row of-").count(),
        8,
        "two were over by then"
    );
    assert_eq!(texts(&svg, "end likely").len(), 2);
}

#[test]
fn lost_events_are_hatched() {
    let test_dir = TestDir::new();
    let svg = scriptless(&draw(&test_dir, "lossy", &[]));
    assert!(svg.contains("<rect class=\"lost\" ") && svg.contains("212 events lost, from +"));
    assert!(svg.contains("nothing is known to be stuck"));
    let svg = scriptless(&draw(&test_dir, "torn", &[]));
    assert!(svg.contains(">unknown since") && svg.contains(">UNKNOWN<"));
}

#[test]
fn marks_name_the_waker_and_the_closing_place() {
    let svg = scriptless(&draw(&TestDir::new(), "closed", &[]));
    let rows: Vec<&str> = svg.split("<g class=\"row of-").skip(1).collect();
    let closes = |row: &str| row.matches("<g class=\"closes\"").count();
    let marked = rows.iter().filter(|row| closes(row) == 1).count();
    assert_eq!((marked, rows.iter().map(|row| closes(row)).sum()), (9, 9));
    let titles = |start: &str| -> Vec<String> {
        let marks = svg.split(start).skip(1);
        marks
            .filter_map(|mark| mark.split("</title>").next().map(str::to_owned))
            .collect()
    };
    let closed = "<title>the awaited resource was closed +0.700000 s by thread 4126, vendor/";
    let reported =
        |titles: Vec<String>, message: &str| titles.iter().any(|title| title.contains(message));
    assert!(reported(titles("<g class=\"closes\""), closed));
    let woken = "<title>woken by thread 4126, vendor/";
    assert!(reported(titles("<path class=\"wakes\""), woken));
    assert!(
        svg.contains("by thread 4126, vendor/runtime-with-a-long-name/src/net/poll/reactor.rs:141")
    );
    assert!(svg.contains("last woken +0.708000 s by thread 4127, vendor/"));
}

/// The tooltip of the row of this name and number, and that of its open end.
fn titles<'a>(svg: &'a str, name: &str) -> Vec<&'a str> {
    let row = svg
        .split("<g class=\"row of-")
        .find(|row| row.contains(&format!("<title>{name}\n")))
        .unwrap();
    let titles = row.split("<title>").skip(1);
    let all: Vec<&str> = titles
        .map(|title| title.split("</title>").next().unwrap())
        .collect();
    [
        all.first(),
        all.iter().find(|text| text.contains("not woken since")),
    ]
    .into_iter()
    .flatten()
    .copied()
    .collect()
}

#[test]
fn open_waits_name_their_blockers() {
    let svg = scriptless(&draw(&TestDir::new(), "deadlock", &[]));
    let holder = "\nheld by id 2 transfer, taken at accounts.rs:31, 12.4 s ago, \
                  which waits for coroutine id 3 at accounts.rs:52, for 12.4 s";
    let awaited =
        "\nthat is id 4 report, which waits for coroutine id 1 at accounts.rs:52, for 11.7 s";
    for (name, message) in [("transfer #1", holder), ("report #5", awaited)] {
        let titles = titles(&svg, name);
        assert_eq!(titles.len(), 2, "{titles:?}");
        assert!(
            titles.iter().all(|title| title.ends_with(message)),
            "{titles:?}"
        );
    }
    let of_the_well = titles(&svg, "well #11");
    assert!(!of_the_well.concat().contains("by id"), "{of_the_well:?}");
}

#[test]
fn uncertain_lock_holders_are_marked() {
    let svg = scriptless(&draw(&TestDir::new(), "line", &[]));
    let message = "\nbut a lock has several holders, and a single release may suffice";
    let titles = titles(&svg, "next #20");
    assert!(
        titles.iter().all(|title| title.ends_with(message)),
        "{titles:?}"
    );
    assert_eq!(titles[0].matches("\nheld by id 2").count(), 3, "{titles:?}");
}

fn drawn(test_dir: &TestDir, bytes: Vec<u8>) -> String {
    fs::write(test_dir.path("wakes.data"), bytes).unwrap();
    let svg = draw(test_dir, "wakes", &[]);
    well_formed(&svg);
    assert!(svg == draw(test_dir, "wakes", &[]), "the same each time");
    scriptless(&svg)
}

/// How many arrows are drawn, without the one in the legend.
fn arrows(svg: &str) -> usize {
    let (_, drawn) = svg.split_once("<svg class=\"lane arrows").unwrap();
    let stems = drawn.split("<path class=\"stem\" d=\"").skip(1);
    let ends = stems.map(|stem| stem.split('"').next().unwrap());
    ends.map(|path| path.matches('M').count()).sum()
}

#[test]
fn wakes_are_arrows_from_the_row_of_the_waker() {
    let svg = scriptless(&draw(&TestDir::new(), "chain", &["--time", "800ms,1s"]));
    assert!(svg.contains(">arrows: 1 wake between rows</text>"));
    let (_, drawn) = svg.split_once("<svg class=\"lane arrows\"").unwrap();
    assert!(drawn.contains("><title>session #3 woke writer #2</title><path class=\"stem\""));
    assert_eq!(arrows(&svg), 1);
    let none = draw(&TestDir::new(), "closed", &[]);
    assert!(!none.contains("lane arrows") && !none.contains(">arrows: "));
}

#[test]
fn a_few_arrows_are_seen_at_once_and_many_by_row() {
    let test_dir = TestDir::new();
    let few = drawn(&test_dir, traces::chained(10, 12));
    assert!(few.contains("<svg class=\"lane arrows\""));
    assert_eq!(
        arrows(&few),
        108,
        "each wake but those of the first by itself"
    );
    let many = drawn(&test_dir, traces::chained(200, 12));
    assert!(many.contains("<svg class=\"lane arrows by-row\""));
    assert!(many.contains("; point at a row to see its arrows</text>"));
}

#[test]
fn excess_arrows_are_left_out_with_a_note() {
    let test_dir = TestDir::new();
    let dense = drawn(&test_dir, traces::chained(10, 2_000));
    assert!(dense.contains(" of 18 000 wakes between rows; where they are dense, zoom in"));
    assert!((200..=5_000).contains(&arrows(&dense)));
    let sampled = drawn(&test_dir, traces::handled(10_000, 30));
    assert!(sampled.contains("<svg class=\"lane arrows by-row\""));
    assert!(sampled.contains(">arrows: 1 770 wakes between rows; point at a row"));
    assert!(sampled.len() < 3 << 20);
}

#[test]
fn recorded_threads_have_rows_with_their_losses() {
    let svg = scriptless(&draw(&TestDir::new(), "closed", &[]));
    let threads: Vec<&str> = svg.split("<g class=\"thread\">").skip(1).collect();
    assert_eq!(threads.len(), 2);
    assert!(threads[0].contains("thread 4126: first seen +0.002000 s; 0 records lost"));
    assert!(threads[1].contains("ended +9.000000 s; 212 records lost</title>"));
    assert!(threads[1].contains("<title>212 records lost just before +5.000000 s</title>"));
    assert!(svg.contains(">2 threads</text>"));
    let old = draw(&TestDir::new(), "lost_wakeup", &[]);
    assert!(
        !old.contains("class=\"thread\""),
        "no thread events are recorded"
    );
}

// CT-18: only the row of the coroutine that ran on the faulting thread marks the end
#[test]
fn a_crash_is_marked_where_it_came_from() {
    let test_dir = TestDir::new();
    let svg = scriptless(&draw(&test_dir, "crash", &[]));
    let rows: Vec<&str> = svg.split("<g class=\"row of-").skip(1).collect();
    let marked = |row: &&str| row.contains("<path class=\"crash\"");
    assert_eq!(rows.iter().copied().filter(marked).count(), 1);
    let reported =
        "SIGSEGV ended the program at +7.000000 s, while this coroutine ran on thread 4128</title>";
    assert!(rows[0].contains("d=\"M1000000 0v") && rows[0].contains(reported));
    assert!(rows[0].contains("#2</tspan>") && rows[0].contains(">SIGSEGV</text>"));
    assert_eq!(
        texts(&svg, "bad")[0],
        "CRASH  id 2 worker_loop ran on tid 4128 when SIGSEGV came"
    );
    let early = draw(&test_dir, "crash", &["--time", "0s,1s"]);
    assert!(!early.contains("<path class=\"crash\""), "not in sight");
}

// CT-18: no row is marked if the kernel does not name the thread, or the thread ran no coroutine
#[test]
fn crash_on_an_unknown_thread_is_only_in_the_text() {
    let test_dir = TestDir::new();
    for trace in ["suspects", "bystanders", "killed"] {
        let svg = scriptless(&draw(&test_dir, trace, &[]));
        assert!(!svg.contains("<path class=\"crash\""), "{trace}");
        assert_eq!(svg.contains(">CRASH  "), trace != "killed", "{trace}");
    }
    let broken = draw(&test_dir, "broken", &[]);
    assert!(broken.contains(">BROKEN  events of 1 coroutine contradict each other"));
}

#[test]
fn charts_are_complete_and_reproducible() {
    let test_dir = TestDir::new();
    for trace in [
        "lost_wakeup",
        "fixed",
        "cancelled",
        "peers",
        "woken",
        "queueing",
        "closed",
        "deadlock",
        "busy",
        "torn",
        "lossy",
        "leaks",
        "hostile",
        "truncated",
        "corrupt",
        "idle",
        "crash",
        "broken",
    ] {
        let svg = draw(&test_dir, trace, &[]);
        well_formed(&svg);
        well_formed(&scriptless(&svg));
        assert!(svg == draw(&test_dir, trace, &[]), "{trace}");
    }
}

#[test]
fn visits_no_coroutine() {
    let svg = draw(&TestDir::new(), "hostile", &[]);
    assert_eq!(svg.matches("http").count(), 1, "the name of the format");
    assert_eq!(svg.matches("url(").count(), svg.matches("url(#").count());
    assert!(!svg.contains("@import") && !svg.contains("href"));
}

#[test]
fn hostile_names_are_only_text() {
    let svg = scriptless(&draw(
        &TestDir::new(),
        "hostile",
        &["--title", "a <b> & \"c\"\x1b"],
    ));
    assert!(svg.contains("&lt;script&gt;&amp;&quot;;\\u{1b}[31m"));
    assert!(svg.contains("a &lt;b&gt; &amp; &quot;c&quot;\\u{1b}"));
    assert!(!svg.contains("<script") && !svg.contains('\x1b') && !svg.contains('\u{202e}'));
}

#[test]
fn empty_timeline_is_an_error_with_a_remedy() {
    let test_dir = TestDir::new();
    let args = ["-i", "woken.data", "--timeline", "t.svg", "--time", "1h,"];
    let output = test_dir.report(&args);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(message.contains("give another --time"), "{message}");
    assert!(!test_dir.path("t.svg").exists());
    let both = test_dir.report(&["--timeline", "t.svg", "--json"]);
    assert_eq!(both.status.code(), Some(2));
}

// AGG-18
#[test]
fn filters_select_rows_without_changing_verdicts() {
    let test_dir = TestDir::new();
    let rows = |more: &[&str]| {
        let svg = scriptless(&draw(&test_dir, "lost_wakeup", more));
        let count = svg.matches("<g class=\"row of-").count();
        (count, svg.matches("class=\"end likely\"").count())
    };
    assert_eq!(rows(&["--id", "4-6,51"]), (4, 3));
    assert_eq!(
        rows(&["--state", "stuck?", "--thread", "4127"]).0,
        rows(&["--state", "stuck?", "--thread", "4127"]).1
    );
    assert_eq!(rows(&["--site", "session.rs:22"]), (2, 0));
}

#[test]
fn a_search_draws_coroutines_without_a_row() {
    let Some(browser) = browser() else { return };
    let test_dir = TestDir::new();
    let svg = many(&test_dir, 10_000, 47, 3);
    assert!(!scriptless(&svg).contains("#1501</tspan>"));
    let drawn = svg.trim_end().strip_suffix("</svg>").unwrap();
    let search = "for (const key of '/#1501') \
                  document.dispatchEvent(new KeyboardEvent('keydown', { key }));";
    let file = test_dir.path("searched.svg");
    fs::write(&file, format!("{drawn}<script>{search}</script></svg>")).unwrap();
    let page = opened(browser, &file);
    let count = "search: #1501_  (0 of 60 rows and 1 of 5000 others)";
    assert!(page.contains(count), "{page}");
    assert!(page.contains("aria-label=\"session, id 1501, waits 100 ms\""));
}

/// Counts the texts and signs that are cut at an edge of the window, and the texts that lie on another text. Rows have the
/// height of the file, so overlaps are found there too.
const MISPLACED: &str = "
    const boxes = Array.from(document.querySelectorAll('text'))
        .filter((text) => text.textContent && !text.closest('.unseen, .lane'))
        .map((text) => text.getBoundingClientRect())
        .filter((box) => box.width > 0);
    const isCut = (box) => box.left < 0 || box.right > innerWidth + 1;
    const meet = (a, b) => a.left + 1 < b.right && b.left + 1 < a.right && a.top + 4 < b.bottom && b.top + 4 < a.bottom;
    const overlaps = boxes.filter((a, at) => boxes.slice(at + 1).some((b) => meet(a, b)));
    const signs = Array.from(document.querySelectorAll('path.arrow, .row > .burst'), (sign) => sign.getBoundingClientRect());
    const cut = boxes.concat(signs).filter(isCut);
    document.documentElement.setAttribute('data-misplaced', `${cut.length} ${overlaps.length}`);";

// CT-19
#[test]
fn timeline_fits_the_window() {
    let Some(browser) = browser() else { return };
    let test_dir = TestDir::new();
    for trace in ["lost_wakeup", "closed", "crash", "hostile"] {
        let svg = draw(&test_dir, trace, &[]);
        let drawn = svg.trim_end().strip_suffix("</svg>").unwrap();
        let file = test_dir.path("narrow.svg");
        let script = format!("<script><![CDATA[{MISPLACED}]]></script></svg>");
        fs::write(&file, drawn.to_owned() + &script).unwrap();
        for (width, chart) in [(800, 320), (1300, 820), (1600, 900)] {
            let page = opened_at(browser, &file, width);
            let expected = [
                format!("data-chart=\"{chart}\""),
                "data-misplaced=\"0 0\"".to_owned(),
            ];
            for part in expected {
                let root = page.split_once("<style>").unwrap().0;
                assert!(root.contains(&part), "{trace} at {width}: {part} in {root}");
            }
        }
    }
}
