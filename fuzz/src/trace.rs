//! Interprets the input as a trace, or as the contents of chunks with valid checksums.

use std::borrow::Cow;

use ctp_trace::TraceModel;
use ctp_trace::record::Record;
use ctp_trace::verdict::THRESHOLD;

use crate::frames::frame;
use crate::properties::{Reading, any_bytes_can_be_read, written};
use crate::script::Script;

/// Checks that any bytes can be read, counted and judged.
pub fn read_trace(bytes: &[u8]) {
    let Some(file) = file(bytes) else {
        return;
    };
    any_bytes_can_be_read(&file);
    let Ok(reading) = Reading::of(&file) else {
        return;
    };
    count(&reading.records());
}

/// The trace file of an input. The first byte selects whether the rest is the file itself, or the
/// contents of chunks of some kinds or of all kinds. Chunks get checksums, which no fuzzer would find.
pub(crate) fn file(bytes: &[u8]) -> Option<Cow<'_, [u8]>> {
    let (mode, rest) = bytes.split_first()?;
    Some(match mode % 4 {
        1 => sealed(Script(rest), 10).into(),
        3 => sealed(Script(rest), 20).into(),
        _ => rest.into(),
    })
}

/// Builds the trace model, as both tools do, and checks that its size is bounded.
pub fn count(records: &[Record]) -> TraceModel {
    let mut trace_model = TraceModel::new();
    for record in records {
        trace_model.consume(record);
    }
    assert!(trace_model.judge(THRESHOLD).len() <= records.len());
    assert!(trace_model.sites().len() <= records.len() * 2);
    assert!(trace_model.families().count() <= records.len() * 2 + 1);
    assert!(trace_model.by_name().len() <= records.len() * 2 + 1);
    trace_model.lost();
    trace_model
}

/// A start, and chunks that the script describes by kind, flags, length and payload.
fn sealed(mut script: Script<'_>, kinds: u8) -> Vec<u8> {
    let mut file = written(&[]);
    file.truncate(crate::frames::frames(&file)[1]);
    let mut number = 1;
    while !script.is_over() {
        let (kind, flags) = (script.byte() % kinds, script.byte() & 1);
        let length = usize::from(script.half());
        file.extend(frame(
            kind.into(),
            flags.into(),
            number,
            script.bytes(length),
        ));
        number += 1;
    }
    file
}
