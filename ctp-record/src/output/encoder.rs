//! Rows become chunks where they come from; a second thread compresses and writes them, so that the
//! first one never waits for the disk.

use std::fs::File;
use std::io::{self, BufWriter};
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use ctp_trace::record::{End, Event, Nanos, Record, Start};
use ctp_trace::{ChunkWriter, Composer, RawChunk};

use crate::harvest::IdleReport;
use crate::monitor::lookout::{Sighting, Watch};
use crate::output::backlog::Backlog;
use crate::output::remember;
use crate::session::promptness;

/// The near end of it.
pub struct Encoder {
    composer: Composer,
    watched: Option<Watched>,
    /// A record that no chunk can hold.
    failed: Option<io::Error>,
    messages: Sender<Message>,
    used: Receiver<RawChunk>,
    thread: JoinHandle<io::Result<File>>,
    backlog: Backlog,
    account: Arc<Account>,
    /// May the caller be kept waiting?
    is_patient: bool,
    /// Records taken, without the start.
    records: u64,
}

/// What has become of the file so far.
#[derive(Debug, Default)]
struct Account {
    bytes: AtomicU64,
    failure: OnceLock<io::Error>,
}

enum Message {
    Chunk(RawChunk),
    /// All so far is to be on disk, with the loss so far.
    Flush(u64),
    Finish,
}

/// Chunks that wait to be filled again.
const MOST_USED: usize = 16;

impl Encoder {
    /// Starts it; a draft can be read from its start on.
    ///
    /// # Errors
    /// Those of the file, and of the kernel: there are too many threads.
    pub fn start(
        file: File,
        start: &Start,
        is_draft: bool,
        backlog: Backlog,
        watched: Option<Watched>,
    ) -> io::Result<Self> {
        let mut composer = Composer::new(start);
        let mut writer = ChunkWriter::new(BufWriter::new(file))?;
        while let Some(chunk) = composer.next_chunk() {
            writer.put(&chunk)?;
        }
        if is_draft {
            writer.flush()?;
        }
        let (messages, received) = channel();
        let (give_back, used) = sync_channel(MOST_USED);
        let account = Arc::<Account>::default();
        let desk = Desk {
            writer,
            failed: None,
            give_back,
            backlog: backlog.clone(),
            account: account.clone(),
        };
        let thread = thread::Builder::new().name("encoder".into());
        Ok(Encoder {
            composer,
            watched,
            failed: None,
            messages,
            used,
            thread: thread.spawn(move || desk.work(received))?,
            backlog,
            account,
            is_patient: false,
            records: 0,
        })
    }

    /// From now on nobody else waits for the caller: it may be kept waiting while there is much
    /// to write.
    pub fn be_patient(&mut self) {
        self.is_patient = true;
    }

    /// Bytes that were given to the file.
    pub fn written_bytes(&self) -> u64 {
        self.account.bytes.load(Ordering::Relaxed)
    }

    /// Why the file takes no more, once it does not.
    pub fn failure(&self) -> Option<&io::Error> {
        self.account.failure.get()
    }

    /// Takes one.
    pub fn take(&mut self, record: &Record) {
        if let Some((watch, _)) = &mut self.watched {
            watch.take(record);
        }
        let added = self.composer.add(record);
        self.records += u64::from(added.is_ok());
        remember(&mut self.failed, added);
        self.hand_over();
    }

    /// Takes events, in this order.
    pub fn take_events(&mut self, events: &[Event]) {
        if let Some((watch, _)) = &mut self.watched {
            let records = events.iter().map(|event| Record::Event(*event));
            records.for_each(|record| watch.take(&record));
        }
        self.composer.add_events(events);
        self.records += events.len() as u64;
        self.hand_over();
    }

    /// All so far will be on disk soon.
    pub fn flush(&mut self, lost: u64) {
        self.composer.cut();
        self.hand_over();
        self.send(Message::Flush(lost));
    }

    /// Looks at what is stuck after all so far; only if somebody wants to know.
    pub fn look(&mut self, at: Nanos, standstill: IdleReport) {
        if let Some((watch, sender)) = &mut self.watched {
            // Nobody listens when it is over.
            let _ = sender.send(watch.look(at, standstill));
        }
    }

    /// Waits until all is written: the file, open at its end.
    ///
    /// # Errors
    /// The first of those of the file, or that a record was too large.
    pub fn finish(mut self, end: &End) -> io::Result<File> {
        self.composer.end(&End {
            records: self.records,
            ..*end
        });
        self.hand_over();
        self.send(Message::Finish);
        let ended = self.thread.join();
        let file = ended.unwrap_or_else(|panic| resume_unwind(panic))?;
        self.failed.map_or(Ok(file), Err)
    }

    #[inline]
    fn hand_over(&mut self) {
        while let Some(chunk) = self.composer.next_chunk() {
            self.send_chunk(chunk);
        }
    }

    #[cold]
    fn send_chunk(&mut self, chunk: RawChunk) {
        self.used
            .try_iter()
            .for_each(|used| self.composer.reuse(used));
        self.backlog.chunk_added(bytes(&chunk));
        self.send(Message::Chunk(chunk));
        while self.is_patient && self.backlog.has_enough_chunks() && !self.thread.is_finished() {
            thread::sleep(Duration::from_millis(1));
        }
    }

    fn send(&self, message: Message) {
        // It takes messages until it is told to finish, or panics, which `finish` tells.
        let _ = self.messages.send(message);
    }
}

fn bytes(chunk: &RawChunk) -> u64 {
    chunk.bytes() as u64
}

/// For one more who is to know of it.
pub fn same(error: &io::Error) -> io::Error {
    let raw = error.raw_os_error().map(io::Error::from_raw_os_error);
    raw.unwrap_or_else(|| io::Error::new(error.kind(), error.to_string()))
}

/// The account of what is written, and where it is told what it comes to.
pub type Watched = (Watch, Sender<Sighting>);

/// What the second thread has.
struct Desk {
    writer: ChunkWriter<BufWriter<File>>,
    failed: Option<io::Error>,
    give_back: SyncSender<RawChunk>,
    backlog: Backlog,
    account: Arc<Account>,
}

impl Desk {
    fn work(mut self, messages: Receiver<Message>) -> io::Result<File> {
        promptness::step_back();
        for message in messages {
            match message {
                Message::Chunk(chunk) => self.write(chunk),
                Message::Flush(lost) => self.flush(lost),
                Message::Finish => return self.finish(),
            }
        }
        Err(io::Error::other("the recording was given up"))
    }

    fn write(&mut self, chunk: RawChunk) {
        self.writer.set_hurried(self.backlog.is_half_full());
        if self.failed.is_none() {
            let put = self.writer.put(&chunk);
            self.note(put);
        }
        self.backlog.chunk_written(bytes(&chunk));
        self.account
            .bytes
            .store(self.writer.bytes(), Ordering::Relaxed);
        // There are enough of them.
        let _ = self.give_back.try_send(chunk);
    }

    fn flush(&mut self, lost: u64) {
        self.writer.set_lost(lost);
        if self.failed.is_none() {
            let flushed = self.writer.flush();
            self.note(flushed);
        }
    }

    /// The first failure is told at once, and again at the end.
    fn note(&mut self, done: io::Result<()>) {
        if let Err(error) = &done {
            self.account.failure.get_or_init(|| same(error));
        }
        remember(&mut self.failed, done);
    }

    fn finish(mut self) -> io::Result<File> {
        self.flush_all()?;
        let file = self.writer.into_inner().into_inner();
        file.map_err(io::IntoInnerError::into_error)
    }

    fn flush_all(&mut self) -> io::Result<()> {
        match self.failed.take() {
            Some(error) => Err(error),
            None => self.writer.flush(),
        }
    }
}
