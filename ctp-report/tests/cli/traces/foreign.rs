//! A coroTracer file with three runs, and lines that are broken in many ways.

use std::collections::BTreeMap;

use super::builder::{MS, SECOND};

/// A file, and what was put into it.
pub struct Foreign {
    pub bytes: Vec<u8>,
    /// Numbers of the broken lines, by fault.
    pub broken: BTreeMap<&'static str, Vec<usize>>,
}

/// Whole lines of each run.
pub const RUNS: [u64; 3] = [228, 676, 494];

pub const BROKEN: usize = 115;

/// Broken lines come three at a time, after so many whole ones.
const BETWEEN: u64 = 36;

/// From the last but a few events of a run on, time has gone by.
const LATE: u64 = 14;

#[derive(Clone, Copy)]
struct Row {
    id: u64,
    tid: u64,
    addr: u64,
    seq: u64,
    is_active: bool,
    ts: u64,
}

impl Row {
    fn text(&self) -> String {
        let Row {
            id,
            tid,
            addr,
            seq,
            is_active,
            ts,
        } = self;
        format!(
            r#"{{"probe_id":{id},"tid":{tid},"addr":"{addr:#018x}","seq":{seq},"is_active":{is_active},"ts":{ts}}}"#
        )
    }
}

/// The second run comes ten minutes after the first, the third after the machine was restarted.
pub fn three_runs() -> Foreign {
    let mut foreign = Foreign {
        bytes: Vec::new(),
        broken: BTreeMap::new(),
    };
    let (mut number, mut good, mut put) = (0, 0, 0);
    let mut line = |text: &[u8]| {
        number += 1;
        foreign.bytes.extend_from_slice(text);
        foreign.bytes.push(b'\n');
        number
    };
    for (run, events) in (0..).zip(RUNS) {
        for k in 0..events {
            // A reader finds what happened, but not in the order of time.
            let row = row(run, events, k ^ 1);
            line(row.text().as_bytes());
            good += 1;
            let here = if good % BETWEEN == 0 { 3 } else { 0 };
            for _ in 0..here {
                let (wrong, text) = broken(put, row);
                let number = line(&text);
                foreign.broken.entry(wrong).or_default().push(number);
                put += 1;
            }
        }
    }
    let number = line(br#"{"probe_id":94203210501840,"tid":12"#);
    foreign.broken.entry("torn JSON").or_default().push(number);
    foreign.bytes.pop();
    foreign
}

/// Coroutines take turns, and suspend and resume in turn; frames lie in the heap.
fn row(run: u64, events: u64, k: u64) -> Row {
    let (members, start) = [
        (19, 5_000 * SECOND),
        (49, 5_600 * SECOND),
        (38, 20 * SECOND),
    ][run as usize];
    let (member, n) = (k % members, k / members);
    let pause = if events - LATE <= k { 2 * SECOND } else { 0 };
    let frame = 0x55ad_64e6_0ec0 + (run << 32) + member * 0x1400;
    Row {
        id: frame + 16,
        tid: 12_000 + 10 * run + member % 2,
        addr: if n % 2 == 0 { frame } else { 0 },
        seq: n / 8 * 2 + 2,
        is_active: n % 2 == 1,
        ts: start + k * MS / 20 + pause,
    }
}

/// A row with something wrong, and the word for it.
fn broken(sort: usize, row: Row) -> (&'static str, Vec<u8>) {
    let whole = row.text();
    let with = |from: &str, to: &str| whole.replace(from, to).into_bytes();
    let (id, ts) = (row.id, row.ts);
    match sort % 16 {
        0 => ("torn JSON", whole[..whole.len() / 2].into()),
        1 => (
            "ts outside the run",
            Row { ts: 1 << 56, ..row }.text().into(),
        ),
        2 => ("odd seq", Row { seq: 3, ..row }.text().into()),
        3 => ("torn JSON", whole[whole.len() / 3..].into()),
        4 => ("probe_id 0", Row { id: 0, ..row }.text().into()),
        5 => ("ts outside the run", Row { ts: 7, ..row }.text().into()),
        6 => ("tid 0", Row { tid: 0, ..row }.text().into()),
        7 => (
            "tid above 4194303",
            Row {
                tid: 1 << 23,
                ..row
            }
            .text()
            .into(),
        ),
        8 => (
            "not the six columns",
            with(r#","is_active":"#, r#","active":"#),
        ),
        9 => ("seq 0", Row { seq: 0, ..row }.text().into()),
        10 => ("torn JSON", [&whole[..40], &whole].concat().into_bytes()),
        11 => ("seq does not fit", Row { seq: ts + 1, ..row }.text().into()),
        12 => ("not the six columns", with(&id.to_string(), "-1")),
        13 => ("addr is not hexadecimal", with(r#""0x00"#, r#""0y00"#)),
        14 => ("torn JSON", b"\0\xff\x80\0\0 #".to_vec()),
        _ => (
            "ts outside the run",
            Row {
                ts: ts + 9_000 * SECOND,
                ..row
            }
            .text()
            .into(),
        ),
    }
}
