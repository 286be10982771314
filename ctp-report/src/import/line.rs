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
pub struct Line {
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
pub enum Fault {
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

impl Fault {
    /// The reason in words.
    pub fn word(self) -> &'static str {
        match self {
            Fault::Torn => "torn JSON",
            Fault::Columns => "not the six columns",
            Fault::Address => "addr no hexadecimal number",
            Fault::NoId => "probe_id 0",
            Fault::NoThread => "tid 0",
            Fault::Thread => "tid above 4194304",
            Fault::NoSeq => "seq 0",
            Fault::OddSeq => "odd seq",
            Fault::Seq => "seq out of line",
            Fault::Time => "ts outside the run",
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
pub fn lines(bytes: &[u8]) -> (Vec<Line>, Vec<(usize, Fault)>) {
    let (mut lines, mut faults) = (Vec::new(), Vec::new());
    for (number, text) in (1..).zip(bytes.split(|&byte| byte == b'\n')) {
        if text.trim_ascii().is_empty() {
            continue;
        }
        match parse(text) {
            Ok(line) => lines.push(Line { number, ..line }),
            Err(fault) => faults.push((number, fault)),
        }
    }
    (lines, faults)
}

/// Parses a line. The caller sets the line number.
pub fn parse(text: &[u8]) -> Result<Line, Fault> {
    if !text.trim_ascii_start().starts_with(b"{") {
        return Err(Fault::Torn);
    }
    let columns: Columns =
        serde_json::from_slice(text).map_err(|error| match error.classify() {
            serde_json::error::Category::Data => Fault::Columns,
            _ => Fault::Torn,
        })?;
    let addr = address(&columns.addr).ok_or(Fault::Address)?;
    match fault(&columns) {
        Some(fault) => Err(fault),
        None => Ok(Line {
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

fn fault(columns: &Columns) -> Option<Fault> {
    let Columns {
        probe_id,
        tid,
        seq,
        ts,
        ..
    } = *columns;
    match () {
        () if probe_id == 0 => Some(Fault::NoId),
        () if tid == 0 => Some(Fault::NoThread),
        () if PID_MAX < tid => Some(Fault::Thread),
        () if seq == 0 => Some(Fault::NoSeq),
        () if ts == 0 => Some(Fault::Time),
        () if ts.clamp(EVENTS_OF_A_YOUNG_CLOCK, SEQ_MAX) < seq => Some(Fault::Seq),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str =
        r#"{"probe_id":7,"tid":9,"addr":"0x0000000000000000","seq":2,"is_active":true,"ts":99}"#;

    fn with(from: &str, to: &str) -> Result<Line, Fault> {
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
            assert_eq!(parse(&GOOD.as_bytes()[..cut]), Err(Fault::Torn), "{cut}");
            assert_eq!(parse(&GOOD.as_bytes()[cut..]), Err(Fault::Torn), "{cut}");
        }
        assert_eq!(with(r#""ts":99"#, r#""ts":-1"#), Err(Fault::Columns));
        assert_eq!(with(r#","ts":99"#, ""), Err(Fault::Columns));
        assert_eq!(with("0x0000", "0x+0"), Err(Fault::Address));
        assert_eq!(with(":7,", ":0,"), Err(Fault::NoId));
        assert_eq!(with(":9,", ":0,"), Err(Fault::NoThread));
        assert_eq!(with(":9,", ":4194305,"), Err(Fault::Thread));
        assert_eq!(with(":2,", ":0,"), Err(Fault::NoSeq));
        assert_eq!(with(":2,", ":1000001,"), Err(Fault::Seq));
        assert_eq!(with(":99", ":0"), Err(Fault::Time));
    }
}
