//! The values of a row, and the trait of the writers that store rows.

use anyhow::Result;

use super::schema::TableId;

/// A value, of the kind of its column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'v> {
    /// Missing.
    Null,
    /// Of a [`Time`](super::schema::Kind::Time) or a [`Number`](super::schema::Kind::Number).
    Number(i64),
    /// Without a sign.
    Unsigned(u64),
    /// Text.
    Text(&'v str),
    /// Text that repeats often, since it is one of few words.
    Word(&'static str),
    /// True or false.
    Flag(bool),
}

impl Value<'_> {
    /// A count, a duration or a time. Replaces what does not fit by the largest number.
    pub fn count(number: u64) -> Self {
        Value::Number(i64::try_from(number).unwrap_or(i64::MAX))
    }

    /// Like [`count`](Self::count), for a number that may be missing.
    pub fn count_or_null(number: Option<u64>) -> Self {
        number.map_or(Value::Null, Value::count)
    }

    /// An id that may be missing.
    pub fn id(id: Option<u32>) -> Self {
        id.map_or(Value::Null, |id| Value::Number(id.into()))
    }

    /// A number without a sign that may be missing.
    pub fn unsigned(number: Option<u64>) -> Self {
        number.map_or(Value::Null, Value::Unsigned)
    }
}

impl<'v> Value<'v> {
    /// A text that may be missing.
    pub fn text(text: Option<&'v str>) -> Self {
        text.map_or(Value::Null, Value::Text)
    }
}

/// Stores the rows of all tables.
pub trait TableWriter {
    /// Stores a row. Its values are those of the columns of the table, in this order.
    ///
    /// # Errors
    /// If the output cannot be written.
    fn row(&mut self, table: TableId, values: &[Value<'_>]) -> Result<()>;

    /// Like [`row`](Self::row), for a row without texts but words, of a table with many such rows.
    ///
    /// # Errors
    /// If the output cannot be written.
    fn row_of_words(&mut self, table: TableId, values: &[Value<'static>]) -> Result<()> {
        self.row(table, values)
    }

    /// Writes what is not written yet. All rows are stored then.
    ///
    /// # Errors
    /// If the output cannot be written.
    fn finish(&mut self) -> Result<()>;
}
