//! Ids of traces and spans. They follow from the recording and the coroutine, so that a link needs no
//! table.

use ctp_trace::record::CoroutineId;
use serde::{Serialize, Serializer};

/// Distinguishes the ids of root spans from those of waits, which are small numbers.
const ROOT: u64 = 1 << 63;

/// The trace of a coroutine.
#[derive(Clone, Copy, Debug)]
pub struct TraceId(u128);

impl TraceId {
    /// Half of the recording's random id, and the number of the coroutine.
    pub fn of(recording: &[u8; 16], coroutine: CoroutineId) -> Self {
        let recording = u128::from_be_bytes(*recording) >> 64;
        TraceId(recording << 64 | u128::from(coroutine.0))
    }
}

/// A span of a trace.
#[derive(Clone, Copy, Debug)]
pub struct SpanId(u64);

impl SpanId {
    /// The root span of a coroutine.
    pub fn of_root(coroutine: CoroutineId) -> Self {
        SpanId(ROOT | u64::from(coroutine.0))
    }

    /// A wait of a coroutine, by its number in the export, from 1.
    pub fn of_wait(number: u64) -> Self {
        SpanId(number & !ROOT)
    }
}

impl Serialize for TraceId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:032x}", self.0))
    }
}

impl Serialize for SpanId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:016x}", self.0))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn ids_are_hexadecimal_and_distinct() {
        let trace = TraceId::of(&[0xab; 16], CoroutineId(7));
        assert_eq!(json!(trace), "abababababababab0000000000000007");
        assert_eq!(json!(SpanId::of_root(CoroutineId(7))), "8000000000000007");
        assert_eq!(json!(SpanId::of_wait(7)), "0000000000000007");
    }
}
