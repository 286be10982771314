//! Row groups of words are written, and read back with the reader of the parquet crate.

use std::fs::File;

use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::RowAccessor as _;

use crate::tables::parquet::column::{Column, Values};
use crate::tables::parquet::file::TableFile;
use crate::tables::schema::{Kind, Table, TableId};
use crate::tables::value::Value;

const ROWS: usize = 5000;

/// Texts with runs of equal texts and of nulls, and with parts that alternate.
fn text(row: usize) -> Option<&'static str> {
    match (row / 50) % 4 {
        0 => Some("suspend"),
        1 => None,
        2 => Some(["run", "", "birth", "death", "acquire"][row % 5]),
        _ => [Some("suspend"), None, None][row % 3],
    }
}

/// The value of a row in a column of any kind.
fn value(kind: Kind, is_nullable: bool, row: usize) -> Value<'static> {
    match (kind, text(row)) {
        (Kind::Text, None) if is_nullable => Value::Null,
        (Kind::Text, text) => Value::Word(text.unwrap_or("none")),
        (Kind::Flag, _) => Value::Flag(false),
        _ => Value::Number(7),
    }
}

/// Fills empty columns with rows.
type Fill<'f> = &'f dyn Fn(&mut Vec<Column>);

fn fill(columns: &mut [Column], value: impl Fn(usize, usize) -> Value<'static>) {
    for (index, column) in columns.iter_mut().enumerate() {
        for row in 0..ROWS {
            column.push(value(index, row));
        }
    }
}

fn of_words(table: &Table) -> impl Fn(usize, usize) -> Value<'static> {
    |index, row| {
        let column = &table.columns[index];
        value(column.kind, column.is_nullable, row)
    }
}

fn columns(table: &Table) -> Vec<Column> {
    let mut columns = Column::of_table(table);
    fill(&mut columns, of_words(table));
    columns
}

/// The texts of this column in all row groups of a file, which is written first.
fn read_back(groups: &[Fill<'_>], index: usize) -> Vec<Option<String>> {
    let table = TableId::Events.table();
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("events.parquet");
    let mut file = TableFile::create(table, File::create(&path).expect("a file")).expect("a table");
    let mut columns = Column::of_table(table);
    for fill in groups {
        fill(&mut columns);
        file.write(&columns).expect("written");
        columns.iter_mut().for_each(Column::clear);
    }
    file.finish().expect("written");
    let reader = SerializedFileReader::new(File::open(&path).expect("a file")).expect("a table");
    assert_eq!(reader.num_row_groups(), groups.len());
    let rows = reader.get_row_iter(None).expect("rows");
    rows.map(|row| row.expect("a row").get_string(index).ok().cloned())
        .collect()
}

#[test]
fn groups_of_many_texts_are_between_groups_of_few() {
    const KIND: usize = 5;
    let table = TableId::Events.table();
    let many = |row: usize| format!("text {}", row % 700);
    let few = |columns: &mut Vec<Column>| fill(columns, of_words(table));
    let of_many = |columns: &mut Vec<Column>| {
        let rest = of_words(table);
        fill(columns, |index, row| {
            if index == KIND {
                Value::Null
            } else {
                rest(index, row)
            }
        });
        columns[KIND].clear();
        for row in 0..ROWS {
            columns[KIND].push(Value::Text(&many(row)));
        }
    };
    let expected = |row: usize| match row / ROWS {
        1 => Some(many(row % ROWS)),
        _ => text(row % ROWS).map(str::to_owned),
    };
    let read = read_back(&[&few, &of_many, &few], KIND);
    assert_eq!(read.len(), 3 * ROWS);
    for (row, read) in read.into_iter().enumerate() {
        assert_eq!(read, expected(row), "{row}");
    }
}

#[test]
fn words_and_nulls_are_read_back() {
    let table = TableId::Events.table();
    let columns = columns(table);
    let is_of_words =
        |column: &&Column| matches!(&column.values, Values::Texts(texts) if texts.are_words());
    assert_eq!(columns.iter().filter(is_of_words).count(), 2);
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("events.parquet");
    let mut file = TableFile::create(table, File::create(&path).expect("a file")).expect("a table");
    file.write(&columns).expect("written");
    file.finish().expect("written");
    let reader = SerializedFileReader::new(File::open(&path).expect("a file")).expect("a table");
    let mut rows = 0;
    for (row, read) in reader.get_row_iter(None).expect("rows").enumerate() {
        let read = read.expect("a row");
        assert_eq!(
            read.get_string(2).expect("a text"),
            text(row).unwrap_or("none")
        );
        assert_eq!(
            read.get_string(5).ok().map(String::as_str),
            text(row),
            "{row}"
        );
        rows += 1;
    }
    assert_eq!(rows, ROWS);
    let statistics = reader.metadata().row_group(0).column(5).statistics();
    let statistics = statistics.expect("statistics");
    assert_eq!(statistics.min_bytes_opt(), Some(&b""[..]));
    assert_eq!(statistics.max_bytes_opt(), Some(&b"suspend"[..]));
    let nulls = (0..ROWS).filter(|row| text(*row).is_none()).count();
    assert_eq!(statistics.null_count_opt(), Some(nulls as u64));
}
