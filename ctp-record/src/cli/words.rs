//! Formats numbers and names for the user.

use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use ctp_trace::escape::{escaped_bytes, is_unsafe};

pub(crate) use ctp_trace::quantity::{counted, grouped};

/// A time span in ms or s.
pub(crate) fn seconds(ns: u64) -> String {
    match ns {
        0..1_000_000_000 => format!("{:.0} ms", ns as f64 / 1e6),
        _ => format!("{:.1} s", ns as f64 / 1e9),
    }
}

/// A size in powers of 1000.
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        0..10_000 => format!("{bytes} B"),
        10_000..1_000_000 => format!("{:.0} kB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}

/// A file's name, escaped for printing.
pub(crate) fn shown(path: &Path) -> String {
    escaped_bytes(path.as_os_str().as_bytes()).into_owned()
}

/// A file's name, quoted for a shell if necessary.
pub(crate) fn shell_word(path: &Path) -> String {
    let Some(name) = path.to_str().filter(|name| !name.contains(is_unsafe)) else {
        return in_escapes(path.as_os_str().as_bytes());
    };
    if name
        .chars()
        .all(|c| c.is_alphanumeric() || "-_./=:,@%+".contains(c))
    {
        name.to_owned()
    } else {
        format!("'{}'", name.replace('\'', r"'\''"))
    }
}

/// An escaped word that shells decode and terminals print as text: `$'a\033b'`.
fn in_escapes(bytes: &[u8]) -> String {
    let mut word = "$'".to_owned();
    for byte in bytes {
        match byte {
            b'\'' | b'\\' => word.extend(['\\', char::from(*byte)]),
            b' '..=b'~' => word.push(char::from(*byte)),
            _ => write!(word, "\\{byte:03o}").expect("writing to a string"),
        }
    }
    word + "'"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_command_can_be_pasted() {
        assert_eq!(shell_word(Path::new("./a-1.data")), "./a-1.data");
        assert_eq!(shell_word(Path::new("it's mine")), r"'it'\''s mine'");
        assert_eq!(
            shell_word(Path::new("a\x1b\\'\n\u{202e}")),
            r"$'a\033\\\'\012\342\200\256'"
        );
    }
}
