//! Ids of traces and spans. They follow from the recording and the coroutine, so that a link needs no
//! table.

use ctp_trace::record::CoroutineId;

/// Distinguishes the ids of root spans from those of waits, which are small numbers.
const ROOT: u64 = 1 << 63;

/// The trace of a coroutine: half of the recording's random id, and the number of the coroutine.
pub fn of_trace(recording: &[u8; 16], coroutine: CoroutineId) -> String {
    let [a, b, c, d, e, f, g, h, ..] = *recording;
    let recording = u64::from_be_bytes([a, b, c, d, e, f, g, h]);
    format!("{recording:016x}{:016x}", coroutine.0)
}

/// The root span of a coroutine.
pub fn of_root(coroutine: CoroutineId) -> String {
    format!("{:016x}", ROOT | u64::from(coroutine.0))
}

/// A wait of a coroutine, by its number in the export, from 1.
pub fn of_wait(number: u64) -> String {
    format!("{:016x}", number & !ROOT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_hexadecimal_and_distinct() {
        let trace = of_trace(&[0xab; 16], CoroutineId(7));
        assert_eq!(trace, "abababababababab0000000000000007");
        assert_eq!(of_root(CoroutineId(7)), "8000000000000007");
        assert_eq!(of_wait(7), "0000000000000007");
    }
}
