//! The second thread: encodes, compresses and writes, so that the first one never waits for the
//! disk.

use std::fs::File;
use std::io::{self, BufWriter};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use ctp_trace::Writer;
use ctp_trace::record::{End, Event, Nanos, Record, Wake};
use rustix::process::setpriority_process;
use rustix::thread::gettid;

use crate::backlog::Backlog;
use crate::harvest::{Standstill, remember};
use crate::lookout::{Sighting, Watch};

/// The near end of it.
#[derive(Debug)]
pub struct Encoder {
    rows: Vec<Row>,
    messages: Sender<Message>,
    used: Receiver<Vec<Row>>,
    thread: JoinHandle<io::Result<File>>,
    backlog: Backlog,
    written_bytes: Arc<AtomicU64>,
    /// May the caller be kept waiting?
    is_patient: bool,
}

/// A record; what is seldom and large lies apart.
#[derive(Debug)]
pub enum Row {
    /// A change of state.
    Event(Event),
    /// A wake.
    Wake(Wake),
    /// All else.
    Other(Box<Record>),
}

impl From<Record> for Row {
    fn from(record: Record) -> Self {
        match record {
            Record::Event(event) => Row::Event(event),
            Record::Wake(wake) => Row::Wake(wake),
            other => Row::Other(Box::new(other)),
        }
    }
}

#[derive(Debug)]
enum Message {
    Rows(Vec<Row>),
    /// All so far is to be on disk, with the loss so far.
    Flush(u64),
    /// Somebody wants to know what is stuck: all until then was handed over, and of those that stand
    /// still this is told besides.
    Look(Nanos, Box<Standstill>),
    Finish(End),
}

/// Rows that are handed over at once: to wake a thread costs as much as to encode a hundred.
const BATCH: usize = 2048;
/// Batches that are kept to be filled again.
const MOST_USED: usize = 64;
/// How far it steps back behind the program and the first thread.
const NICE: i32 = 5;

impl Encoder {
    /// Starts it.
    ///
    /// # Errors
    /// Those of the kernel: there are too many threads.
    pub fn start(
        writer: Writer<BufWriter<File>>,
        backlog: Backlog,
        watched: Option<Watched>,
    ) -> io::Result<Self> {
        let (messages, received) = channel();
        let (give_back, used) = sync_channel(MOST_USED);
        let written_bytes = Arc::new(AtomicU64::new(0));
        let desk = Desk {
            writer,
            failed: None,
            watched,
            give_back,
            backlog: backlog.clone(),
            written_bytes: written_bytes.clone(),
        };
        let thread = thread::Builder::new().name("encoder".into());
        Ok(Encoder {
            rows: Vec::with_capacity(BATCH),
            messages,
            used,
            thread: thread.spawn(move || desk.work(received))?,
            backlog,
            written_bytes,
            is_patient: false,
        })
    }

    /// From now on nobody else waits for the caller: it may be kept waiting while there is much
    /// to write.
    pub fn be_patient(&mut self) {
        self.is_patient = true;
    }

    /// Bytes that were given to the file.
    pub fn written_bytes(&self) -> u64 {
        self.written_bytes.load(Ordering::Relaxed)
    }

    /// Takes one.
    #[inline]
    pub fn take(&mut self, row: Row) {
        self.rows.push(row);
        if self.rows.len() == BATCH {
            self.hand_over();
        }
    }

    /// All so far will be on disk soon.
    pub fn flush(&mut self, lost: u64) {
        self.hand_over();
        self.send(Message::Flush(lost));
    }

    /// Looks at what is stuck, once all so far is encoded; only if somebody wants to know.
    pub fn look(&mut self, at: Nanos, standstill: Standstill) {
        self.hand_over();
        self.send(Message::Look(at, Box::new(standstill)));
    }

    /// Waits until all is written: the file, open at its end.
    ///
    /// # Errors
    /// The first of those of the file.
    pub fn finish(mut self, end: &End) -> io::Result<File> {
        self.hand_over();
        self.send(Message::Finish(*end));
        let ended = self.thread.join();
        ended.unwrap_or_else(|panic| resume_unwind(panic))
    }

    fn hand_over(&mut self) {
        if self.rows.is_empty() {
            return;
        }
        let empty = self.used.try_recv();
        let empty = empty.unwrap_or_else(|_| Vec::with_capacity(BATCH));
        let rows = std::mem::replace(&mut self.rows, empty);
        self.backlog.rows_added(bytes(&rows));
        self.send(Message::Rows(rows));
        while self.is_patient && self.backlog.has_enough_rows() && !self.thread.is_finished() {
            thread::sleep(Duration::from_millis(1));
        }
    }

    fn send(&self, message: Message) {
        // It takes messages until it is told to finish, or panics, which `finish` tells.
        let _ = self.messages.send(message);
    }
}

fn bytes(rows: &[Row]) -> u64 {
    size_of_val(rows) as u64
}

/// The account of what is written, and where it is told what it comes to.
pub type Watched = (Watch, Sender<Sighting>);

/// What the second thread has.
struct Desk {
    writer: Writer<BufWriter<File>>,
    failed: Option<io::Error>,
    watched: Option<Watched>,
    give_back: SyncSender<Vec<Row>>,
    backlog: Backlog,
    written_bytes: Arc<AtomicU64>,
}

impl Desk {
    fn work(mut self, messages: Receiver<Message>) -> io::Result<File> {
        // One that may not step back works all the same.
        let _ = setpriority_process(Some(gettid()), NICE);
        for message in messages {
            match message {
                Message::Rows(rows) => self.write(rows),
                Message::Flush(lost) => self.flush(lost),
                Message::Look(at, standstill) => self.look(at, *standstill),
                Message::Finish(end) => return self.finish(&end),
            }
        }
        Err(io::Error::other("the recording was given up"))
    }

    fn write(&mut self, mut rows: Vec<Row>) {
        self.writer.set_hurried(self.backlog.is_half_full());
        let bytes = bytes(&rows);
        for row in rows.drain(..) {
            self.note(&row);
            if self.failed.is_none() {
                let written = self.write_row(row);
                remember(&mut self.failed, written);
            }
        }
        self.backlog.rows_written(bytes);
        self.written_bytes
            .store(self.writer.bytes(), Ordering::Relaxed);
        // There are enough of them.
        let _ = self.give_back.try_send(rows);
    }

    fn note(&mut self, row: &Row) {
        let Some((watch, _)) = &mut self.watched else {
            return;
        };
        match row {
            Row::Event(event) => watch.take(&Record::Event(*event)),
            Row::Wake(wake) => watch.take(&Record::Wake(*wake)),
            Row::Other(record) => watch.take(record),
        }
    }

    fn look(&mut self, at: Nanos, standstill: Standstill) {
        if let Some((watch, sender)) = &mut self.watched {
            // Nobody listens when it is over.
            let _ = sender.send(watch.look(at, standstill));
        }
    }

    fn write_row(&mut self, row: Row) -> io::Result<()> {
        match row {
            Row::Event(event) => self.writer.write_event(&event),
            Row::Wake(wake) => self.writer.write(&Record::Wake(wake)),
            Row::Other(record) => self.writer.write(&record),
        }
    }

    fn flush(&mut self, lost: u64) {
        self.writer.set_lost(lost);
        if self.failed.is_none() {
            remember(&mut self.failed, self.writer.flush());
        }
    }

    fn finish(self, end: &End) -> io::Result<File> {
        match self.failed {
            Some(error) => Err(error),
            None => self
                .writer
                .finish(end)
                .and_then(|file| file.into_inner().map_err(io::IntoInnerError::into_error)),
        }
    }
}
