//! Writes the tables as Parquet files.
//!
//! Rows are collected by column, some ten thousand at a time, and written as a row group on a thread of
//! its own. Times, counts and ids in the trace are stored as differences (`DELTA_BINARY_PACKED`). Texts, and
//! numbers that the program or the kernel chose, are stored as numbers of a dictionary. Both are compressed
//! with zstd.
//!
//! The parquet crate encodes numbers. Columns of few texts are encoded here (`words`), because that crate would
//! look up the text of each row again, although its number in the dictionary is known.

mod column;
mod file;
mod runs;
mod texts;
mod words;

use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{self, JoinHandle};

use anyhow::{Result, anyhow};

use super::schema::{TABLES, TableId};
use super::value::{TableWriter, Value};
use crate::output::dataset::Folder;
use column::Column;
use file::TableFile;

/// Rows of a row group. As many as in a row group of DuckDB, which reads a group on one thread.
const GROUP_ROWS: usize = 122_880;

/// Rows that are copied into the columns together: a column at a time takes less time than a row at a time. They fit
/// into the first cache of a processor.
const BATCH_ROWS: usize = 128;

/// Maximum number of row groups that wait to be written, each of up to some megabytes.
const MAX_WAITING: usize = 1;

/// The columns of a row group, and the table to which they belong.
type Group = (TableId, Vec<Column>);

/// A file for each table.
pub struct ParquetFiles {
    /// The latest rows of each table that are not in `rows` yet, one after the other.
    batches: Vec<Vec<Value<'static>>>,
    /// The rows of each table that are not in a row group yet.
    rows: Vec<Vec<Column>>,
    /// Empty columns of each table, with the memory of row groups that are written.
    spare: Vec<Vec<Vec<Column>>>,
    thread: Option<WriterThread>,
}

struct WriterThread {
    groups: SyncSender<Group>,
    written: Receiver<Group>,
    thread: JoinHandle<Result<()>>,
}

impl ParquetFiles {
    /// Creates the files.
    ///
    /// # Errors
    /// If a file or the thread cannot be created.
    pub fn create(folder: &Folder) -> Result<Self> {
        let files = TABLES.iter().map(|table| {
            let file = folder.create(&format!("{}.parquet", table.name))?;
            TableFile::create(table, file)
        });
        let files: Vec<TableFile> = files.collect::<Result<_>>()?;
        let (groups, waiting) = sync_channel(MAX_WAITING);
        let (done, written) = channel();
        let thread = thread::Builder::new().name("parquet".to_owned());
        let thread = thread.spawn(move || write(files, &waiting, &done))?;
        Ok(ParquetFiles {
            batches: TABLES.iter().map(|_| Vec::new()).collect(),
            rows: TABLES.iter().map(Column::of_table).collect(),
            spare: TABLES.iter().map(|_| Vec::new()).collect(),
            thread: Some(WriterThread {
                groups,
                written,
                thread,
            }),
        })
    }

    /// Moves the latest rows of a table to its columns.
    fn take_batch(&mut self, table: TableId) -> Result<()> {
        let batch = &mut self.batches[table as usize];
        if batch.is_empty() {
            return Ok(());
        }
        let columns = &mut self.rows[table as usize];
        let width = columns.len();
        for (index, column) in columns.iter_mut().enumerate() {
            column.extend(batch[index..].iter().step_by(width));
        }
        batch.clear();
        self.flush_if_full(table)
    }

    fn flush_if_full(&mut self, table: TableId) -> Result<()> {
        if self.rows[table as usize][0].rows() < GROUP_ROWS {
            return Ok(());
        }
        self.flush(table)
    }

    /// Passes the collected rows of a table to the thread.
    fn flush(&mut self, table: TableId) -> Result<()> {
        let empty = self.empty_columns(table);
        let columns = std::mem::replace(&mut self.rows[table as usize], empty);
        let sent = match &self.thread {
            Some(thread) => thread.groups.send((table, columns)).is_ok(),
            None => false,
        };
        if sent { Ok(()) } else { self.join() }
    }

    /// Columns for the next row group. Memory that was used before is in the cache, and needs no page faults.
    fn empty_columns(&mut self, table: TableId) -> Vec<Column> {
        let written = self
            .thread
            .iter()
            .flat_map(|thread| thread.written.try_iter());
        for (table, columns) in written {
            self.spare[table as usize].push(columns);
        }
        let spare = self.spare[table as usize].pop();
        spare.unwrap_or_else(|| Column::of_table(table.table()))
    }

    /// Waits for the thread, which ends after an error, or once there are no more groups.
    fn join(&mut self) -> Result<()> {
        let Some(WriterThread { groups, thread, .. }) = self.thread.take() else {
            return Err(anyhow!("the thread that writes has ended"));
        };
        drop(groups);
        thread
            .join()
            .unwrap_or_else(|_| Err(anyhow!("the thread that writes panicked")))
    }
}

/// Writes row groups until there are no more. Passes their columns to `done`, without rows.
fn write(mut files: Vec<TableFile>, groups: &Receiver<Group>, done: &Sender<Group>) -> Result<()> {
    for (table, mut columns) in groups {
        files[table as usize].write(&columns)?;
        columns.iter_mut().for_each(Column::clear);
        // After the last row group, columns are not needed any more.
        let _ = done.send((table, columns));
    }
    files.into_iter().try_for_each(TableFile::finish)
}

impl TableWriter for ParquetFiles {
    fn row(&mut self, table: TableId, values: &[Value<'_>]) -> Result<()> {
        self.take_batch(table)?;
        for (column, value) in self.rows[table as usize].iter_mut().zip(values) {
            column.push(*value);
        }
        self.flush_if_full(table)
    }

    fn row_of_words(&mut self, table: TableId, values: &[Value<'static>]) -> Result<()> {
        let batch = &mut self.batches[table as usize];
        batch.extend_from_slice(values);
        if BATCH_ROWS * values.len() <= batch.len() {
            self.take_batch(table)?;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        for table in TableId::ALL {
            self.take_batch(table)?;
            if self.rows[table as usize][0].rows() != 0 {
                self.flush(table)?;
            }
        }
        self.join()
    }
}
