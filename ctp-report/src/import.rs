//! Imports traces of coroTracer: JSON lines with six columns become the records of a run.
//!
//! These files have less information than a trace of ctp-record. Several runs may follow each other
//! without a separator ([`runs`]), lines may be broken ([`mod@line`], [`sift`]), events are numbered in
//! rounds of eight ([`number`]), and addresses are those of coroutine frames, never of code. The result
//! is a trace like that of a plain v1 program, so all later steps need no special cases.
//! `docs/interchange.md` has the rules.

mod line;
mod number;
mod records;
mod runs;
mod sift;

use std::collections::BTreeMap;
use std::ops::Range;

use anyhow::{Result, bail};

use line::ImportLine;
pub use line::LineFault;

/// How much of a file is read to recognise its format.
const RECOGNISED_WITHIN_BYTES: usize = 1 << 20;

/// Facts about an imported file, in addition to its records.
#[derive(Clone, Debug, Default)]
pub struct Imported {
    /// Number of the run in the file, from 1.
    pub run: usize,
    /// Number of runs in the file.
    pub runs: usize,
    /// Numbers (from 1) of the lines that were left out of the whole file, by reason.
    pub left_out: BTreeMap<LineFault, Vec<usize>>,
}

impl Imported {
    /// The number of lines that were left out.
    pub fn broken_lines(&self) -> usize {
        self.left_out.values().map(Vec::len).sum()
    }
}

/// Whether these bytes look like coroTracer JSON lines, with a valid line near the start.
pub fn recognises(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(RECOGNISED_WITHIN_BYTES)];
    !bytes.starts_with(&ctp_trace::format::MAGIC)
        && head
            .split(|&b| b == b'\n')
            .any(|line| line::parse(1, line).is_ok())
}

/// Imports a run, by default the last.
///
/// # Errors
/// If the file does not have this run.
pub fn jsonl(bytes: &[u8], run: Option<usize>) -> Result<(Vec<u8>, Imported)> {
    let (mut lines, mut faults) = line::parse_lines(bytes);
    sift::against_neighbours(&mut lines, &mut faults);
    let runs: Vec<Vec<ImportLine>> = runs::split(&lines)
        .into_iter()
        .map(|range: Range<usize>| sift::within_run(&lines[range], &mut faults))
        .filter(|run| !run.is_empty())
        .collect();
    if runs.is_empty() {
        bail!("no two lines of this file go together");
    }
    let number = run.unwrap_or(runs.len());
    let Some(chosen) = number.checked_sub(1).and_then(|index| runs.get(index)) else {
        bail!(
            "no run {number} in this file: choose --run 1 to {}",
            runs.len()
        );
    };
    let imported = Imported {
        run: number,
        runs: runs.len(),
        left_out: by_reason(faults),
    };
    let bytes = records::trace(chosen, imported.broken_lines() as u64)?;
    Ok((bytes, imported))
}

fn by_reason(faults: Vec<(usize, LineFault)>) -> BTreeMap<LineFault, Vec<usize>> {
    let mut reasons: BTreeMap<LineFault, Vec<usize>> = BTreeMap::new();
    for (line, fault) in faults {
        reasons.entry(fault).or_default().push(line);
    }
    reasons.values_mut().for_each(|lines| lines.sort_unstable());
    reasons
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Damaged files cause no panic, and no line is counted twice.
    #[test]
    fn damaged_lines_cause_no_panic() {
        let line = |n: u64, id: u64| {
            format!(
                "{{\"probe_id\":{id},\"tid\":9,\"addr\":\"0x00\",\"seq\":{},\"is_active\":true,\"ts\":{n}00}}\n",
                n / 8 * 2 + 2
            )
        };
        let whole: String = (1..60).map(|n| line(n, n % 3 + 1)).collect();
        let mut random = 1u64;
        for _ in 0..2_000 {
            let mut bytes = whole.clone().into_bytes();
            for _ in 0..6 {
                random = random
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                let at = (random >> 33) as usize % bytes.len();
                bytes[at] = b"0123456789:,}{\n\xff"[(random >> 29) as usize % 16];
            }
            if let Ok((_, imported)) = jsonl(&bytes, None) {
                let mut left_out: Vec<_> = imported.left_out.into_values().flatten().collect();
                left_out.sort_unstable();
                assert!(left_out.windows(2).all(|pair| pair[0] < pair[1]));
            }
        }
    }
}
