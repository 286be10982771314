//! Formats counts the way both tools print them.

/// Digits in groups of three: `1 204 551`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.char_indices() {
        if 0 < index && (digits.len() - index).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// `1 event`, `1 204 events`.
pub fn counted(number: u64, thing: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {thing}{plural}", grouped(number))
}

/// Like [`counted`], for words with another plural than an added `s`: `1 process is`, `2 processes are`.
pub fn counted_as(number: u64, singular: &str, plural: &str) -> String {
    let words = if number == 1 { singular } else { plural };
    format!("{} {words}", grouped(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_thousands() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_204_551), "1 204 551");
        assert_eq!(counted(1, "event"), "1 event");
        assert_eq!(counted(1_000, "event"), "1 000 events");
        assert_eq!(
            counted_as(2, "process is", "processes are"),
            "2 processes are"
        );
    }
}
