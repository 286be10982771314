//! The same rows in all formats, and keys that lead to rows.

use std::fs;
use std::path::{Path, PathBuf};

use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::Field;
use rusqlite::Connection;
use rusqlite::types::Value;

use super::TRACES;
use super::read::{NAMES, Tables, Values, only_trace};
use crate::test_dir::TestDir;

// CT-20
#[test]
fn formats_have_the_same_rows_and_keys_resolve() {
    let test_dir = TestDir::new();
    for name in TRACES {
        let tables = Tables::of(&test_dir, name).unwrap();
        let database = database(&test_dir, name);
        let mut check = database.prepare("PRAGMA foreign_key_check").unwrap();
        let broken = check.query_map([], |row| row.get::<_, String>(0)).unwrap();
        let broken: Vec<String> = broken.flatten().collect();
        assert!(broken.is_empty(), "{name}: {broken:?}");
        let folder = parquet_folder(&test_dir, name);
        for table in NAMES {
            let rows = tables.rows(table).map(|row| row.values.clone());
            let mut expected: Vec<Values> = rows.collect();
            let file = folder.join(format!("{table}.parquet"));
            assert_eq!(of_parquet(&file), expected, "{name}: {table}");
            // A database returns rows by key.
            let mut stored = of_database(&database, table);
            stored.sort_unstable();
            expected.sort_unstable();
            assert_eq!(stored, expected, "{name}: {table}");
        }
    }
}

/// Exports a trace as a database, and opens it.
fn database(test_dir: &TestDir, name: &str) -> Connection {
    let (file, output) = (format!("{name}.data"), format!("{name}.sqlite"));
    test_dir.text(&["-i", &file, "--export", "sqlite", "-o", &output]);
    Connection::open(test_dir.path(&output)).unwrap()
}

/// The rows of a table, without the columns that are the same in all rows.
fn of_database(database: &Connection, table: &str) -> Vec<Values> {
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

fn shown(value: Value, is_flag: bool) -> Option<String> {
    match value {
        Value::Null => None,
        Value::Integer(flag) if is_flag => Some((flag != 0).to_string()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Text(text) => Some(text),
        other => panic!("{other:?}"),
    }
}

/// Exports a trace as Parquet files. Returns their folder.
fn parquet_folder(test_dir: &TestDir, name: &str) -> PathBuf {
    let (file, output) = (format!("{name}.data"), format!("{name}.parquet"));
    test_dir.text(&["-i", &file, "--export", "parquet", "-o", &output]);
    only_trace(&test_dir.path(&output))
}

/// The rows of a Parquet file.
fn of_parquet(file: &Path) -> Vec<Values> {
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
