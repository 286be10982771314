//! Writes the tables into an SQLite database.
//!
//! The database is written under a temporary name, and renamed once it is complete.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use ctp_trace::output::{Name, ResolvedPath, WhenExisting, resolve};
use ctp_trace::record::Start;
use rusqlite::types::{ToSqlOutput, Value as SqlValue, ValueRef};
use rusqlite::{Connection, OpenFlags, ToSql, params_from_iter};
use rustix::fs::{AtFlags, renameat, unlinkat};

use super::schema::{Column, Key, Kind, TABLES, Table, TableId};
use super::value::{TableWriter, Value};
use crate::output::dataset::host;
use crate::text::{escape, units};

/// Marks a database as one of this program, so that no other database is replaced.
const APPLICATION_ID: i32 = i32::from_be_bytes(*b"cTPt");
/// Offset of the application id in a database.
const APPLICATION_ID_OFFSET: usize = 68;

/// Writes a database at this path. `fill` gets the writer. Returns the path.
///
/// # Errors
/// If the path is something else than a database of this program, or the database cannot be written.
pub fn write(
    path: &Path,
    start: &Start,
    fill: impl FnOnce(&mut dyn TableWriter) -> Result<()>,
) -> Result<PathBuf> {
    let cannot_write = || format!("cannot write {}: name another file", path.display());
    // Rejects links and files that another user planted, before anything is read.
    resolve(path, WhenExisting::Overwritten).with_context(cannot_write)?;
    check_earlier(path)?;
    let ResolvedPath::File(name) =
        resolve(path, WhenExisting::Replaced).with_context(cannot_write)?
    else {
        bail!(
            "cannot write {}: a database needs a regular file; name another",
            path.display()
        );
    };
    let temporary = create_temporary(&name).with_context(cannot_write)?;
    let written = Database::create(&temporary.path, start)
        .and_then(|mut database| fill(&mut database))
        .and_then(|()| {
            Ok(renameat(
                &temporary.directory,
                &temporary.name,
                &name.directory,
                &name.name,
            )?)
        });
    if written.is_err() {
        // The first error is reported; a second error has the same cause.
        let _ = unlinkat(&temporary.directory, &temporary.name, AtFlags::empty());
    }
    written.with_context(cannot_write)?;
    Ok(path.to_owned())
}

/// Refuses to replace a file that this program did not write.
fn check_earlier(path: &Path) -> Result<()> {
    let Ok(metadata) = fs::metadata(path) else {
        return Ok(());
    };
    if !metadata.is_file() || metadata.len() == 0 || is_ours(path).unwrap_or(false) {
        return Ok(());
    }
    bail!(
        "{} is no database of ctp-report: remove it first, or name another file",
        path.display()
    )
}

fn is_ours(path: &Path) -> io::Result<bool> {
    let mut head = [0; APPLICATION_ID_OFFSET + 4];
    fs::File::open(path)?.read_exact(&mut head)?;
    Ok(head.starts_with(b"SQLite format 3\0") && head.ends_with(&APPLICATION_ID.to_be_bytes()))
}

/// Creates an empty file beside the final file, under a name that no other export has.
fn create_temporary(target: &Name) -> io::Result<Name> {
    let process = std::process::id();
    for number in 0..1000 {
        let mut name = target.name.clone();
        name.push(format!(".ctp-export-{process}-{number}"));
        let candidate = Name {
            directory: target.directory.clone(),
            path: target.path.with_file_name(&name),
            name,
        };
        match candidate.create() {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            created => return created.map(|_| candidate),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// A database that is being filled, in a single transaction.
struct Database {
    connection: Connection,
    inserts: Vec<String>,
}

impl Database {
    /// Creates the tables in an empty file.
    fn create(path: &Path, start: &Start) -> Result<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_NOFOLLOW
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        // Without links, because SQLite rejects links anywhere in the path.
        let connection = Connection::open_with_flags(path.canonicalize()?, flags)?;
        // Until the file is renamed, nothing else reads it, and an interrupted export is discarded. Rows
        // may come before those to which they refer.
        connection.execute_batch(&format!(
            "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE; \
             PRAGMA foreign_keys = OFF; PRAGMA application_id = {APPLICATION_ID}; BEGIN;"
        ))?;
        for table in &TABLES {
            connection.execute_batch(&create_statement(table, start))?;
        }
        connection.set_prepared_statement_cache_capacity(TABLES.len());
        Ok(Database {
            connection,
            inserts: TABLES.iter().map(insert_statement).collect(),
        })
    }
}

impl TableWriter for Database {
    fn row(&mut self, table: TableId, values: &[Value<'_>]) -> Result<()> {
        let mut statement = self
            .connection
            .prepare_cached(&self.inserts[table as usize])?;
        statement.execute(params_from_iter(values))?;
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        Ok(self.connection.execute_batch("COMMIT; ANALYZE;")?)
    }
}

/// A number without a sign that exceeds SQLite's numbers becomes text.
impl ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match *self {
            Value::Null => ToSqlOutput::Owned(SqlValue::Null),
            Value::Number(number) => ToSqlOutput::Owned(SqlValue::Integer(number)),
            Value::Flag(flag) => ToSqlOutput::Owned(SqlValue::Integer(flag.into())),
            Value::Text(text) | Value::Word(text) => {
                ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes()))
            }
            Value::Unsigned(number) => ToSqlOutput::Owned(match i64::try_from(number) {
                Ok(number) => SqlValue::Integer(number),
                Err(_) => SqlValue::Text(number.to_string()),
            }),
        })
    }
}

/// The statement that creates a table, with comments, which SQLite keeps. The columns `host` and `trace`,
/// which are folders in a dataset, take no room.
fn create_statement(table: &Table, start: &Start) -> String {
    let columns: Vec<String> = table.columns.iter().map(column).collect();
    let constant = |name: &str, value: &str| {
        let value = value.replace('\'', "''");
        format!("{name} TEXT AS ('{value}') VIRTUAL")
    };
    format!(
        "CREATE TABLE {} ( -- {}\n{}{},\n{});",
        table.name,
        table.meaning,
        columns.concat(),
        constant("host", &escape(host(start))),
        constant("trace", &units::hex(&start.trace_id))
    )
}

fn column(column: &Column) -> String {
    let kind = match column.kind {
        Kind::Time | Kind::Number | Kind::Flag => " INTEGER",
        Kind::Text => " TEXT",
        // With a type, SQLite would round large numbers.
        Kind::Unsigned => "",
    };
    let rest = match column.key {
        Key::Own => " PRIMARY KEY".to_owned(),
        Key::Foreign(table) => format!(" REFERENCES {table}"),
        Key::None => String::new(),
    };
    let null = if column.is_nullable { "" } else { " NOT NULL" };
    format!("{}{kind}{null}{rest}, -- {}\n", column.name, column.meaning)
}

/// The statement that inserts a row.
fn insert_statement(table: &Table) -> String {
    let names: Vec<&str> = table.columns.iter().map(|column| column.name).collect();
    let places = vec!["?"; names.len()].join(", ");
    let names = names.join(", ");
    format!("INSERT INTO {} ({names}) VALUES ({places})", table.name)
}
