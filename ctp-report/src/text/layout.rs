//! Shortens text.

use super::columns::{columns, head, tail};

/// Cuts off the end of a text that is wider than `width` columns.
pub fn cut(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.to_owned();
    }
    format!("{}..", head(text, width.saturating_sub(2)))
}

/// Cuts out the middle of a text that is wider than `width` columns, so that the end of a path with
/// its line stays.
pub fn cut_middle(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.to_owned();
    }
    let name = text.rfind('/').map_or(0, |slash| columns(&text[slash..]));
    let room = width.saturating_sub(2);
    let end = if name <= room {
        name.max(room * 2 / 3)
    } else {
        room
    };
    format!("{}..{}", head(text, room - end), tail(text, end))
}

/// Puts a text at the left and a text that ends at column `edge`, or further right if there is no room.
pub fn spread(left: &str, right: &str, edge: usize) -> String {
    let gap = edge.saturating_sub(columns(left) + columns(right)).max(2);
    format!("{left}{}{right}", " ".repeat(gap))
}

/// Capitalizes the first letter.
pub fn capitalized(words: &str) -> String {
    let mut chars = words.chars();
    let first = chars.next().map(|character| character.to_ascii_uppercase());
    first.into_iter().chain(chars).collect()
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
    fn wide_text_is_cut_to_the_width() {
        assert_eq!(cut("接続を読む", 7), "接続..");
        assert_eq!(cut("接続を読む", 10), "接続を読む");
        let path = "源/とても/長い/道/接続.rs:88";
        assert_eq!(cut_middle(path, 15), "源../接続.rs:88");
        for text in [path, &"e\u{301}".repeat(60)] {
            for width in 2..60 {
                assert!(columns(&cut(text, width)) <= width, "{width}");
                assert!(columns(&cut_middle(text, width)) <= width, "{width}");
            }
        }
    }

    #[test]
    fn many_become_few() {
        assert_eq!(few(&[17, 19, 20, 21, 30, 31, 66]), "17, 19, 20 .. 66");
        assert_eq!(few(&[1, 2, 3, 4, 5, 6]), "1, 2, 3, 4, 5, 6");
    }
}
