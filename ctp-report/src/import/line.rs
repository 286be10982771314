//! Parses a JSON line with six columns, or returns the fault.

use std::borrow::Cow;

use serde::Deserialize;

/// The largest thread id that the kernel assigns.
const PID_MAX: u64 = 4_194_304;

/// A number of events that is plausible even if the clock has just started.
const EVENTS_OF_A_YOUNG_CLOCK: u64 = 1_000_000;

/// Three days with an event each nanosecond. Larger numbers are not plausible; smaller numbers do not
/// overflow.
const SEQ_MAX: u64 = 1 << 48;

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
    /// Whether the coroutine starts to run.
    pub is_active: bool,
    /// Time in nanoseconds of the monotonic clock of the program.
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
    NoThread,
    /// A thread id larger than Linux assigns.
    Thread,
    /// Sequence number 0.
    NoSeq,
    /// An odd sequence number: the event was still being written.
    OddSeq,
    /// More events than nanoseconds, or a number that fits neither the previous nor the next line.
    Seq,
    /// A time outside the run.
    Time,
}

impl LineFault {
    /// The reason in words.
    pub fn word(self) -> &'static str {
        match self {
            LineFault::Torn => "torn JSON",
            LineFault::Columns => "not the six columns",
            LineFault::Address => "addr no hexadecimal number",
            LineFault::NoId => "probe_id 0",
            LineFault::NoThread => "tid 0",
            LineFault::Thread => "tid above 4194304",
            LineFault::NoSeq => "seq 0",
            LineFault::OddSeq => "odd seq",
            LineFault::Seq => "seq out of line",
            LineFault::Time => "ts outside the run",
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
pub fn lines(bytes: &[u8]) -> (Vec<ImportLine>, Vec<(usize, LineFault)>) {
    let (mut lines, mut faults) = (Vec::new(), Vec::new());
    for (number, text) in (1..).zip(bytes.split(|&byte| byte == b'\n')) {
        if text.trim_ascii().is_empty() {
            continue;
        }
        match parse(text) {
            Ok(line) => lines.push(ImportLine { number, ..line }),
            Err(fault) => faults.push((number, fault)),
        }
    }
    (lines, faults)
}

/// Parses a line. The caller sets the line number.
pub fn parse(text: &[u8]) -> Result<ImportLine, LineFault> {
    if !text.trim_ascii_start().starts_with(b"{") {
        return Err(LineFault::Torn);
    }
    let columns: Columns =
        serde_json::from_slice(text).map_err(|error| match error.classify() {
            serde_json::error::Category::Data => LineFault::Columns,
            _ => LineFault::Torn,
        })?;
    let addr = address(&columns.addr).ok_or(LineFault::Address)?;
    match fault(&columns) {
        Some(fault) => Err(fault),
        None => Ok(ImportLine {
            number: 0,
            probe_id: columns.probe_id,
            tid: columns.tid,
            addr,
            seq: columns.seq,
            is_active: columns.is_active,
            ts: columns.ts,
        }),
    }
}

fn address(text: &str) -> Option<u64> {
    let digits = text.strip_prefix("0x")?;
    let all_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    u64::from_str_radix(digits, 16).ok().filter(|_| all_hex)
}

fn fault(columns: &Columns) -> Option<LineFault> {
    let Columns {
        probe_id,
        tid,
        seq,
        ts,
        ..
    } = *columns;
    match () {
        () if probe_id == 0 => Some(LineFault::NoId),
        () if tid == 0 => Some(LineFault::NoThread),
        () if PID_MAX < tid => Some(LineFault::Thread),
        () if seq == 0 => Some(LineFault::NoSeq),
        () if ts == 0 => Some(LineFault::Time),
        () if ts.clamp(EVENTS_OF_A_YOUNG_CLOCK, SEQ_MAX) < seq => Some(LineFault::Seq),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str =
        r#"{"probe_id":7,"tid":9,"addr":"0x0000000000000000","seq":2,"is_active":true,"ts":99}"#;

    fn with(from: &str, to: &str) -> Result<ImportLine, LineFault> {
        assert!(GOOD.contains(from));
        parse(GOOD.replace(from, to).as_bytes())
    }

    #[test]
    fn resumes_need_no_address() {
        let line = parse(GOOD.as_bytes()).unwrap_or_else(|fault| panic!("{fault:?}"));
        assert_eq!((line.addr, line.is_active, line.ts), (0, true, 99));
    }

    #[test]
    fn faults_are_distinguished() {
        for cut in 1..GOOD.len() {
            assert_eq!(
                parse(&GOOD.as_bytes()[..cut]),
                Err(LineFault::Torn),
                "{cut}"
            );
            assert_eq!(
                parse(&GOOD.as_bytes()[cut..]),
                Err(LineFault::Torn),
                "{cut}"
            );
        }
        assert_eq!(with(r#""ts":99"#, r#""ts":-1"#), Err(LineFault::Columns));
        assert_eq!(with(r#","ts":99"#, ""), Err(LineFault::Columns));
        assert_eq!(with("0x0000", "0x+0"), Err(LineFault::Address));
        assert_eq!(with(":7,", ":0,"), Err(LineFault::NoId));
        assert_eq!(with(":9,", ":0,"), Err(LineFault::NoThread));
        assert_eq!(with(":9,", ":4194305,"), Err(LineFault::Thread));
        assert_eq!(with(":2,", ":0,"), Err(LineFault::NoSeq));
        assert_eq!(with(":2,", ":1000001,"), Err(LineFault::Seq));
        assert_eq!(with(":99", ":0"), Err(LineFault::Time));
    }
}
