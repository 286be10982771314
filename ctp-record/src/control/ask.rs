//! The user's side of the control socket: finds the recorder and asks it.

use std::fs;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Verb;
use super::status::{self, Facts};
use super::wire::{self, Errand, Question};
use crate::error::Error;
use crate::rendezvous::CONTROL;

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
pub fn ask(ask: &Ask) -> Result<String, Error> {
    let pid = ask.pid;
    let socket = socket_of(pid)?;
    let stream = UnixStream::connect(&socket).map_err(|error| match error.kind() {
        ErrorKind::PermissionDenied => Error::NotPermitted(pid),
        _ => Error::Ended(pid),
    })?;
    let question = Question {
        pid,
        errand: ask.errand.clone(),
    };
    let text = converse(stream, &question).map_err(|error| Error::Unanswered(pid, error))?;
    match wire::answer_from_text(&text) {
        Some(Ok(facts)) => Ok(printed(ask, &facts)),
        Some(Err(sentence)) => Err(Error::Refused(sentence)),
        None => Err(Error::Ended(pid)),
    }
}

fn printed(ask: &Ask, facts: &Facts) -> String {
    match (ask.json, &ask.errand) {
        (true, _) => status::to_json(facts),
        (false, Errand::Verb(Verb::Status)) => status::to_text(facts),
        (false, Errand::Verb(_)) => status::in_a_sentence(facts),
        (false, Errand::Snapshot(_)) => status::of_a_snapshot(facts),
    }
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

/// A recorder has a socket of its own; a program that is recorded was told of the one beside it.
fn socket_of(pid: u32) -> Result<PathBuf, Error> {
    if let Some(socket) = bound_by(pid) {
        return Ok(socket);
    }
    match fs::read(format!("/proc/{pid}/environ")) {
        Ok(environment) => named_in(&environment).ok_or(Error::NoRecording(pid)),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Err(Error::NotPermitted(pid)),
        Err(_) => Err(Error::NoProcess(pid)),
    }
}

/// The control socket in the directory of the recorder with this id.
fn bound_by(pid: u32) -> Option<PathBuf> {
    let directory = format!("ctp-{pid}-");
    let list = fs::read("/proc/net/unix").ok()?;
    let paths = list.split(|&byte| byte == b'\n').filter_map(|line| {
        let start = line.iter().position(|&byte| byte == b'/')?;
        Some(Path::new(std::ffi::OsStr::from_bytes(&line[start..])))
    });
    let is_it = |path: &&Path| {
        let parent = path.parent().and_then(Path::file_name);
        let name = parent.is_some_and(|it| it.as_bytes().starts_with(directory.as_bytes()));
        name && path.file_name().is_some_and(|name| name == CONTROL)
    };
    paths.filter(is_it).map(Path::to_owned).next()
}

fn named_in(environment: &[u8]) -> Option<PathBuf> {
    let mut entries = environment.split(|&byte| byte == 0);
    let socket = entries.find_map(|entry| entry.strip_prefix(b"CTP_SOCK_PATH="))?;
    let socket = Path::new(std::ffi::OsStr::from_bytes(socket));
    Some(socket.with_file_name(CONTROL))
}
