//! Parses a line of coroTracer's JSON lines, which has six columns, and checks that its values are plausible.

use std::borrow::Cow;

use serde::Deserialize;

/// The largest thread id that Linux assigns.
const MAX_THREAD_ID: u64 = 4_194_303;

/// A seq that is plausible even right after boot, when the clock is near 0.
const MAX_SEQ_OF_NEW_CLOCK: u64 = 1_000_000;

/// Three days with an event each nanosecond. The limit also keeps computations with seqs from overflowing.
const MAX_SEQ: u64 = 1 << 48;

/// A valid line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImportLine {
    /// Line number in the file, from 1.
    pub number: usize,
    /// The id that the probe gave the coroutine.
    pub probe_id: u64,
    /// The thread.
    pub tid: u64,
    /// Frame address of the coroutine, or 0 while running.
    pub addr: u64,
    /// Sequence number of the event in its station.
    pub seq: u64,
    /// Whether the event is a resume; otherwise a suspend.
    pub is_active: bool,
    /// Time of the event, in nanoseconds of the program's monotonic clock.
    pub ts: u64,
}

/// Why a line is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LineFault {
    /// Not JSON, or incomplete.
    Torn,
    /// A column is missing or has the wrong type.
    Columns,
    /// The address is not hexadecimal.
    Address,
    /// Coroutine id 0.
    NoId,
    /// Thread id 0.
    ThreadZero,
    /// A thread id larger than Linux assigns.
    ThreadTooLarge,
    /// Sequence number 0.
    SeqZero,
    /// An odd sequence number: the event was still being written.
    SeqOdd,
    /// A seq larger than the time in nanoseconds, or not between those of the previous and next line of the id.
    SeqImplausible,
    /// A time outside the run.
    TimeImplausible,
}

impl LineFault {
    /// The reason in words.
    pub fn word(self) -> &'static str {
        match self {
            LineFault::Torn => "torn JSON",
            LineFault::Columns => "not the six columns",
            LineFault::Address => "addr is not hexadecimal",
            LineFault::NoId => "probe_id 0",
            LineFault::ThreadZero => "tid 0",
            LineFault::ThreadTooLarge => "tid above 4194303",
            LineFault::SeqZero => "seq 0",
            LineFault::SeqOdd => "odd seq",
            LineFault::SeqImplausible => "seq does not fit",
            LineFault::TimeImplausible => "ts outside the run",
        }
    }
}

#[derive(Deserialize)]
struct Columns<'a> {
    probe_id: u64,
    tid: u64,
    #[serde(borrow)]
    addr: Cow<'a, str>,
    seq: u64,
    is_active: bool,
    ts: u64,
}

/// Parses all lines. Returns the valid lines, and the numbers and faults of the others.
pub fn parse_lines(bytes: &[u8]) -> (Vec<ImportLine>, Vec<(usize, LineFault)>) {
    let (mut lines, mut faults) = (Vec::new(), Vec::new());
    for (number, text) in (1..).zip(bytes.split(|&byte| byte == b'\n')) {
        if text.trim_ascii().is_empty() {
            continue;
        }
        match parse(number, text) {
            Ok(line) => lines.push(line),
            Err(fault) => faults.push((number, fault)),
        }
    }
    (lines, faults)
}

/// Parses the line with this number.
pub fn parse(number: usize, text: &[u8]) -> Result<ImportLine, LineFault> {
    if !text.trim_ascii_start().starts_with(b"{") {
        return Err(LineFault::Torn);
    }
    let columns: Columns =
        serde_json::from_slice(text).map_err(|error| match error.classify() {
            serde_json::error::Category::Data => LineFault::Columns,
            _ => LineFault::Torn,
        })?;
    let addr = parse_hex(&columns.addr).ok_or(LineFault::Address)?;
    check_plausible(&columns)?;
    Ok(ImportLine {
        number,
        probe_id: columns.probe_id,
        tid: columns.tid,
        addr,
        seq: columns.seq,
        is_active: columns.is_active,
        ts: columns.ts,
    })
}

fn parse_hex(text: &str) -> Option<u64> {
    let digits = text.strip_prefix("0x")?;
    let all_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    u64::from_str_radix(digits, 16).ok().filter(|_| all_hex)
}

fn check_plausible(columns: &Columns) -> Result<(), LineFault> {
    if columns.probe_id == 0 {
        return Err(LineFault::NoId);
    }
    if columns.tid == 0 {
        return Err(LineFault::ThreadZero);
    }
    if MAX_THREAD_ID < columns.tid {
        return Err(LineFault::ThreadTooLarge);
    }
    if columns.seq == 0 {
        return Err(LineFault::SeqZero);
    }
    if columns.ts == 0 {
        return Err(LineFault::TimeImplausible);
    }
    if columns.ts.clamp(MAX_SEQ_OF_NEW_CLOCK, MAX_SEQ) < columns.seq {
        return Err(LineFault::SeqImplausible);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str =
        r#"{"probe_id":7,"tid":9,"addr":"0x0000000000000000","seq":2,"is_active":true,"ts":99}"#;

    fn with(from: &str, to: &str) -> Result<ImportLine, LineFault> {
        assert!(GOOD.contains(from));
        parse(1, GOOD.replace(from, to).as_bytes())
    }

    #[test]
    fn resumes_need_no_address() {
        let line = parse(1, GOOD.as_bytes()).unwrap_or_else(|fault| panic!("{fault:?}"));
        assert_eq!((line.addr, line.is_active, line.ts), (0, true, 99));
    }

    #[test]
    fn faults_are_distinguished() {
        for cut in 1..GOOD.len() {
            assert_eq!(
                parse(1, &GOOD.as_bytes()[..cut]),
                Err(LineFault::Torn),
                "{cut}"
            );
            assert_eq!(
                parse(1, &GOOD.as_bytes()[cut..]),
                Err(LineFault::Torn),
                "{cut}"
            );
        }
        assert_eq!(with(r#""ts":99"#, r#""ts":-1"#), Err(LineFault::Columns));
        assert_eq!(with(r#","ts":99"#, ""), Err(LineFault::Columns));
        assert_eq!(with("0x0000", "0x+0"), Err(LineFault::Address));
        assert_eq!(with(":7,", ":0,"), Err(LineFault::NoId));
        assert_eq!(with(":9,", ":0,"), Err(LineFault::ThreadZero));
        assert_eq!(with(":9,", ":4194304,"), Err(LineFault::ThreadTooLarge));
        assert_eq!(with(":2,", ":0,"), Err(LineFault::SeqZero));
        assert_eq!(with(":2,", ":1000001,"), Err(LineFault::SeqImplausible));
        assert_eq!(with(":99", ":0"), Err(LineFault::TimeImplausible));
    }
}
