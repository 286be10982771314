//! Writes rows in the exact format of coroTracer.

use std::io::{self, Write};

use anyhow::Result;

use crate::config::{ExportView, Format};
use crate::load::Model;
use crate::output;
use crate::text::units;
use crate::views::export::model::Row;

/// Writes the rows to the requested output. Returns a line about the file, if any.
///
/// # Errors
/// If the output cannot be written.
pub fn write(
    model: &Model,
    rows: &[Row],
    view: &ExportView,
    out: &mut dyn Write,
) -> Result<Option<String>> {
    let path = view.output.as_deref();
    output::write(path, out, |out| rows_to(rows, view.format, out))?;
    let events = units::counted(rows.len() as u64, "event");
    let missing = match (model.has_all_events(), model.trace_model.summed_up()) {
        (true, _) => String::new(),
        (false, 0) => format!(
            "; {} lost, which the format cannot show",
            units::grouped(model.lost())
        ),
        (false, more) => format!("; {} more are in totals only", units::grouped(more)),
    };
    Ok(path.map(|path| format!("wrote {} ({events}{missing})", path.display())))
}

fn rows_to(rows: &[Row], format: Format, out: &mut dyn Write) -> io::Result<()> {
    match format {
        Format::Jsonl => rows.iter().try_for_each(|row| jsonl(row, out)),
        Format::Csv => {
            writeln!(out, "probe_id,tid,addr,seq,is_active,ts")?;
            rows.iter().try_for_each(|row| csv(row, out))
        }
    }
}

fn jsonl(row: &Row, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "{{\"probe_id\":{},\"tid\":{},\"addr\":\"{:#018x}\",\"seq\":{},\"is_active\":{},\"ts\":{}}}",
        row.probe_id, row.tid, row.addr, row.seq, row.is_active, row.ts
    )
}

fn csv(row: &Row, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "{},{},{:#018x},{},{},{}",
        row.probe_id, row.tid, row.addr, row.seq, row.is_active, row.ts
    )
}
