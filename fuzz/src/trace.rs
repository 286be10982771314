//! Bytes as a trace, or as chunks of one whose checksums are right.

use std::borrow::Cow;

use ctp_trace::TraceModel;
use ctp_trace::record::Record;
use ctp_trace::verdict::THRESHOLD;

use crate::frames::frame;
use crate::properties::{Reading, any_bytes_can_be_read, written};
use crate::script::Script;

/// Any bytes are read, counted and judged.
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

/// The first byte chooses: the others are a file, or the contents of chunks, of a few kinds or of all
/// that there are and some more: no fuzzer finds a checksum.
pub(crate) fn file(bytes: &[u8]) -> Option<Cow<'_, [u8]>> {
    let (mode, rest) = bytes.split_first()?;
    Some(match mode % 4 {
        1 => sealed(Script(rest), 10).into(),
        3 => sealed(Script(rest), 20).into(),
        _ => rest.into(),
    })
}

/// What both tools do with records.
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

/// A start, then each chunk: kind, flags, length, payload.
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
