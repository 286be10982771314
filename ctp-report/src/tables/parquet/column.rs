//! The values of a column, collected for a row group.

use foldhash::HashMap;
use parquet::data_type::ByteArray;

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
    Texts(Texts),
}

/// Texts as numbers of a dictionary, since most repeat few words.
#[derive(Default)]
pub struct Texts {
    numbers: Vec<u32>,
    dictionary: Vec<ByteArray>,
    known: HashMap<Box<str>, u32>,
}

/// How many texts of a dictionary are compared before a text is hashed. Most columns have fewer.
const COMPARED: usize = 4;

impl Texts {
    fn push(&mut self, text: &str) {
        let mut first = self.dictionary.iter().take(COMPARED);
        let number = match first.position(|known| known.data() == text.as_bytes()) {
            Some(number) => number as u32,
            None => self.number(text),
        };
        self.numbers.push(number);
    }

    fn clear(&mut self) {
        self.numbers.clear();
        self.dictionary.clear();
        self.known.clear();
    }

    fn number(&mut self, text: &str) -> u32 {
        if let Some(number) = self.known.get(text) {
            return *number;
        }
        // A row group has fewer texts.
        let number = self.dictionary.len() as u32;
        self.dictionary
            .push(ByteArray::from(text.as_bytes().to_vec()));
        self.known.insert(text.into(), number);
        number
    }

    /// The texts, of which equal texts share their memory.
    pub fn to_bytes(&self) -> Vec<ByteArray> {
        let all = self.numbers.iter();
        all.map(|number| self.dictionary[*number as usize].clone())
            .collect()
    }
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
                Kind::Text => Values::Texts(Texts::default()),
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
            Values::Texts(texts) => texts.numbers.len(),
        }
    }

    /// Adds the value of the next row.
    pub fn push(&mut self, value: Value<'_>) {
        if self.is_nullable {
            self.levels.push(i16::from(value != Value::Null));
        }
        match (&mut self.values, value) {
            (_, Value::Null) => {}
            (Values::Numbers(numbers), Value::Number(number)) => numbers.push(number),
            (Values::Numbers(numbers), Value::Unsigned(number)) => {
                // Columns of unsigned numbers have the same bytes.
                numbers.push(i64::from_ne_bytes(number.to_ne_bytes()));
            }
            (Values::Flags(flags), Value::Flag(flag)) => flags.push(flag),
            (Values::Texts(texts), Value::Text(text)) => texts.push(text),
            (_, value) => unreachable!("{value:?} is not of the kind of its column"),
        }
    }
}
