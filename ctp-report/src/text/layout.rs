//! Fits text into lines.

/// Maximum width of a line, in columns.
pub const WIDTH: usize = 100;

/// Right edge of headlines, in columns.
pub const EDGE: usize = 80;

/// Number of columns of a text.
pub fn columns(text: &str) -> usize {
    text.chars().count()
}

/// Cuts off the end of a text that is wider than `width` columns.
pub fn cut(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(2)).collect();
    kept + ".."
}

/// Cuts out the middle of a text that is wider than `width` columns, so that the end of a path with
/// its line stays.
pub fn cut_middle(text: &str, width: usize) -> String {
    let length = columns(text);
    if length <= width {
        return text.to_owned();
    }
    let name = text.rfind('/').map_or(0, |slash| columns(&text[slash..]));
    let room = width.saturating_sub(2);
    let tail = if name <= room {
        name.max(room * 2 / 3)
    } else {
        room
    };
    let head: String = text.chars().take(room - tail).collect();
    let tail: String = text.chars().skip(length - tail).collect();
    format!("{head}..{tail}")
}

/// Puts a text at the left and a text that ends at [`EDGE`], or further right if there is no room.
pub fn spread(left: &str, right: &str) -> String {
    let gap = EDGE.saturating_sub(columns(left) + columns(right)).max(2);
    format!("{left}{}{right}", " ".repeat(gap))
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

/// Capitalizes the first letter.
pub fn capitalized(words: &str) -> String {
    let mut chars = words.chars();
    let first = chars.next().map(|character| character.to_ascii_uppercase());
    first.into_iter().chain(chars).collect()
}

/// Joins items into lines of limited length. All lines but the first begin with `indent`.
pub fn flow(first: &str, indent: &str, separator: &str, items: &[String]) -> Vec<String> {
    let mut lines = vec![first.to_owned()];
    let mut fresh = true;
    for (i, item) in items.iter().enumerate() {
        let end = if i + 1 < items.len() {
            separator.trim_end()
        } else {
            ""
        };
        let item = cut(item, WIDTH.saturating_sub(columns(indent) + columns(end)));
        let line = lines.last_mut().map(|line| (columns(line), line));
        let Some((used, line)) = line else { continue };
        let gap = if fresh {
            ""
        } else {
            &separator[separator.trim_end().len()..]
        };
        if columns(&item) + columns(end) + columns(gap) + used <= WIDTH {
            line.push_str(gap);
            line.push_str(&item);
            line.push_str(end);
        } else {
            lines.push(format!("{indent}{item}{end}"));
        }
        fresh = false;
    }
    lines
}

/// Maximum number of items that are all listed.
pub const FEW: usize = 6;

/// Lists the first few of many items and the last, as `17, 19, 20 .. 66`.
pub fn few<T: ToString>(items: &[T]) -> String {
    match items {
        [head @ .., last] if FEW < items.len() => {
            format!("{} .. {}", listed(&head[..3]), last.to_string())
        }
        all => listed(all),
    }
}

fn listed<T: ToString>(items: &[T]) -> String {
    let texts: Vec<String> = items.iter().map(ToString::to_string).collect();
    texts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_path_stays() {
        let path = "a/very/long/way/down/to/the/source/file.rs:88";
        assert_eq!(cut_middle(path, 24), "a/very/l..rce/file.rs:88");
        assert_eq!(cut_middle(path, 60), path);
        assert!(
            cut_middle("directory/extraordinarily_long_name.rs:123", 12).ends_with("me.rs:123")
        );
        for width in 2..50 {
            assert!(columns(&cut_middle(path, width)) <= width, "{width}");
        }
    }

    #[test]
    fn rows_break_between_items() {
        let items: Vec<_> = (0..40).map(|i| format!("item{i}")).collect();
        let lines = flow("WAITING: ", "  ", ", ", &items);
        assert!(lines.len() > 1 && lines.iter().all(|line| columns(line) <= WIDTH));
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

    #[test]
    fn many_become_few() {
        assert_eq!(few(&[17, 19, 20, 21, 30, 31, 66]), "17, 19, 20 .. 66");
        assert_eq!(few(&[1, 2, 3, 4, 5, 6]), "1, 2, 3, 4, 5, 6");
    }
}
