//! Reads keys from the terminal.
//!
//! A terminal that is gone has no more bytes. The event queue of crossterm reads such a terminal forever, so that the
//! bytes are read and decoded here.

use std::io::{self, IsTerminal as _};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::keys::Key;

/// The keys that the user has pressed.
#[derive(Debug, Default)]
pub struct KeyInput {
    /// Bytes that are no whole key yet.
    bytes: Vec<u8>,
}

/// How long the rest of a key may take to arrive. The key Escape is a byte with which other keys begin.
const REST_OF_KEY: Duration = Duration::from_millis(50);

/// What waiting for keys has found.
#[derive(Debug, PartialEq, Eq)]
pub enum Typed {
    /// These keys; none if the time was over.
    Keys(Vec<Key>),
    /// The terminal is gone.
    Nothing,
}

impl KeyInput {
    /// Whether standard input is a terminal, from which keys can be read.
    pub fn is_terminal() -> bool {
        io::stdin().is_terminal()
    }

    /// Waits for keys, for this time at most. A signal ends the wait early.
    ///
    /// # Errors
    /// Those of the kernel.
    pub fn wait(&mut self, time: Duration) -> io::Result<Typed> {
        if !is_ready(time)? {
            return Ok(Typed::Keys(Vec::new()));
        }
        let mut keys = Vec::new();
        loop {
            if !self.read()? {
                return Ok(Typed::Nothing);
            }
            keys.extend(decode(&mut self.bytes));
            if self.bytes.is_empty() {
                return Ok(Typed::Keys(keys));
            }
            if !is_ready(REST_OF_KEY)? {
                keys.extend(self.bytes.contains(&ESCAPE).then_some(Key::Escape));
                self.bytes.clear();
                return Ok(Typed::Keys(keys));
            }
        }
    }

    /// Reads what has arrived. Returns whether the terminal is still there.
    fn read(&mut self) -> io::Result<bool> {
        let mut buffer = [0; 256];
        match rustix::io::read(io::stdin(), &mut buffer) {
            Ok(0) | Err(Errno::IO) => Ok(false),
            Ok(count) => {
                self.bytes.extend(&buffer[..count]);
                Ok(true)
            }
            Err(Errno::INTR | Errno::AGAIN) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }
}

/// Waits until standard input has bytes, or has ended.
fn is_ready(time: Duration) -> io::Result<bool> {
    let until = Instant::now() + time;
    let stdin = io::stdin();
    let rest = until.saturating_duration_since(Instant::now());
    let timeout = Timespec::try_from(rest).map_err(io::Error::other)?;
    match poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&timeout)) {
        Ok(count) => Ok(0 < count),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

const ESCAPE: u8 = 0x1b;

/// The sequences of keys other than characters, without the byte Escape.
const SEQUENCES: [(&[u8], Key); 17] = [
    (b"[A", Key::Up),
    (b"[B", Key::Down),
    (b"OA", Key::Up),
    (b"OB", Key::Down),
    (b"[5~", Key::PageUp),
    (b"[6~", Key::PageDown),
    (b"[H", Key::Home),
    (b"[F", Key::End),
    (b"OH", Key::Home),
    (b"OF", Key::End),
    (b"[1~", Key::Home),
    (b"[4~", Key::End),
    (b"[7~", Key::Home),
    (b"[8~", Key::End),
    (b"[Z", Key::Up),
    (b"[1;5A", Key::PageUp),
    (b"[1;5B", Key::PageDown),
];

/// The longest sequence that a terminal sends for a key.
const MAX_SEQUENCE: usize = 16;

/// Takes the whole keys from the beginning of the bytes. Unknown keys are left out.
fn decode(bytes: &mut Vec<u8>) -> Vec<Key> {
    let mut keys = Vec::new();
    while let Some((length, key)) = first_key(bytes) {
        bytes.drain(..length);
        keys.extend(key);
    }
    keys
}

/// The length of the first key, and the key if it is known. `None` if the key is not whole.
fn first_key(bytes: &[u8]) -> Option<(usize, Option<Key>)> {
    match *bytes.first()? {
        ESCAPE => sequence(&bytes[1..]).map(|(length, key)| (1 + length, key)),
        b'\r' | b'\n' => Some((1, Some(Key::Enter))),
        0x7f | 0x08 => Some((1, Some(Key::Backspace))),
        0x03 => Some((1, Some(Key::Interrupt))),
        0x1a => Some((1, Some(Key::Suspend))),
        control if control < b' ' => Some((1, None)),
        _ => character(bytes),
    }
}

/// The sequence after the byte Escape.
fn sequence(rest: &[u8]) -> Option<(usize, Option<Key>)> {
    match *rest.first()? {
        // Two times the key Escape, or this key before another.
        first if first != b'[' && first != b'O' => return Some((0, Some(Key::Escape))),
        _ => {}
    }
    let end = rest
        .iter()
        .skip(1)
        .position(|byte| (0x40..0x7f).contains(byte));
    let length = match end {
        Some(end) => end + 2,
        None if MAX_SEQUENCE < rest.len() => rest.len(),
        None => return None,
    };
    let mut known = SEQUENCES.iter();
    let key = known.find_map(|(bytes, key)| (*bytes == &rest[..length]).then_some(*key));
    Some((length, key))
}

fn character(bytes: &[u8]) -> Option<(usize, Option<Key>)> {
    let length = match bytes[0] {
        0xf0.. => 4,
        0xe0.. => 3,
        0xc0.. => 2,
        _ => 1,
    };
    let character = str::from_utf8(bytes.get(..length)?).ok();
    let character = character.and_then(|text| text.chars().next());
    Some((length, character.map(Key::Char)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The keys of these bytes, and the bytes that are left.
    fn decoded(bytes: &[u8]) -> (Vec<Key>, Vec<u8>) {
        let mut bytes = bytes.to_vec();
        let keys = decode(&mut bytes);
        (keys, bytes)
    }

    #[test]
    fn keys_are_decoded() {
        let cases: [(&[u8], &[Key]); 8] = [
            (b"q", &[Key::Char('q')]),
            (
                "aé接".as_bytes(),
                &[Key::Char('a'), Key::Char('é'), Key::Char('接')],
            ),
            (b"\x1b[A\x1bOB", &[Key::Up, Key::Down]),
            (
                b"\x1b[5~\x1b[6~x",
                &[Key::PageUp, Key::PageDown, Key::Char('x')],
            ),
            (
                b"\r\x7f\x03\x1a",
                &[Key::Enter, Key::Backspace, Key::Interrupt, Key::Suspend],
            ),
            (b"\x1b\x1b[H", &[Key::Escape, Key::Home]),
            (b"\x1b[200;3X\x01k", &[Key::Char('k')]),
            (b"\xff\xc3(j", &[]),
        ];
        for (bytes, keys) in cases {
            let (found, rest) = decoded(bytes);
            if keys.is_empty() {
                assert!(rest.len() <= 4, "{rest:?}");
            } else {
                assert_eq!(
                    (found.as_slice(), rest.as_slice()),
                    (keys, &b""[..]),
                    "{bytes:?}"
                );
            }
        }
    }

    #[test]
    fn parts_of_keys_wait_for_the_rest() {
        for bytes in [&b"\x1b"[..], b"\x1b[", b"\x1b[1;", b"\xe6\x8e"] {
            assert_eq!(decoded(bytes), (Vec::new(), bytes.to_vec()));
        }
        let long = [b"\x1b[", &[b'1'; 100][..]].concat();
        assert!(decoded(&long).1.len() < long.len());
    }
}
