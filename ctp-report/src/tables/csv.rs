//! Writes the tables as comma-separated values: a header line, and quotes where RFC 4180 requires them.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};

use anyhow::Result;

use super::schema::{TABLES, TableId};
use super::value::{TableWriter, Value};
use crate::output::dataset::Folder;

/// A file for each table.
pub struct CsvFiles(Vec<BufWriter<File>>);

impl CsvFiles {
    /// Creates the files, each with its header line.
    ///
    /// # Errors
    /// If a file cannot be created or written.
    pub fn create(folder: &Folder) -> Result<Self> {
        let files = TABLES.iter().map(|table| {
            let mut file = BufWriter::new(folder.create(&format!("{}.csv", table.name))?);
            let names: Vec<&str> = table.columns.iter().map(|column| column.name).collect();
            writeln!(file, "{}", names.join(","))?;
            Ok(file)
        });
        Ok(CsvFiles(files.collect::<Result<_>>()?))
    }
}

impl TableWriter for CsvFiles {
    fn row(&mut self, table: TableId, values: &[Value<'_>]) -> Result<()> {
        Ok(row(&mut self.0[table as usize], values)?)
    }

    fn finish(&mut self) -> Result<()> {
        let mut files = self.0.iter_mut();
        Ok(files.try_for_each(BufWriter::flush)?)
    }
}

fn row(file: &mut BufWriter<File>, values: &[Value<'_>]) -> io::Result<()> {
    for (index, value) in values.iter().enumerate() {
        if 0 < index {
            file.write_all(b",")?;
        }
        match value {
            Value::Null => {}
            Value::Number(number) => write!(file, "{number}")?,
            Value::Unsigned(number) => write!(file, "{number}")?,
            Value::Flag(flag) => write!(file, "{flag}")?,
            Value::Text(text) | Value::Word(text) => quoted(file, text)?,
        }
    }
    file.write_all(b"\n")
}

/// Writes a text, in quotes if it would end early or look like a missing value without them.
fn quoted(file: &mut BufWriter<File>, text: &str) -> io::Result<()> {
    if !text.is_empty() && !text.contains([',', '"', '\n', '\r']) {
        return file.write_all(text.as_bytes());
    }
    write!(file, "\"{}\"", text.replace('"', "\"\""))
}
