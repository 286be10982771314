//! Reads tables of comma-separated values back.

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
pub type Values = Vec<Option<String>>;

/// The tables of a trace, by name.
pub struct Tables(BTreeMap<String, Table>);

struct Table {
    columns: Vec<String>,
    rows: Vec<Values>,
}

/// A row.
pub struct Row<'t> {
    columns: &'t [String],
    pub values: &'t Values,
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
        Tables::selected(test_dir, name, &[])
    }

    /// The tables of what `filter` selects in a trace, unless the trace has no coroutine.
    pub fn selected(test_dir: &TestDir, name: &str, filter: &[&str]) -> Option<Self> {
        let folder = format!("{name}{}.csv", filter.concat());
        let file = format!("{name}.data");
        let export = ["-i", &file, "--export", "csv-tables", "-o", &folder];
        let output = test_dir.report(&[&export[..], filter].concat());
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
