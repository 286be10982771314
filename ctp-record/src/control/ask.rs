//! The user's side of the control socket: finds the recorder and asks it.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

use super::Verb;
use super::status::{self, Facts};
use super::wire::{self, Errand, Question};
use crate::error::ControlError;
use crate::rendezvous::{CONTROL, pid_of};

/// What the user wants of a recording.
#[derive(Clone, Debug)]
pub struct Ask {
    /// The recorder, or a process that it records.
    pub pid: u32,
    /// What to do.
    pub errand: Errand,
    /// Print it for programs.
    pub json: bool,
}

/// A recorder answers within a fraction of this, unless it is stopped itself.
const PATIENCE: Duration = Duration::from_secs(10);
/// A snapshot is answered once it is written.
const LONG_PATIENCE: Duration = Duration::from_secs(600);

/// Asks, and gives what is to be printed.
///
/// # Errors
/// There is no such recording, it is another user's, it ended meanwhile, or it refuses.
pub fn ask(ask: &Ask) -> Result<String, ControlError> {
    let pid = ask.pid;
    let stream = match to_recorder(pid) {
        Some(stream) => stream,
        None => to_recorder_of(pid)?,
    };
    let question = Question {
        pid,
        errand: ask.errand.clone(),
    };
    let text = converse(stream, &question).map_err(|error| ControlError::Unanswered(pid, error))?;
    match wire::answer_from_text(&text) {
        Some(Ok(facts)) => Ok(printed(ask, &facts)),
        Some(Err(sentence)) => Err(ControlError::Refused(printable(&sentence))),
        None => Err(ControlError::Ended(pid)),
    }
}

fn printed(ask: &Ask, facts: &Facts) -> String {
    match (ask.json, &ask.errand) {
        (true, _) => status::to_json(facts),
        (false, Errand::Verb(Verb::Status)) => printable(&status::to_text(facts)),
        (false, Errand::Verb(_)) => printable(&status::in_a_sentence(facts)),
        (false, Errand::Snapshot(_)) => printable(&status::of_a_snapshot(facts)),
    }
}

/// What a program of somebody else's named may have answered: a terminal takes none of it for a command.
fn printable(text: &str) -> String {
    let escape = |text: String, c: char| match c.is_control() && c != '\n' {
        true => text + &c.escape_default().to_string(),
        false => text + c.encode_utf8(&mut [0; 4]),
    };
    text.chars().fold(String::new(), escape)
}

fn converse(mut stream: UnixStream, question: &Question) -> io::Result<String> {
    let patience = match question.errand {
        Errand::Verb(_) => PATIENCE,
        Errand::Snapshot(_) => LONG_PATIENCE,
    };
    stream.set_read_timeout(Some(patience))?;
    stream.write_all(question.to_text().as_bytes())?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    Ok(text)
}

/// The recorder with this id, by the socket in its directory. Others can bind paths of that form, but
/// are somebody else.
fn to_recorder(pid: u32) -> Option<UnixStream> {
    let list = fs::read("/proc/net/unix").ok()?;
    let mut paths = list
        .split(|&byte| byte == b'\n')
        .filter_map(|line| path_of(line).filter(|path| is_for_control(path, pid)));
    paths.find_map(|path| {
        let stream = dial(path).ok()?;
        (pid_of(&stream) == Some(pid)).then_some(stream)
    })
}

/// Without waiting: one who listens and lets nobody in is no recorder.
fn dial(path: &Path) -> io::Result<UnixStream> {
    let address = SocketAddrUnix::new(path)?;
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    connect(&socket, &address)?;
    let stream = UnixStream::from(socket);
    stream.set_nonblocking(false)?;
    Ok(stream)
}

/// The path at the end of a line of the kernel's list.
fn path_of(line: &[u8]) -> Option<&Path> {
    let start = line.iter().position(|&byte| byte == b'/')?;
    Some(Path::new(OsStr::from_bytes(&line[start..])))
}

/// Is it called like the control socket of the recorder with this id?
fn is_for_control(path: &Path, pid: u32) -> bool {
    let directory = format!("ctp-{pid}-");
    let parent = path.parent().and_then(Path::file_name);
    let is_its = parent.is_some_and(|it| it.as_bytes().starts_with(directory.as_bytes()));
    is_its && path.file_name().is_some_and(|name| name == CONTROL)
}

/// The recorder of the program with this id, which was told of the socket beside that for control.
fn to_recorder_of(pid: u32) -> Result<UnixStream, ControlError> {
    let environment =
        fs::read(format!("/proc/{pid}/environ")).map_err(|error| match error.kind() {
            ErrorKind::PermissionDenied => ControlError::NotPermitted(pid),
            _ => ControlError::NoProcess(pid),
        })?;
    let socket = named_in(&environment).ok_or(ControlError::NoRecording(pid))?;
    dial(&socket).map_err(|error| match error.kind() {
        ErrorKind::PermissionDenied => ControlError::NotPermitted(pid),
        _ => ControlError::Ended(pid),
    })
}

fn named_in(environment: &[u8]) -> Option<PathBuf> {
    let mut entries = environment.split(|&byte| byte == 0);
    let socket = entries.find_map(|entry| entry.strip_prefix(b"CTP_SOCK_PATH="))?;
    let socket = Path::new(OsStr::from_bytes(socket));
    Some(socket.with_file_name(CONTROL))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_a_recorders_form_is_known_among_others() {
        let line = b"ffff 00000002 00000000 00010000 0001 01 77 /tmp/ctp-71-0/control";
        let path = path_of(line).expect("there is one");
        assert!(is_for_control(path, 71));
        assert!(!is_for_control(path, 7));
        assert!(!is_for_control(Path::new("/tmp/ctp-71-0/sock"), 71));
        assert_eq!(path_of(b"ffff 00000002 00000000 00010000 0001 01 77"), None);
    }

    #[test]
    fn an_answer_cannot_write_to_the_terminal_but_text() {
        assert_eq!(printable("caf\u{e9}\u{1b}]0;x\n"), "caf\u{e9}\\u{1b}]0;x\n");
    }
}
