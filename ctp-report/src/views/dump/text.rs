//! Every record, one a line, in the order of the trace.

use std::io::{self, Write};

use ctp_trace::Reader;
use ctp_trace::escape::escaped;
use serde_json::{Map, Value};

use crate::import::Imported;
use crate::text::units;
use crate::views::dump::model::{self, Fields};

/// Writes the records as lines of text, and what could not be read at its place among them.
pub fn text(reader: Reader<'_>, out: &mut dyn Write) -> io::Result<()> {
    for record in reader {
        match record {
            Ok(record) => line(&model::of(&record), out)?,
            Err(error) => writeln!(out, "# note: {}", escaped(&error.to_string()))?,
        }
    }
    Ok(())
}

/// Says which lines of an imported file are not among the records.
pub fn left_out(imported: Option<&Imported>, out: &mut dyn Write) -> io::Result<()> {
    let reasons = imported.into_iter().flat_map(|it| &it.left_out);
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

/// Writes the records as the items of a JSON list, one a line.
pub fn json(reader: Reader<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut separator = "";
    for record in reader.flatten() {
        let object = object(model::of(&record));
        write!(out, "{separator}\n    {object}")?;
        separator = ",";
    }
    writeln!(out)
}

fn object(fields: Fields) -> Value {
    let mut object = Map::new();
    object.insert("record".to_owned(), fields.word.into());
    if let Some(at) = fields.at {
        object.insert("at_ns".to_owned(), at.0.into());
    }
    object.extend(
        fields
            .rest
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value)),
    );
    Value::Object(object)
}
