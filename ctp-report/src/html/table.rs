//! A table of many rows, in the form that the script of the page reads.
//!
//! Most texts occur in many rows, so each distinct text is stored once, and columns hold numbers of
//! texts. The script finds the matches of a search among the distinct texts first. Text number 0 is empty
//! and stands for a text that is not known.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::text::{NumberedTexts, units};

/// What the values of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ValueKind {
    /// Numbers of texts.
    Text,
    /// Numbers.
    Number,
    /// Durations in nanoseconds.
    Duration,
    /// Times in nanoseconds since the recording began.
    Moment,
}

/// A column.
#[derive(Clone, Debug, Serialize)]
struct Column {
    key: &'static str,
    title: &'static str,
    kind: ValueKind,
    /// Whether the column is in the table. The details of a row have all columns.
    is_shown: bool,
    /// A value for each row; `None` if unknown, and the number 0 for an unknown text.
    values: Vec<Option<u64>>,
}

/// The definition of a column: its key, its title, the kind of its values, and whether the table shows
/// the column.
pub type Definition = (&'static str, &'static str, ValueKind, bool);

/// A value of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TableValue {
    /// The value is not known.
    Unknown,
    /// A text.
    Text(String),
    /// A number, duration or time.
    Number(u64),
}

/// The rows, with their distinct texts.
#[derive(Clone, Debug, Serialize)]
pub struct Table {
    /// `coroutine` or `task`.
    row: &'static str,
    texts: NumberedTexts,
    columns: Vec<Column>,
    /// Source excerpts by the number of the text that names the place.
    sources: BTreeMap<u64, String>,
    #[serde(skip)]
    rows: u64,
}

impl Table {
    /// Creates a table without rows. `row` says what a row is.
    pub fn new(row: &'static str, columns: &[Definition]) -> Self {
        let columns = columns.iter().map(|(key, title, kind, is_shown)| Column {
            key,
            title,
            kind: *kind,
            is_shown: *is_shown,
            values: Vec::new(),
        });
        let mut texts = NumberedTexts::default();
        texts.number(String::new());
        Table {
            row,
            texts,
            columns: columns.collect(),
            sources: BTreeMap::new(),
            rows: 0,
        }
    }

    /// Adds a row with a value for each column.
    pub fn add<const N: usize>(&mut self, values: [TableValue; N]) {
        debug_assert_eq!(N, self.columns.len(), "a value for each column");
        self.rows += 1;
        for (at, value) in values.into_iter().enumerate() {
            let value = match value {
                TableValue::Unknown if self.columns[at].kind == ValueKind::Text => Some(0),
                TableValue::Unknown => None,
                TableValue::Number(number) => Some(number),
                TableValue::Text(text) if text.is_empty() => Some(0),
                TableValue::Text(text) => Some(self.number(text)),
            };
            self.columns[at].values.push(value);
        }
    }

    /// Adds the source lines at a place, unless the table has them. `excerpt` is called once for a place.
    pub fn add_source(&mut self, place: &str, excerpt: impl FnOnce() -> Vec<String>) {
        let number = self.number(place.to_owned());
        let lines = self.sources.entry(number);
        lines.or_insert_with(|| excerpt().join("\n"));
    }

    /// The number of a text.
    fn number(&mut self, text: String) -> u64 {
        self.texts.number(text) as u64
    }

    /// What a row is.
    pub fn row(&self) -> &'static str {
        self.row
    }

    /// The number of rows: `47 coroutines`.
    pub fn describe(&self) -> String {
        units::counted(self.rows, self.row)
    }

    /// The table as JSON that can stand in a `script` element: no `<` can end the element.
    pub fn json(&self) -> String {
        let json = serde_json::to_string(self).expect("a table has only texts and numbers");
        json.replace('<', "\\u003c")
    }
}

impl From<Option<String>> for TableValue {
    fn from(text: Option<String>) -> Self {
        text.map_or(TableValue::Unknown, TableValue::Text)
    }
}

impl From<&str> for TableValue {
    fn from(text: &str) -> Self {
        TableValue::Text(text.to_owned())
    }
}

impl From<Option<u64>> for TableValue {
    fn from(number: Option<u64>) -> Self {
        number.map_or(TableValue::Unknown, TableValue::Number)
    }
}

#[cfg(test)]
mod tests {
    use super::{Table, TableValue, ValueKind};

    // CT-19
    #[test]
    fn equal_texts_are_stored_once_and_end_no_element() {
        let columns = [
            ("id", "id", ValueKind::Number, true),
            ("function", "function", ValueKind::Text, true),
        ];
        let mut table = Table::new("task", &columns);
        for id in 1..4 {
            table.add([TableValue::Number(id), "a</script>".into()]);
        }
        table.add([TableValue::Unknown, "".into()]);
        table.add_source("a.rs:1", || vec!["  >    1 | let a;".to_owned()]);
        table.add_source("a.rs:1", || unreachable!("the place is known"));
        let json = table.json();
        assert!(
            json.contains(r#""texts":["","a\u003c/script>","a.rs:1"]"#),
            "{json}"
        );
        assert!(json.contains(r#""values":[1,2,3,null]"#), "{json}");
        assert!(json.contains(r#""values":[1,1,1,0]"#), "{json}");
        assert!(json.contains(r#""sources":{"2":"#), "{json}");
        assert_eq!(table.describe(), "4 tasks");
    }
}
