//! Escapes text of the recorded program, which might contain control sequences.

use ctp_trace::escape::{escaped, escaped_bytes};

/// Escapes everything that a terminal might interpret. Cuts off the end of a text that is too long for any
/// page, since the escaped text takes several times as much memory.
pub fn escape(text: &str) -> String {
    let escaped = escaped(beginning(text));
    let shown = beginning(&escaped);
    if beginning(text).len() < text.len() || shown.len() < escaped.len() {
        return format!("{shown}..");
    }
    escaped.into_owned()
}

/// Cuts off the end of a text that is too long for any page.
pub fn bound(text: &mut String) {
    let length = beginning(text).len();
    if length < text.len() {
        text.truncate(length);
        text.shrink_to_fit();
    }
}

/// The text up to [`MAX_BYTES`].
fn beginning(text: &str) -> &str {
    let mut end = text.len().min(MAX_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Maximum length of a text that is shown in full, in bytes.
const MAX_BYTES: usize = 16 << 10;

/// Escapes bytes of a program. Invalid UTF-8 is escaped byte by byte. Cuts off the end like [`escape`].
pub fn escape_bytes(bytes: &[u8]) -> String {
    let start = &bytes[..bytes.len().min(MAX_BYTES)];
    if start.len() < bytes.len() {
        return escape(&escaped_bytes(start)) + "..";
    }
    escape(&escaped_bytes(start))
}

/// Formats a word of a command, in quotes if a shell needs them.
pub fn shell_word(word: &[u8]) -> String {
    let text = escape_bytes(word);
    let is_plain = word
        .iter()
        .all(|c| c.is_ascii_alphanumeric() || b"-_./=:,@%+".contains(c));
    if !word.is_empty() && is_plain {
        text
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_reaches_the_terminal_unescaped() {
        assert_eq!(escape("a\x1b[2Jb\n\u{202e}ü"), "a\\u{1b}[2Jb\\n\\u{202e}ü");
        assert_eq!(escape_bytes(b"a\xffb\x07"), "a\\xffb\\u{7}");
        assert_eq!(escape("\u{ffff}\u{ad}"), "\\u{ffff}\\u{ad}");
    }

    // CT-21
    #[test]
    fn long_text_is_cut() {
        for long in ["a", "\x1b", "ü", "\u{e0001}"] {
            let escaped = escape(&long.repeat(MAX_BYTES + 1));
            assert!(escaped.len() <= MAX_BYTES + 2 && escaped.ends_with(".."));
            let mut bounded = long.repeat(MAX_BYTES + 1);
            bound(&mut bounded);
            assert!(bounded.len() <= MAX_BYTES);
        }
    }

    #[test]
    fn printed_commands_can_be_pasted() {
        assert_eq!(shell_word(b"./app"), "./app");
        assert_eq!(shell_word(b"it's $x"), r"'it'\''s $x'");
    }
}
