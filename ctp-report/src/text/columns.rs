//! Counts the columns that text takes on a terminal: most characters take one, those of East Asian scripts
//! and emoji two, and combining marks none.
//!
//! Widths are added up character by character, so that the width of a text is the sum of its parts.
//! Terminals do not agree on characters that are joined, such as emoji of families. For these, the sum is
//! an upper limit.

use unicode_width::UnicodeWidthChar as _;

/// Number of columns of a text.
pub fn columns(text: &str) -> usize {
    if text.is_ascii() {
        return text.len();
    }
    text.chars().map(of_char).sum()
}

/// The longest beginning of a text that has at most `width` columns. Marks stay with their character.
pub fn head(text: &str, width: usize) -> &str {
    let mut used = 0;
    for (at, character) in text.char_indices() {
        used += of_char(character);
        if width < used {
            return &text[..at];
        }
    }
    text
}

/// The longest end of a text that has at most `width` columns. It does not begin with a mark.
pub fn tail(text: &str, width: usize) -> &str {
    let (mut used, mut start) = (0, text.len());
    for (at, character) in text.char_indices().rev() {
        used += of_char(character);
        if width < used {
            break;
        }
        if 0 < of_char(character) {
            start = at;
        }
    }
    &text[start..]
}

/// Control characters are escaped before, and count as one column if they are not.
fn of_char(character: char) -> usize {
    character.width().unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An `e` with an accent, as two characters.
    const ACCENTED: &str = "e\u{301}";

    #[test]
    fn wide_characters_take_two_columns_and_marks_none() {
        assert_eq!(columns("read"), 4);
        assert_eq!(columns("äöü"), 3);
        assert_eq!(columns("接続を読む"), 10);
        assert_eq!(columns(ACCENTED), 1);
        assert_eq!(columns("\u{1f600}"), 2);
    }

    #[test]
    fn wide_characters_are_not_halved() {
        assert_eq!(head("接続", 3), "接");
        assert_eq!(tail("接続", 3), "続");
        assert_eq!(head("接続", 1), "");
        assert_eq!(tail("接続", 1), "");
        assert_eq!(head("接続", 4), "接続");
    }

    #[test]
    fn marks_stay_with_their_character() {
        let text = ACCENTED.repeat(3);
        assert_eq!(head(&text, 2), ACCENTED.repeat(2));
        assert_eq!(tail(&text, 2), ACCENTED.repeat(2));
        assert_eq!(tail(&text, 0), "");
    }
}
