//! Writes every record as a line, in the order of the trace.

use std::io::{self, Write};

use ctp_trace::Reader;
use ctp_trace::escape::escaped;

use crate::evidence::selection::Selection;
use crate::import::Imported;
use crate::text::units;
use crate::views::dump::model::{self, Fields};

/// Writes the records as lines of text. Errors appear at their place among the records.
pub fn write(reader: Reader<'_>, selection: &Selection, out: &mut dyn Write) -> io::Result<()> {
    for record in reader {
        match record {
            Ok(record) if selection.has_record(&record) => line(&model::of(&record), out)?,
            Ok(_) => {}
            Err(error) => writeln!(out, "# note: {}", escaped(&error.to_string()))?,
        }
    }
    Ok(())
}

/// Writes which lines of an imported file are not among the records.
pub fn left_out(imported: Option<&Imported>, out: &mut dyn Write) -> io::Result<()> {
    let reasons = imported.into_iter().flat_map(|imported| &imported.left_out);
    for (fault, lines) in reasons {
        for number in lines {
            writeln!(out, "# note: line {number} left out: {}", fault.word())?;
        }
    }
    Ok(())
}

fn line(fields: &Fields, out: &mut dyn Write) -> io::Result<()> {
    let at = fields.at.map(units::moment).unwrap_or_default();
    write!(out, "{at:<15} {:<8}", fields.word)?;
    for (name, value) in fields.rest.iter().filter(|(_, value)| !value.is_null()) {
        write!(out, " {name}={}", escaped(&value.to_string()))?;
    }
    writeln!(out)
}
