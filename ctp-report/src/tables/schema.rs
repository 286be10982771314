//! The tables of an export: names, columns, types and units. The writers, the documentation and the tests
//! use this description.

mod definitions;

pub use definitions::TABLES;

/// A table.
#[derive(Debug)]
pub struct Table {
    /// The name, which is also that of its file.
    pub name: &'static str,
    /// What a row stands for.
    pub meaning: &'static str,
    /// The columns, in the order of the values of a row.
    pub columns: &'static [Column],
}

/// The tables, in the order of [`TABLES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableId {
    /// The recording.
    Traces,
    /// Its processes.
    Processes,
    /// Places in the program.
    Sites,
    /// The coroutines.
    Coroutines,
    /// What coroutines and threads did.
    Events,
    /// Each wait, from suspend to run.
    Waits,
    /// Each call of `wake()`.
    Wakes,
    /// The verdicts of `--stuck`.
    Verdicts,
}

impl TableId {
    /// All tables.
    pub const ALL: [TableId; TABLES.len()] = [
        TableId::Traces,
        TableId::Processes,
        TableId::Sites,
        TableId::Coroutines,
        TableId::Events,
        TableId::Waits,
        TableId::Wakes,
        TableId::Verdicts,
    ];

    /// The description of the table.
    pub fn table(self) -> &'static Table {
        &TABLES[self as usize]
    }
}

/// A column.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// The name. Times and durations end in `_ns`.
    pub name: &'static str,
    /// The type of the values.
    pub kind: Kind,
    /// Whether a value may be missing.
    pub is_nullable: bool,
    /// The key of each row, or the table that has this key.
    pub key: Key,
    /// What a value means.
    pub meaning: &'static str,
}

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Nanoseconds since the start of the recording, which grow from row to row or nearly so. A later time
    /// than an `i64` can hold becomes the latest.
    Time,
    /// A number that fits into an `i64`: an id, a count, or a duration.
    Number,
    /// A number of 64 bits without a sign, such as an address.
    Unsigned,
    /// Text in UTF-8. Control characters are escaped, as on all pages.
    Text,
    /// True or false.
    Flag,
}

/// The part of a column in the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// No part.
    None,
    /// Identifies the row among those of the trace.
    Own,
    /// Is the key of a row in the table of this name.
    Foreign(&'static str),
}

impl Column {
    const fn new(name: &'static str, kind: Kind, meaning: &'static str) -> Self {
        Column {
            name,
            kind,
            is_nullable: false,
            key: Key::None,
            meaning,
        }
    }

    /// Values may be missing.
    const fn or_null(self) -> Self {
        Column {
            is_nullable: true,
            ..self
        }
    }

    /// The values identify the rows.
    const fn key(self) -> Self {
        Column {
            key: Key::Own,
            ..self
        }
    }

    /// The values identify rows of this table.
    const fn of(self, table: &'static str) -> Self {
        Column {
            key: Key::Foreign(table),
            ..self
        }
    }
}

const fn time(name: &'static str, meaning: &'static str) -> Column {
    Column::new(name, Kind::Time, meaning)
}

const fn number(name: &'static str, meaning: &'static str) -> Column {
    Column::new(name, Kind::Number, meaning)
}

const fn unsigned(name: &'static str, meaning: &'static str) -> Column {
    Column::new(name, Kind::Unsigned, meaning)
}

const fn text(name: &'static str, meaning: &'static str) -> Column {
    Column::new(name, Kind::Text, meaning)
}

const fn flag(name: &'static str, meaning: &'static str) -> Column {
    Column::new(name, Kind::Flag, meaning)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn foreign_keys_name_keys() {
        let keys: BTreeSet<&str> = TABLES
            .iter()
            .filter(|table| table.columns[0].key == Key::Own)
            .map(|table| table.name)
            .collect();
        for column in TABLES.iter().flat_map(|table| table.columns) {
            if let Key::Foreign(table) = column.key {
                assert!(keys.contains(table), "{}", column.name);
            }
        }
    }

    #[test]
    fn names_are_unique_and_times_have_units() {
        for table in &TABLES {
            let names: BTreeSet<&str> = table.columns.iter().map(|column| column.name).collect();
            assert_eq!(names.len(), table.columns.len(), "{}", table.name);
            let times = table
                .columns
                .iter()
                .filter(|column| column.kind == Kind::Time);
            for column in times {
                assert!(column.name.ends_with("_ns"), "{}", column.name);
            }
        }
    }
}
