//! Makes text of unknown origin safe to print: names, paths and arguments that come from programs.
//!
//! Terminals obey control characters, and some other characters reorder or hide the text around them. The
//! recorder and the reporter print these as escapes such as `\u{1b}` and `\n`. A backslash stays as it
//! is: escaped text is for reading, and need not be decoded.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Escapes each character for which [`is_unsafe`] is true, including line ends and tabs: the result is
/// part of a single line.
pub fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    push_escaped(&mut safe, text);
    Cow::Owned(safe)
}

/// Like [`escaped`], for text that may not be UTF-8: other bytes become `\xff`.
pub fn escaped_bytes(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return escaped(text);
    }
    let mut safe = String::with_capacity(bytes.len() + 16);
    for chunk in bytes.utf8_chunks() {
        push_escaped(&mut safe, chunk.valid());
        for byte in chunk.invalid() {
            write!(safe, "\\x{byte:02x}").expect("a string takes everything");
        }
    }
    Cow::Owned(safe)
}

/// Like [`escaped`], for several lines: line ends are kept.
pub fn escaped_lines(text: &str) -> Cow<'_, str> {
    if !text.contains(|c| c != '\n' && is_unsafe(c)) {
        return Cow::Borrowed(text);
    }
    let lines: Vec<Cow<'_, str>> = text.split('\n').map(escaped).collect();
    Cow::Owned(lines.join("\n"))
}

/// Whether a terminal may obey this character, or a reader may not notice it.
///
/// These are the control characters (C0, DEL and C1) and the characters that Unicode calls default
/// ignorable: directional marks and overrides, joiners and zero-width spaces, fillers, tags. Line and
/// paragraph separators are included, and so are the two noncharacters that XML rejects. Variation
/// selectors are not: they choose between two glyphs of the preceding character.
pub fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}'
                | '\u{34f}'
                | '\u{61c}'
                | '\u{115f}'..='\u{1160}'
                | '\u{17b4}'..='\u{17b5}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{3164}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff0}'..='\u{fffb}'
                | '\u{fffe}'..='\u{ffff}'
                | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{e00ff}'
        )
}

fn push_escaped(safe: &mut String, text: &str) {
    for c in text.chars() {
        if is_unsafe(c) {
            safe.extend(c.escape_default());
        } else {
            safe.push(c);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn safe_text_is_borrowed() {
        for text in [
            "",
            "caf\u{e9} \\n 'x'",
            "\u{6587}\u{5b57}",
            "\u{2764}\u{fe0f}",
        ] {
            assert!(matches!(escaped(text), Cow::Borrowed(same) if same == text));
            assert!(matches!(escaped_bytes(text.as_bytes()), Cow::Borrowed(same) if same == text));
        }
        assert!(matches!(escaped_lines("a\nb\n"), Cow::Borrowed("a\nb\n")));
    }

    #[test]
    fn commands_to_a_terminal_become_text() {
        assert_eq!(escaped("a\x1b[2Jb\n\t\r"), r"a\u{1b}[2Jb\n\t\r");
        assert_eq!(escaped("\u{9b}31m\u{7f}\0"), r"\u{9b}31m\u{7f}\u{0}");
        assert_eq!(escaped_bytes(b"a\xffb\x07\xc2\x9b"), r"a\xffb\u{7}\u{9b}");
        assert_eq!(escaped_lines("a\x1b\nb\r\n"), "a\\u{1b}\nb\\r\n");
    }

    #[test]
    fn what_turns_or_hides_text_is_visible() {
        let ranges = [
            '\u{80}'..='\u{9f}',
            '\u{200b}'..='\u{200f}',
            '\u{2028}'..='\u{202e}',
            '\u{2066}'..='\u{2069}',
        ];
        for c in ranges.into_iter().flatten() {
            let escape = c.escape_default().to_string();
            assert_eq!(escaped(&format!("a{c}b")), format!("a{escape}b"));
        }
    }
}
