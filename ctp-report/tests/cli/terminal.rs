//! Width, links and pager of pages on a terminal.

use std::fs::{self, File};
use std::io::Read as _;
use std::os::fd::{AsFd as _, OwnedFd};
use std::process::{Command, Stdio};

use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcgetwinsize, tcsetwinsize};

use crate::test_dir::TestDir;

/// The two ends of a terminal with this many columns. The program writes to the second.
fn terminal(columns: u16) -> (File, OwnedFd) {
    let near = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&near).unwrap();
    unlockpt(&near).unwrap();
    let name = ptsname(&near, Vec::new()).unwrap();
    let far = open(
        name.as_c_str(),
        OFlags::RDWR | OFlags::NOCTTY,
        Mode::empty(),
    )
    .unwrap();
    let size = Winsize {
        ws_col: columns,
        ..tcgetwinsize(far.as_fd()).unwrap()
    };
    tcsetwinsize(far.as_fd(), size).unwrap();
    (File::from(near), far)
}

/// What the command writes to a terminal with this many columns, and whether it succeeds.
fn shown(command: &mut Command, columns: u16) -> (String, bool) {
    let (mut near, far) = terminal(columns);
    let mut child = command.stdin(Stdio::null()).stdout(far).spawn().unwrap();
    // The command holds the far end of the terminal.
    command.stdout(Stdio::null());
    let mut bytes = Vec::new();
    // The kernel reports an error when the last program closes the far end.
    let _ = near.read_to_end(&mut bytes);
    let text = String::from_utf8(bytes).unwrap().replace('\r', "");
    (text, child.wait().unwrap().success())
}

fn command(test_dir: &TestDir, args: &[&str]) -> Command {
    let mut command = test_dir.command(args);
    command
        .env("TERM", "xterm-256color")
        .env_remove("COLUMNS")
        .env_remove("CTP_PAGER")
        .env("PAGER", "cat");
    command
}

const STUCK: [&str; 3] = ["-i", "lost_wakeup.data", "--stuck"];

/// The number of columns of the widest line, without colours and links.
fn widest(page: &str) -> usize {
    let columns = |line: &str| {
        let text = line.split('\x1b').enumerate().map(|(i, part)| match part {
            _ if i == 0 => part,
            part if part.starts_with(']') => "",
            part if part.starts_with('\\') => &part[1..],
            part => part.split_once('m').map_or("", |(_, text)| text),
        });
        text.map(|text| text.chars().count()).sum::<usize>()
    };
    page.lines().map(columns).max().unwrap_or_default()
}

// AGG-18
#[test]
fn pages_have_the_width_of_the_terminal() {
    let test_dir = TestDir::new();
    for columns in [40, 72, 100, 160] {
        let (page, _) = shown(&mut command(&test_dir, &STUCK), columns);
        let found = widest(&page);
        assert!(
            30 < found && found <= columns.into(),
            "{columns}: {found}\n{page}"
        );
    }
    let (page, _) = shown(command(&test_dir, &STUCK).env("COLUMNS", "50"), 160);
    assert!(widest(&page) <= 50, "{page}");
    let (page, _) = shown(command(&test_dir, &STUCK).env("COLUMNS", "wide"), 60);
    assert!(widest(&page) <= 60, "{page}");
    let (wide, _) = shown(
        &mut command(&test_dir, &[&STUCK[..], &["--wide"]].concat()),
        40,
    );
    assert!(60 < widest(&wide), "{wide}");
}

// CT-20
#[test]
fn binary_exports_are_not_printed_on_a_terminal() {
    let test_dir = TestDir::new();
    for format in ["perfetto", "pprof"] {
        let args = ["-i", "lost_wakeup.data", "--export", format];
        let (printed, is_fine) = shown(&mut command(&test_dir, &args), 100);
        assert!(!is_fine && printed.is_empty(), "{printed}");
        let to_file = [&args[..], &["-o", "export"]].concat();
        let (printed, is_fine) = shown(&mut command(&test_dir, &to_file), 100);
        assert!(is_fine && printed.contains("wrote export"), "{printed}");
    }
}

#[test]
fn places_are_links_only_on_a_terminal() {
    let test_dir = TestDir::new();
    let (page, _) = shown(&mut command(&test_dir, &STUCK), 100);
    let folder = fs::canonicalize(test_dir.path(".")).unwrap();
    let file = format!("{}/src/session.rs", folder.display());
    assert!(page.contains("\x1b]8;;file://"), "{page}");
    assert!(
        page.contains(&format!("{file}\x1b\\src/session.rs:17\x1b]8;;\x1b\\")),
        "{page}"
    );
    let (dumb, _) = shown(command(&test_dir, &STUCK).env("TERM", "dumb"), 100);
    assert!(!dumb.contains("\x1b]8"), "{dumb}");
    let (plain, _) = shown(command(&test_dir, &STUCK).env("NO_COLOR", "1"), 100);
    assert!(!plain.contains('\x1b'), "{plain}");
    let piped = [&STUCK[..], &["--color", "always"]].concat();
    assert!(!test_dir.text(&piped).contains("\x1b]8"));
}

#[test]
fn a_pager_gets_pages_on_a_terminal() {
    let test_dir = TestDir::new();
    let run = |pager: &str, more: &[&str]| {
        let args = [&STUCK[..], more].concat();
        shown(command(&test_dir, &args).env("CTP_PAGER", pager), 100)
    };
    let marked = |text: &str| text.contains("STUCK") && text.starts_with("paged ");
    let (page, is_fine) = run("echo \"paged $LESS\"; cat", &[]);
    assert!(
        is_fine && page.starts_with("paged FRX") && marked(&page),
        "{page}"
    );
    let (page, _) = run("echo paged x; cat", &["--no-pager"]);
    assert!(page.contains("STUCK") && !marked(&page), "{page}");
    let (page, _) = run("echo paged x; cat", &["--fail"]);
    assert!(page.contains("STUCK") && !marked(&page), "{page}");
    for direct in ["/no/such/pager -x", "cat", ""] {
        let (page, is_fine) = run(direct, &[]);
        assert!(is_fine && page.contains("STUCK"), "{direct}: {page}");
    }
    let piped = command(&test_dir, &STUCK)
        .env("CTP_PAGER", "echo paged; cat")
        .output();
    assert!(
        !String::from_utf8(piped.unwrap().stdout)
            .unwrap()
            .contains("paged")
    );
}

#[test]
fn leaving_the_pager_early_is_no_error() {
    let test_dir = TestDir::new();
    let args = ["-i", "lost_wakeup.data", "--dump"];
    let (page, is_fine) = shown(command(&test_dir, &args).env("PAGER", "head -n 1"), 100);
    assert!(is_fine && page.lines().count() == 1, "{page}");
}

#[test]
fn errors_before_a_page_start_no_pager() {
    let test_dir = TestDir::new();
    let mut missing = command(&test_dir, &["-i", "missing.data"]);
    missing
        .env("PAGER", "echo paged; cat")
        .stderr(Stdio::null());
    let (page, is_fine) = shown(&mut missing, 100);
    assert!(!is_fine && page.is_empty(), "{page}");
}
