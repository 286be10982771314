//! Reads tables back: from comma-separated values, and with the features also from SQLite and Parquet.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::test_dir::TestDir;

pub const NAMES: [&str; 8] = [
    "traces",
    "processes",
    "sites",
    "coroutines",
    "events",
    "waits",
    "wakes",
    "verdicts",
];

/// The values of a row; missing values are `None`.
type Values = Vec<Option<String>>;

/// The tables of a trace, by name.
pub struct Tables(BTreeMap<String, Table>);

struct Table {
    columns: Vec<String>,
    rows: Vec<Values>,
}

/// A row.
pub struct Row<'t> {
    columns: &'t [String],
    values: &'t Values,
}

/// The folder of the only trace in a dataset.
pub fn only_trace(dataset: &Path) -> PathBuf {
    let only = |folder: &Path| {
        let mut entries = fs::read_dir(folder).unwrap();
        let entry = entries.next().unwrap().unwrap().path();
        assert!(entries.next().is_none(), "{}", folder.display());
        entry
    };
    only(&only(dataset))
}

impl Tables {
    /// The tables of a trace, unless the trace has no coroutine.
    pub fn of(test_dir: &TestDir, name: &str) -> Option<Self> {
        let folder = format!("{name}.csv");
        let file = format!("{name}.data");
        let output = test_dir.report(&["-i", &file, "--export", "csv-tables", "-o", &folder]);
        if !output.status.success() {
            assert_eq!(output.status.code(), Some(1), "{name}: {output:?}");
            assert!(!test_dir.path(&folder).exists(), "{name}");
            return None;
        }
        let folder = only_trace(&test_dir.path(&folder));
        let tables = NAMES.map(|name| {
            let text = fs::read_to_string(folder.join(format!("{name}.csv"))).unwrap();
            let mut rows = parse(&text);
            let header = rows.remove(0);
            let columns = header.into_iter().flatten().collect();
            (name.to_owned(), Table { columns, rows })
        });
        Some(Tables(tables.into()))
    }

    /// The rows of a table.
    pub fn rows(&self, table: &str) -> impl Iterator<Item = Row<'_>> {
        let Table { columns, rows } = &self.0[table];
        rows.iter().map(|values| Row { columns, values })
    }

    /// The values of a table, without the names of columns.
    pub fn plain(&self, table: &str) -> &[Values] {
        &self.0[table].rows
    }
}

impl Row<'_> {
    /// The value of a column.
    pub fn text(&self, column: &str) -> Option<&str> {
        let index = self.columns.iter().position(|name| name == column);
        self.values[index.unwrap_or_else(|| panic!("no column {column}"))].as_deref()
    }

    /// The number of a column.
    pub fn number(&self, column: &str) -> Option<u64> {
        self.text(column).map(|number| number.parse().unwrap())
    }
}

/// Comma-separated values: text in quotes may have commas, line ends, and doubled quotes.
fn parse(text: &str) -> Vec<Values> {
    let mut rows = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let mut row = Vec::new();
        loop {
            let (value, after) = value(rest);
            row.push(value);
            rest = &after[1..];
            if after.starts_with('\n') {
                break;
            }
        }
        rows.push(row);
    }
    rows
}

/// The first value, and the text after it.
fn value(text: &str) -> (Option<String>, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([',', '\n']).unwrap();
        let value = Some(&text[..end]).filter(|value| !value.is_empty());
        return (value.map(str::to_owned), &text[end..]);
    };
    let mut value = String::new();
    let mut rest = quoted;
    loop {
        let end = rest.find('"').unwrap();
        value += &rest[..end];
        rest = &rest[end + 1..];
        match rest.strip_prefix('"') {
            Some(after) => rest = after,
            None => return (Some(value), rest),
        }
        value.push('"');
    }
}

/// Exports a trace as a database, and opens it.
#[cfg(feature = "sqlite")]
pub fn database(test_dir: &TestDir, name: &str) -> rusqlite::Connection {
    let (file, output) = (format!("{name}.data"), format!("{name}.sqlite"));
    test_dir.text(&["-i", &file, "--export", "sqlite", "-o", &output]);
    rusqlite::Connection::open(test_dir.path(&output)).unwrap()
}

/// The rows of a table, without the columns that are the same in all rows.
#[cfg(feature = "sqlite")]
pub fn of_database(database: &rusqlite::Connection, table: &str) -> Vec<Values> {
    let mut all = database
        .prepare(&format!("SELECT * FROM {table} ORDER BY rowid"))
        .unwrap();
    let columns = all.column_count() - 2;
    let kinds: Vec<bool> = all.column_names()[..columns]
        .iter()
        .map(|name| name.starts_with("is_"))
        .collect();
    let rows = all.query_map([], |row| {
        let values = kinds.iter().enumerate();
        values
            .map(|(index, is_flag)| Ok(shown(row.get(index)?, *is_flag)))
            .collect()
    });
    rows.unwrap().map(Result::unwrap).collect()
}

#[cfg(feature = "sqlite")]
fn shown(value: rusqlite::types::Value, is_flag: bool) -> Option<String> {
    use rusqlite::types::Value;
    match value {
        Value::Null => None,
        Value::Integer(flag) if is_flag => Some((flag != 0).to_string()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Text(text) => Some(text),
        other => panic!("{other:?}"),
    }
}

/// Exports a trace as Parquet files. Returns their folder.
#[cfg(feature = "parquet")]
pub fn parquet_folder(test_dir: &TestDir, name: &str) -> PathBuf {
    let (file, output) = (format!("{name}.data"), format!("{name}.parquet"));
    test_dir.text(&["-i", &file, "--export", "parquet", "-o", &output]);
    only_trace(&test_dir.path(&output))
}

/// The rows of a Parquet file.
#[cfg(feature = "parquet")]
pub fn of_parquet(file: &Path) -> Vec<Values> {
    use parquet::file::reader::{FileReader as _, SerializedFileReader};
    use parquet::record::Field;
    let reader = SerializedFileReader::new(fs::File::open(file).unwrap()).unwrap();
    let rows = reader.get_row_iter(None).unwrap();
    let shown = |field: &Field| match field {
        Field::Null => None,
        Field::Bool(flag) => Some(flag.to_string()),
        Field::Long(number) => Some(number.to_string()),
        Field::ULong(number) => Some(number.to_string()),
        Field::Str(text) => Some(text.clone()),
        other => panic!("{other:?}"),
    };
    rows.map(|row| {
        let row = row.unwrap();
        row.get_column_iter()
            .map(|(_, field)| shown(field))
            .collect()
    })
    .collect()
}
