//! CT-19: flame graphs are self-contained, well-formed and the same each time.

use std::fs;

use crate::test_dir::TestDir;
use crate::traces;

fn svg(test_dir: &TestDir, trace: &str, more: &[&str]) -> String {
    let file = test_dir.path("flame.svg");
    let input = format!("{trace}.data");
    let mut args = vec!["-i", &input, "--flame", "flame.svg"];
    args.extend(more);
    let message = test_dir.text(&args);
    assert!(
        message.starts_with("wrote flame.svg (") && message.ends_with("open it in a browser\n")
    );
    fs::read_to_string(file).unwrap()
}

#[test]
fn names_the_function_the_line_and_what_is_waited_for() {
    let svg = svg(&TestDir::new(), "lost_wakeup", &[]);
    for part in [
        "session src/session.rs:17",
        "waits for a readable fd",
        "lost_wakeup: waiting time",
    ] {
        assert!(svg.contains(part), "{part}");
    }
    assert!(
        svg.contains("(to the end of the recording)"),
        "open waits are marked"
    );
}

#[test]
fn by_run_shows_running_time() {
    let svg = svg(
        &TestDir::new(),
        "busy",
        &["--by", "run", "--title", "a <title> & \u{1}more"],
    );
    assert!(svg.contains("runs from there") && !svg.contains("waits for"));
    assert!(svg.contains("a &lt;title&gt; &amp; \\u{1}more"));
}

#[test]
fn missing_events_get_a_note() {
    let test_dir = TestDir::new();
    for (trace, reported) in [
        ("lossy", " in all; approximate, 212 events lost<"),
        ("crowded", " in all, 1 coroutine refused<"),
        ("fixed", " in all<"),
    ] {
        assert!(svg(&test_dir, trace, &[]).contains(reported), "{trace}");
    }
}

#[test]
fn numbered_names_share_a_stack() {
    let test_dir = TestDir::new();
    let names = ["conn-1", "conn-2", "conn-30", "http2", "7"];
    fs::write(test_dir.path("numbered.data"), traces::named(&names)).unwrap();
    let tree = test_dir.text(&["-i", "numbered.data", "--tree", "-q"]);
    let folded = test_dir.text(&["-i", "numbered.data", "--folded", "-"]);
    let name = |line: &str| line.split(';').next().unwrap().to_owned();
    let stacks: Vec<String> = folded.lines().map(name).collect();
    assert_eq!(stacks, ["7", "conn-*", "http2"], "{folded}");
    assert!(stacks.iter().all(|name| tree.contains(name)), "{tree}");
    assert!(folded.contains("conn-* src/session.rs:17;"), "{folded}");
    let svg = svg(&test_dir, "numbered", &[]);
    assert!(svg.contains("conn-*") && !svg.contains("conn-30"));
}

#[test]
fn is_the_same_each_time() {
    let test_dir = TestDir::new();
    assert_eq!(
        svg(&test_dir, "lost_wakeup", &[]),
        svg(&test_dir, "lost_wakeup", &[])
    );
}

#[test]
fn visits_no_coroutine() {
    let svg = svg(&TestDir::new(), "hostile", &[]);
    let mut addresses = svg.match_indices("http").map(|(at, _)| &svg[..at]);
    assert!(addresses.all(|before| before.ends_with("=\"") && {
        let name = before[..before.len() - 2]
            .rsplit(char::is_whitespace)
            .next()
            .unwrap();
        name.starts_with("xmlns")
    }));
    assert!(!svg.contains("@import") && !svg.contains("url(//"));
}

#[test]
fn hostile_names_are_only_text() {
    let svg = svg(&TestDir::new(), "hostile", &[]);
    assert!(
        svg.contains("&lt;script&gt;&amp;&quot;,\\u{1b}[31m")
            || svg.contains("&lt;script&gt;&amp;\",")
    );
    assert!(!svg.contains('\x1b') && !svg.contains('\u{202e}'));
    assert_eq!(svg.matches("<script").count(), 1, "its own");
    well_formed(&svg);
}

#[test]
fn all_traces_give_well_formed_charts() {
    let test_dir = TestDir::new();
    for trace in [
        "lost_wakeup",
        "cancelled",
        "peers",
        "woken",
        "truncated",
        "corrupt",
        "leaks",
    ] {
        well_formed(&svg(&test_dir, trace, &[]));
    }
}

#[test]
fn empty_flame_graph_is_an_error_with_a_remedy() {
    let test_dir = TestDir::new();
    let output = test_dir.report(&["-i", "idle.data", "--flame", "flame.svg"]);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        message.contains("no coroutine waited") && message.contains("--by run"),
        "{message}"
    );
    assert!(!test_dir.path("flame.svg").exists());
}

/// Every tag is closed by its own, every attribute is in quotes, every `&` begins an entity.
pub fn well_formed(svg: &str) {
    let mut open = Vec::new();
    let mut rest = svg;
    while let Some(at) = rest.find('<') {
        text(&rest[..at]);
        rest = &rest[at..];
        if let Some(data) = rest.strip_prefix("<![CDATA[") {
            rest = data.split_once("]]>").expect("the data ends").1;
        } else if let Some(comment) = rest.strip_prefix("<!--") {
            rest = comment.split_once("-->").expect("the comment ends").1;
        } else {
            let (tag, after) = rest[1..].split_once('>').expect("the tag ends");
            element(tag, &mut open);
            rest = after;
        }
    }
    text(rest);
    assert!(open.is_empty(), "{open:?}");
}

fn element<'a>(tag: &'a str, open: &mut Vec<&'a str>) {
    let name = tag.split(char::is_whitespace).next().unwrap();
    assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
    tag.split('"').skip(1).step_by(2).for_each(text);
    match name.strip_prefix('/') {
        Some(name) => assert_eq!(open.pop(), Some(name)),
        None if name.starts_with('?') || tag.ends_with('/') => {}
        None => open.push(name),
    }
}

fn text(text: &str) {
    let refused = |c: char| c.is_control() && c != '\n' || ('\u{fffe}'..='\u{ffff}').contains(&c);
    assert!(!text.contains('<') && !text.contains(refused), "{text}");
    for (at, _) in text.match_indices('&') {
        let entity = text[at + 1..].split_once(';').expect("the entity ends").0;
        assert!(
            ["lt", "gt", "amp", "quot", "apos"].contains(&entity),
            "{entity}"
        );
    }
}

#[test]
fn changes_between_recordings_are_coloured() {
    let test_dir = TestDir::new();
    let args = [
        "diff",
        "-q",
        "before.data",
        "after.data",
        "--flame",
        "changes.svg",
    ];
    let page = test_dir.text(&args);
    let svg = fs::read_to_string(test_dir.path("changes.svg")).unwrap();
    for part in [
        "session-* src/session.rs:17 (readable) (17,400,000 us, 37.50%; +25.00%)",
        "ticker-* src/session.rs:22 (timer) (14,500,000 us, 31.25%; 0.00%)",
        "worker-* src/session.rs:33 (lock) (5,800,000 us, 12.50%; -12.50%)",
        "batch &lt;&amp;&gt;,\\u{1b}[2J-* src/session.rs:58 (channel)",
    ] {
        assert!(svg.contains(part), "{part}");
    }
    assert!(page.contains("x 3.00"), "the page is written too");
    let on_stdout = test_dir.text(&["diff", "before.data", "after.data", "--flame", "-"]);
    assert_eq!(on_stdout, svg);
}
