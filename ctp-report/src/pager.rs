//! Shows long pages in a pager, as `git` does.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::SIGINT;
use signal_hook::flag;

/// The variables that name the pager, the first with precedence.
const VARIABLES: [&str; 2] = ["CTP_PAGER", "PAGER"];

/// The pager if no variable names one.
const USUAL: &str = "less";

/// Options of `less`: leave at once if everything fits on the screen, show colours and links, and leave
/// the page on the screen.
const LESS: &str = "FRX";

/// Standard output through a pager. The pager starts with the first byte, so that errors found before are
/// printed as usual. If the pager cannot start, the output is printed directly. Dropping it waits for the user.
#[derive(Debug)]
pub struct Pager {
    state: State,
}

#[derive(Debug)]
enum State {
    /// Nothing has been written yet.
    Waiting(OsString),
    Paging(Box<Child>, ChildStdin),
    Direct,
}

impl Pager {
    /// Prepares the pager that the user chose. `None` if the user chose `cat` or an empty name.
    pub fn prepare() -> Option<Self> {
        let mut named = VARIABLES.iter().filter_map(env::var_os);
        let command = named.next().unwrap_or_else(|| USUAL.into());
        let is_pager = !command.is_empty() && command != "cat";
        is_pager.then_some(Pager {
            state: State::Waiting(command),
        })
    }

    fn start(&mut self) {
        if let State::Waiting(command) = &self.state {
            self.state = match start(command) {
                Some((child, stdin)) => State::Paging(Box::new(child), stdin),
                None => State::Direct,
            };
        }
    }
}

impl Drop for Pager {
    /// Waits until the user leaves the pager.
    fn drop(&mut self) {
        if let State::Paging(mut child, stdin) = std::mem::replace(&mut self.state, State::Direct) {
            drop(stdin);
            // The pager is a child of this program, so only its status is unknown after an error.
            let _ = child.wait();
        }
    }
}

impl Write for Pager {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.start();
        match &mut self.state {
            State::Paging(_, stdin) => stdin.write(bytes),
            State::Waiting(_) | State::Direct => io::stdout().write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.state {
            State::Paging(_, stdin) => stdin.flush(),
            State::Waiting(_) | State::Direct => io::stdout().flush(),
        }
    }
}

/// Starts the pager. The user leaves a pager by its own keys, so this program no longer ends by Ctrl+C.
fn start(command: &OsStr) -> Option<(Child, ChildStdin)> {
    let mut command = parsed(command);
    if env::var_os("LESS").is_none() {
        command.env("LESS", LESS);
    }
    let mut child = command.stdin(Stdio::piped()).spawn().ok()?;
    let stdin = child.stdin.take()?;
    // Without a handler, only Ctrl+C in a pager is less comfortable.
    let _ = flag::register(SIGINT, Arc::new(AtomicBool::new(false)));
    Some((child, stdin))
}

/// The command for a pager. A shell is needed only if the text has characters with a meaning for shells; without
/// a shell, a missing program is found at once.
fn parsed(text: &OsStr) -> Command {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+ ".contains(c);
    match text.to_str() {
        Some(plain) if plain.chars().all(is_plain) => {
            let mut words = plain.split_whitespace();
            let mut command = Command::new(words.next().unwrap_or(USUAL));
            command.args(words);
            command
        }
        _ => {
            let mut shell = Command::new("sh");
            shell.arg("-c").arg(text);
            shell
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shells_run_only_what_needs_a_shell() {
        let words = |text: &str| {
            let command = parsed(text.as_ref());
            let words = std::iter::once(command.get_program()).chain(command.get_args());
            words
                .map(|word| word.to_string_lossy().into_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(words("less -FRX"), ["less", "-FRX"]);
        assert_eq!(words("  "), ["less"]);
        assert_eq!(words("a | b"), ["sh", "-c", "a | b"]);
    }
}
