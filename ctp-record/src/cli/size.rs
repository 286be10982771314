//! Sizes as users type them.

use std::fmt;

/// Why a text is no size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoSize {
    /// Not a number with an optional K, M or G.
    Syntax,
    /// Less than a lane should have, but not 0.
    TooSmall,
    /// Less than a backlog should have.
    NoRoom,
    /// More than so many MiB.
    TooLarge(u64),
}

impl fmt::Display for NoSize {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoSize::Syntax => write!(out, "not a size; try 4M or 512K"),
            NoSize::TooSmall => write!(out, "less than {}; 0 is for none", typed(LEAST_BUFFER)),
            NoSize::NoRoom => write!(out, "less than {}", typed(LEAST_BACKLOG)),
            NoSize::TooLarge(mib) => write!(out, "more than {mib}M"),
        }
    }
}

impl std::error::Error for NoSize {}

/// The smallest room for one thread, besides none: so few events are over before anybody looks.
const LEAST_BUFFER: u64 = 1 << 10;
/// The largest room for one thread, in MiB.
const MOST_BUFFER: u64 = 256;
/// The smallest backlog: what is less holds nothing that could wait.
const LEAST_BACKLOG: u64 = 1 << 10;
/// The largest backlog, in MiB: 1 TiB.
const MOST_BACKLOG: u64 = 1 << 20;

/// Bytes of a thread's room: a number, with K, M or G for powers of 1024.
///
/// # Errors
/// Something else, or more than a lane can have, or less than makes sense.
pub fn buffer(text: &str) -> Result<u64, NoSize> {
    match up_to(MOST_BUFFER, text)? {
        1..LEAST_BUFFER => Err(NoSize::TooSmall),
        bytes => Ok(bytes),
    }
}

/// Bytes of the recorder's backlog, in the same way.
///
/// # Errors
/// Something else, or more than any machine has, or less than makes sense.
pub fn backlog(text: &str) -> Result<u64, NoSize> {
    match up_to(MOST_BACKLOG, text)? {
        0..LEAST_BACKLOG => Err(NoSize::NoRoom),
        bytes => Ok(bytes),
    }
}

/// As a user would type so many bytes.
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
