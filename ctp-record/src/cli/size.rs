//! Sizes as users type them.

use std::fmt;

/// Why a text is not a valid size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoSize {
    /// Not a number with an optional K, M or G.
    Syntax,
    /// Less than the smallest lane, but not 0.
    TooSmall,
    /// Less than the smallest backlog.
    NoRoom,
    /// More than this number of MiB.
    TooLarge(u64),
}

impl fmt::Display for NoSize {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoSize::Syntax => write!(out, "not a size; try 4M or 512K"),
            NoSize::TooSmall => write!(out, "less than {}; 0 is for none", typed(MIN_BUFFER)),
            NoSize::NoRoom => write!(out, "less than {}", typed(MIN_BACKLOG)),
            NoSize::TooLarge(mib) => write!(out, "more than {mib}M"),
        }
    }
}

impl std::error::Error for NoSize {}

/// The smallest buffer of a thread other than 0, in bytes: a smaller buffer would be full before it
/// is read.
const MIN_BUFFER: u64 = 1 << 10;
/// The largest buffer of a thread, in MiB.
const MAX_BUFFER: u64 = 256;
/// The smallest useful backlog, in bytes.
const MIN_BACKLOG: u64 = 1 << 10;
/// The largest backlog, in MiB: 1 TiB.
const MAX_BACKLOG: u64 = 1 << 20;

/// Parses the bytes of a thread's buffer: a number, with K, M or G for powers of 1024.
///
/// # Errors
/// Any other text, or a size out of range.
pub fn buffer(text: &str) -> Result<u64, NoSize> {
    match up_to(MAX_BUFFER, text)? {
        1..MIN_BUFFER => Err(NoSize::TooSmall),
        bytes => Ok(bytes),
    }
}

/// Parses the bytes of the backlog in the same way.
///
/// # Errors
/// Any other text, or a size out of range.
pub fn backlog(text: &str) -> Result<u64, NoSize> {
    match up_to(MAX_BACKLOG, text)? {
        0..MIN_BACKLOG => Err(NoSize::NoRoom),
        bytes => Ok(bytes),
    }
}

/// The size as a user would type it.
pub fn typed(bytes: u64) -> String {
    match bytes.trailing_zeros() {
        20.. => format!("{}M", bytes >> 20),
        10.. => format!("{}K", bytes >> 10),
        _ => bytes.to_string(),
    }
}

fn up_to(most_mib: u64, text: &str) -> Result<u64, NoSize> {
    let digits = text.trim_end_matches(['K', 'M', 'G', 'k', 'm', 'g']);
    let shift = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        _ => return Err(NoSize::Syntax),
    };
    let number: u64 = digits.parse().map_err(|_| NoSize::Syntax)?;
    let bytes = number.checked_mul(1 << shift);
    bytes
        .filter(|bytes| *bytes <= most_mib << 20)
        .ok_or(NoSize::TooLarge(most_mib))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_numbers_with_a_power_of_1024() {
        assert_eq!(buffer("0"), Ok(0));
        assert_eq!(buffer("4M"), Ok(4 << 20));
        assert_eq!(buffer("512k"), Ok(512 << 10));
        assert_eq!(buffer("256M"), Ok(256 << 20));
        assert_eq!(buffer("1G"), Err(NoSize::TooLarge(256)));
        assert_eq!(buffer("1K"), Ok(1 << 10));
        assert_eq!(buffer("1023"), Err(NoSize::TooSmall));
        assert_eq!(backlog("0"), Err(NoSize::NoRoom));
        assert_eq!(backlog("1023"), Err(NoSize::NoRoom));
        assert_eq!(backlog("1K"), Ok(1 << 10));
        assert_eq!(backlog("1G"), Ok(1 << 30));
        for text in ["", "M", "4MM", "-1", "4 M", "4T", "0x10"] {
            assert_eq!(buffer(text), Err(NoSize::Syntax), "{text}");
        }
        for bytes in [0, 5000, 64 << 10, 1 << 20, 3 << 20, 1 << 28] {
            assert_eq!(buffer(&typed(bytes)), Ok(bytes));
        }
    }
}
