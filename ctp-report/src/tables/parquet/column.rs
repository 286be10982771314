//! The values of a column, collected for a row group.

use super::texts::Texts;
use crate::tables::schema::{self, Kind, Table};
use crate::tables::value::Value;

/// The values of a column that are not null, and which rows have a value.
pub struct Column {
    /// The values.
    pub values: Values,
    /// For each row, 1 if it has a value, and 0 if not. Empty if all rows must have a value.
    pub levels: Vec<i16>,
    is_nullable: bool,
}

/// Values of a type of Parquet.
pub enum Values {
    /// Numbers, with or without a sign.
    Numbers(Vec<i64>),
    /// True or false.
    Flags(Vec<bool>),
    /// Texts.
    Texts(Box<Texts>),
}

impl Column {
    /// The empty columns of a table.
    pub fn of_table(table: &Table) -> Vec<Self> {
        table.columns.iter().map(Column::of).collect()
    }

    fn of(column: &schema::Column) -> Self {
        Column {
            values: match column.kind {
                Kind::Time | Kind::Number | Kind::Unsigned => Values::Numbers(Vec::new()),
                Kind::Flag => Values::Flags(Vec::new()),
                Kind::Text => Values::Texts(Box::default()),
            },
            levels: Vec::new(),
            is_nullable: column.is_nullable,
        }
    }

    /// Removes all rows, and keeps the memory.
    pub fn clear(&mut self) {
        self.levels.clear();
        match &mut self.values {
            Values::Numbers(numbers) => numbers.clear(),
            Values::Flags(flags) => flags.clear(),
            Values::Texts(texts) => texts.clear(),
        }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        match &self.values {
            _ if self.is_nullable => self.levels.len(),
            Values::Numbers(numbers) => numbers.len(),
            Values::Flags(flags) => flags.len(),
            Values::Texts(texts) => texts.numbers().len(),
        }
    }

    /// Adds the value of the next row.
    pub fn push(&mut self, value: Value<'_>) {
        if self.is_nullable {
            self.levels.push(level(&value));
        }
        match &mut self.values {
            Values::Numbers(numbers) => numbers.extend(number(&value)),
            Values::Flags(flags) => flags.extend(flag(&value)),
            Values::Texts(texts) => match value {
                Value::Null => {}
                Value::Text(text) => texts.push(text),
                Value::Word(word) => texts.push_word(word),
                value => is_of_another_kind(&value),
            },
        }
    }

    /// Adds the values of the next rows, which are no texts but words.
    pub fn extend<'v>(&mut self, values: impl Iterator<Item = &'v Value<'static>> + Clone) {
        if self.is_nullable {
            self.levels.extend(values.clone().map(level));
        }
        match &mut self.values {
            Values::Numbers(numbers) => numbers.extend(values.filter_map(number)),
            Values::Flags(flags) => flags.extend(values.filter_map(flag)),
            Values::Texts(texts) => values
                .filter_map(word)
                .for_each(|word| texts.push_word(word)),
        }
    }
}

/// 1 for a value, and 0 for none.
#[inline]
fn level(value: &Value<'_>) -> i16 {
    i16::from(!matches!(value, Value::Null))
}

/// A number. Columns of numbers with and without a sign have the same bytes.
#[inline]
fn number(value: &Value<'_>) -> Option<i64> {
    match value {
        Value::Null => None,
        Value::Number(number) => Some(*number),
        Value::Unsigned(number) => Some(number.cast_signed()),
        value => is_of_another_kind(value),
    }
}

#[inline]
fn flag(value: &Value<'_>) -> Option<bool> {
    match value {
        Value::Null => None,
        Value::Flag(flag) => Some(*flag),
        value => is_of_another_kind(value),
    }
}

#[inline]
fn word(value: &Value<'static>) -> Option<&'static str> {
    match value {
        Value::Null => None,
        Value::Word(word) => Some(word),
        value => is_of_another_kind(value),
    }
}

/// Rejects a value that the schema does not have.
#[cold]
fn is_of_another_kind(value: &Value<'_>) -> ! {
    unreachable!("{value:?} is not of the kind of its column")
}
