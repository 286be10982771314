//! Breaks text into lines.

use std::iter;

use super::columns::{columns, head};

/// Breaks a line into lines of at most `width` columns. Later lines are indented further than the first.
/// Takes linear time, because names of the program may be long.
pub fn wrap(line: &str, width: usize) -> Vec<String> {
    let indent = hanging_indent(line, width);
    let (mut lines, mut rest) = (Vec::new(), line);
    let (mut prefix, mut room) = ("", width);
    while let Some(at) = break_at(rest, room) {
        lines.push(format!("{prefix}{}", rest[..at].trim_end()));
        rest = rest[at..].trim_start();
        prefix = &indent;
        room = width.saturating_sub(columns(&indent)).max(1);
    }
    if lines.is_empty() || !rest.is_empty() {
        lines.push(format!("{prefix}{rest}"));
    }
    lines
}

/// The indent of the lines after the first.
fn hanging_indent(line: &str, width: usize) -> String {
    if line.starts_with('#') {
        return "#   ".to_owned();
    }
    let spaces = line.len() - line.trim_start_matches(' ').len();
    " ".repeat((spaces + 4).min(width / 3))
}

/// The byte at which to break: after the last space, otherwise before the last part of a path or name,
/// otherwise after the last character that fits. `None` if everything fits.
fn break_at(line: &str, room: usize) -> Option<usize> {
    let fitting = head(line, room).len();
    let next = line[fitting..].chars().next()?;
    // A line has at least one character, also if it is too wide.
    let most = if fitting == 0 {
        next.len_utf8()
    } else {
        fitting
    };
    let head = &line[..most];
    // The mark of a header line is a part of its indent.
    let is_inside = |at: &usize| !line[..*at].trim_matches([' ', '#']).is_empty();
    if next == ' ' && is_inside(&most) {
        return Some(most);
    }
    let space = head.rfind(' ').filter(is_inside);
    let part = || head.rfind('/').max(head.rfind("::")).filter(is_inside);
    space.or_else(part).or(Some(most))
}

/// Splits a sentence into words between which a line may break. A number with its unit or digit groups is
/// a single word.
pub fn words(sentence: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in sentence.split(' ') {
        let digits = word.trim_end_matches([',', ';', '.']);
        let goes_on = digits.len() == 3 && digits.bytes().all(|byte| byte.is_ascii_digit());
        match words.last_mut() {
            Some(last) if goes_on && last.ends_with(|c: char| c.is_ascii_digit()) => {
                last.push(' ');
                last.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
    }
    words
}

/// A list that is broken into lines between its items.
#[derive(Clone, Copy, Debug)]
pub struct List<'l> {
    /// The beginning of the first line.
    pub first: &'l str,
    /// The beginning of all other lines.
    pub indent: &'l str,
    /// The text between two items. Its spaces are left out at the end of a line.
    pub separator: &'l str,
    /// The items.
    pub items: &'l [String],
}

impl List<'_> {
    /// The lines, of at most `width` columns unless an item is wider.
    pub fn lines(&self, width: usize) -> Vec<String> {
        let indent: String = self.indent.chars().take(width / 3).collect();
        let end = self.separator.trim_end();
        let ends = iter::repeat_n(end, self.items.len().saturating_sub(1)).chain([""]);
        let mut lines = Vec::new();
        let mut line = self.first.to_owned();
        for (at, (item, end)) in self.items.iter().zip(ends).enumerate() {
            let gap = if at == 0 {
                ""
            } else {
                &self.separator[self.separator.trim_end().len()..]
            };
            let length = columns(&line) + columns(gap) + columns(item) + columns(end);
            if 0 < at && width < length {
                lines.push(std::mem::replace(&mut line, indent.clone()));
                line += &[item, end].concat();
            } else {
                line += &[gap, item, end].concat();
            }
        }
        lines.push(line);
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_spaces_then_in_paths() {
        assert_eq!(wrap("ab cd ef", 20), ["ab cd ef"]);
        let lines = wrap(
            "  waits for a lock at examples/src/bin/lost_wakeup.rs:88",
            24,
        );
        assert_eq!(
            lines,
            [
                "  waits for a lock at",
                "      examples/src/bin",
                "      /lost_wakeup.rs:88"
            ]
        );
        assert_eq!(wrap("# note: a b c d", 12), ["# note: a b", "#   c d"]);
        assert_eq!(
            wrap("#   /work/target/debug", 14),
            ["#   /work", "#   /target", "#   /debug"]
        );
    }

    #[test]
    fn nothing_is_lost_at_any_width() {
        let line = "   id 7  <a::Bcd as core::task::Wake>::wake   ü/very/long/path/äöü.rs:88 xxxxxxxxxxxxxxxxxxxxxxxx";
        let bare = |text: &str| text.replace([' ', '\n'], "");
        for width in 8..120 {
            let lines = wrap(line, width);
            assert!(lines.iter().all(|line| columns(line) <= width), "{lines:?}");
            assert_eq!(bare(&lines.concat()), bare(line), "{width}");
        }
    }

    #[test]
    fn wide_characters_fill_lines() {
        assert_eq!(
            wrap("接続を読む関数の名前", 11),
            ["接続を読む", "   関数の名", "   前"]
        );
        let marked = "e\u{301}".repeat(20);
        assert_eq!(wrap(&marked, 20), [marked]);
        assert_eq!(wrap("接続", 1).concat().replace(' ', ""), "接続");
    }

    #[test]
    fn long_names_are_wrapped() {
        let long = "x\u{1f600}:".repeat(1 << 18);
        let lines = wrap(&long, 20);
        assert_eq!(lines.concat().replace(' ', ""), long);
        assert_eq!(wrap("", 20), [""]);
    }

    #[test]
    fn lists_break_between_items() {
        let items: Vec<_> = (0..40).map(|i| format!("item{i}")).collect();
        let list = List {
            first: "WAITING: ",
            indent: "  ",
            separator: ", ",
            items: &items,
        };
        let lines = list.lines(100);
        assert!(lines.len() > 1 && lines.iter().all(|line| columns(line) <= 100));
        assert!(lines[0].starts_with("WAITING: item0, item1") && lines[0].ends_with(','));
        assert!(lines[1].starts_with("  item"));
    }

    #[test]
    fn numbers_do_not_break() {
        assert_eq!(
            words("of 1 204 551, and 99 % 5"),
            ["of", "1 204 551,", "and", "99", "%", "5"]
        );
    }
}
