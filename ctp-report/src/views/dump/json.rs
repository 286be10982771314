//! Writes every record as a JSON object on a line of its own.

use std::io::{self, Write};

use ctp_trace::Reader;
use serde_json::{Map, Value};

use crate::document::json::VERSION;
use crate::evidence::selection::Selection;
use crate::views::dump::model::{self, Fields};

/// Writes the document. Records are written as they are read, since they may not fit into memory.
pub fn write(
    trace: &Value,
    reader: Reader<'_>,
    selection: &Selection,
    out: &mut dyn Write,
) -> io::Result<()> {
    write!(
        out,
        "{{\n  \"version\": {VERSION},\n  \"trace\": {trace},\n  \"records\": ["
    )?;
    let mut separator = "";
    let selected = reader
        .flatten()
        .filter(|record| selection.has_record(record));
    for record in selected {
        let object = object(model::of(&record));
        write!(out, "{separator}\n    {object}")?;
        separator = ",";
    }
    writeln!(out, "\n  ]\n}}")
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
