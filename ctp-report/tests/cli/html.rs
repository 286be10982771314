//! CT-19: the page for browsers is one file that loads nothing. Its findings are readable without
//! scripts, its table can be searched, sorted and read with the keyboard, and names of the program stay text.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::test_dir::TestDir;
use crate::traces;

/// Writes the page of a trace, and returns it.
fn page(test_dir: &TestDir, trace: &str) -> String {
    let input = format!("{trace}.data");
    let message = test_dir.text(&["-i", &input, "--html", "p.html"]);
    let is_known = message.starts_with("wrote p.html (") && message.ends_with("in a browser\n");
    assert!(is_known, "{message}");
    fs::read_to_string(test_dir.path("p.html")).unwrap()
}

/// The browser, if one is installed.
pub fn browser() -> Option<&'static str> {
    let found = ["chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .find(|name| Command::new(name).arg("--version").output().is_ok());
    if found.is_none() {
        eprintln!("skipped: no chromium, so the page is not opened");
    }
    found
}

/// What the browser makes of a file: its elements after the scripts have run.
pub fn opened(browser: &str, file: &Path) -> String {
    opened_at(browser, file, 1300)
}

/// The same, in a window of this width.
pub fn opened_at(browser: &str, file: &Path, width: u32) -> String {
    let profile = tempfile::tempdir().unwrap();
    let mut command = Command::new(browser);
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]);
    command.arg(format!("--window-size={width},900"));
    command.arg("--virtual-time-budget=10000");
    command.arg(format!("--user-data-dir={}", profile.path().display()));
    let output = command.arg(format!("file://{}", file.display())).output();
    String::from_utf8(output.unwrap().stdout).unwrap()
}

/// Opens the page and runs statements in it. Returns the lines that they pass to `say`.
fn run(test_dir: &TestDir, browser: &str, page: &str, statements: &str) -> Vec<String> {
    let script = format!(
        "<pre id=\"output\"></pre><script>(() => {{
        const output = document.getElementById('output');
        const say = (line) => {{ output.textContent += line + '\\n'; }};
        const rows = () => Array.from(document.querySelectorAll('.row'), (row) =>
            Array.from(row.children, (cell) => cell.textContent).join('|'));
        const search = (words) => {{
            const field = document.getElementById('search');
            field.value = words;
            field.dispatchEvent(new Event('input'));
        }};
        const press = (key) => document.getElementById('table').dispatchEvent(
            new KeyboardEvent('keydown', {{ key, bubbles: true }}));
        onerror = (message) => say('error: ' + message);
        {statements}
        }})()</script></body>"
    );
    let file = test_dir.path("run.html");
    fs::write(&file, page.replace("</body>", &script)).unwrap();
    let dom = opened(browser, &file);
    let (_, output) = dom
        .rsplit_once("<pre id=\"output\">")
        .expect("the page is open");
    let (output, _) = output.split_once("</pre>").expect("the element ends");
    output.lines().map(str::to_owned).collect()
}

#[test]
fn page_loads_nothing_from_elsewhere() {
    let page = page(&TestDir::new(), "lost_wakeup");
    let outside = page
        .replace("http://www.w3.org/2000/svg", "")
        .replace("http://www.w3.org/1999/xlink", "")
        .replace("xmlns:fg=%22http://github.com/jonhoo/inferno%22", "");
    for address in ["http:", "https:", "//cdn", "@import", "url(//"] {
        assert!(!outside.contains(address), "{address}");
    }
    for part in [
        "id=\"findings\"",
        "id=\"timeline\"",
        "id=\"flame\"",
        "<noscript>",
    ] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn findings_are_those_of_the_text_page() {
    let test_dir = TestDir::new();
    for trace in ["lost_wakeup", "deadlock", "inspected", "crash", "busy"] {
        let page = page(&test_dir, trace);
        let text = test_dir.text(&["-i", &format!("{trace}.data"), "--stuck"]);
        let (findings, _) = page.split_once("<section id=\"rows\">").unwrap();
        let lines = text
            .lines()
            .map(str::trim)
            .filter(|line| line.contains(' '));
        let lines: Vec<&str> = lines
            .take_while(|line| !line.starts_with("for scripts"))
            .collect();
        assert!(lines.len() > 5, "{trace}");
        for line in lines {
            // The words of a headline are in elements of their own.
            let part = line.split("  ").map(|part| part.trim_end_matches(':'));
            for part in part.filter(|part| !part.contains("STUCK") && part.len() > 3) {
                let escaped = part
                    .replace('&', "&amp;")
                    .replace('<', "&lt;")
                    .replace('>', "&gt;");
                let escaped = escaped.replace('\'', "&apos;").replace('"', "&quot;");
                assert!(
                    findings.contains(escaped.trim()) || is_headline(findings, part),
                    "{trace}: {part}"
                );
            }
        }
    }
}

fn is_headline(findings: &str, line: &str) -> bool {
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    findings.contains(&format!("<b>{word}</b> {rest}"))
        || findings.contains(&format!("<b>{word}</b>"))
}

/// The SVG file in the frame with this title.
fn graphic(page: &str, title: &str) -> Vec<u8> {
    let (_, frame) = page
        .split_once(&format!("iframe title=\"{title}\""))
        .unwrap();
    let (_, address) = frame.split_once("charset=utf-8,").unwrap();
    let (encoded, _) = address.split_once('"').unwrap();
    let mut parts = encoded.split('%');
    let mut svg = parts.next().unwrap().as_bytes().to_vec();
    for part in parts {
        svg.push(u8::from_str_radix(&part[..2], 16).unwrap());
        svg.extend_from_slice(&part.as_bytes()[2..]);
    }
    svg
}

// AGG-18
#[test]
fn time_selects_rows_and_is_the_time_of_the_graphics() {
    let test_dir = TestDir::new();
    let time = ["-i", "lost_wakeup.data", "--time", "608ms,610ms"];
    let message = test_dir.text(&[&time[..], &["--html", "p.html"]].concat());
    assert!(message.contains("(1 coroutine)"), "{message}");
    let page = fs::read_to_string(test_dir.path("p.html")).unwrap();
    assert!(page.contains("# filtered: 1 of 53 are shown and checked"));
    assert!(page.contains("latest wait or run began in the time of --time"));
    test_dir.text(&[&time[..], &["--timeline", "t.svg"]].concat());
    let timeline = fs::read(test_dir.path("t.svg")).unwrap();
    assert!(graphic(&page, "Timeline") == timeline);
}

#[test]
fn names_of_the_program_stay_text() {
    let page = page(&TestDir::new(), "hostile");
    let (_, data) = page.split_once("id=\"data\">").unwrap();
    let (data, _) = data.split_once("</script>").unwrap();
    let table: serde_json::Value = serde_json::from_str(data).unwrap();
    assert!(table["columns"].as_array().unwrap().len() > 5);
    let scripts = page.matches("<script").count();
    assert_eq!(scripts, 3, "the data and the two scripts of the page");
    let is_control = |c: char| c.is_control() && c != '\n';
    assert!(!page.contains(is_control));
}

#[test]
fn table_is_searched_sorted_and_read_in_a_browser() {
    let Some(browser) = browser() else { return };
    let test_dir = TestDir::new();
    fs::write(test_dir.path("many.data"), traces::many(300, 3, 12)).unwrap();
    let page = page(&test_dir, "many");
    let output = run(
        &test_dir,
        browser,
        &page,
        "say(rows()[0]); say(document.getElementById('count').textContent);
         search('verdict STUCK?'); say(document.getElementById('count').textContent);
         search('STUCK?'); say(rows().length);
         search('/^fd 1[0-9] /'); say(rows().length);
         search('/^$/'); say(document.getElementById('count').textContent);
         search('/(/'); say(document.getElementById('count').textContent);
         search('');
         document.querySelector('.head [data-key=id] button').click(); say(rows()[0].split('|')[0]);
         document.querySelector('.head [data-key=id] button').click(); say(rows()[0].split('|')[0]);
         press('Home'); press('ArrowDown');
         say(document.querySelector('#details h3').textContent);
         say(document.querySelector('#details .life').getAttribute('aria-label') !== null);
         say(document.querySelectorAll('.row').length < 80);",
    );
    let [
        first,
        all,
        none,
        stuck,
        fds,
        empty,
        wrong,
        least,
        largest,
        chosen,
        life,
        few,
    ] = &output[..]
    else {
        panic!("{output:?}")
    };
    assert!(
        first.contains("|STUCK?|session|src/session.rs:17|fd "),
        "{first}"
    );
    assert_eq!(
        [&all[..], none, stuck, empty, wrong],
        [
            "202 of 202",
            "0 of 202",
            "3",
            "0 of 202",
            "not a regular expression"
        ]
    );
    assert!(fds.parse::<u32>().unwrap() > 0, "{fds}");
    assert_eq!([&least[..], largest], ["1", "299"]);
    assert!(chosen.starts_with("id 298 "), "{chosen}");
    assert_eq!([&life[..], few], ["true", "true"]);
}

#[test]
fn wide_names_have_room_in_the_table() {
    let Some(browser) = browser() else { return };
    let test_dir = TestDir::new();
    let output = run(
        &test_dir,
        browser,
        &page(&test_dir, "wide"),
        "say(document.querySelector('.row').style.gridTemplateColumns);",
    );
    // The function takes 14 columns and the place 48, as in the table of sites.
    let template = output.concat();
    assert!(
        template.contains("calc(14ch + 16px) calc(48ch + 16px)"),
        "{template}"
    );
}

#[test]
fn findings_are_there_without_scripts() {
    let Some(browser) = browser() else { return };
    let test_dir = TestDir::new();
    let page = page(&test_dir, "lost_wakeup");
    let policy = "<meta http-equiv=\"Content-Security-Policy\" content=\"script-src 'none'\">";
    let file = test_dir.path("scriptless.html");
    fs::write(&file, page.replace("<head>", &format!("<head>{policy}"))).unwrap();
    let dom = opened(browser, &file);
    assert!(dom.contains("<b>STUCK?</b>") && dom.contains("proof for id"));
    let empty = "aria-label=\"All coroutines\" hidden=\"\"></div>";
    assert!(dom.contains(empty), "only scripts show the table");
}

// Sizes do not depend on the machine, as times do.
#[test]
fn page_of_many_coroutines_stays_small() {
    let test_dir = TestDir::new();
    let bytes = traces::many(4_000, 4_000, 2);
    fs::write(test_dir.path("many.data"), bytes).unwrap();
    let page = page(&test_dir, "many");
    assert!(page.len() < 100_000 + 4_000 * 150, "{}", page.len());
}

#[test]
fn every_trace_with_a_stuck_page_has_an_html_page() {
    let test_dir = TestDir::new();
    for (name, _) in traces::all() {
        let input = format!("{name}.data");
        let run = |option: &[&str]| {
            let args = [&["-i", &input], option].concat();
            test_dir.report(&args).status.code()
        };
        let (text, html) = (run(&["--stuck"]), run(&["--html", "p.html"]));
        assert_eq!(text, html, "{name}");
    }
}
