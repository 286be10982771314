//! Encodes records. The calling thread collects rows into chunks; the encoder thread compresses and writes
//! the chunks, so that the calling thread never waits for the disk.

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
use crate::monitor::stuck_monitor::{StuckObservation, Watch};
use crate::output::backlog::Backlog;
use crate::output::remember;
use crate::session::scheduling_priority;

/// The calling thread's half of the encoder.
pub struct EncoderHandle {
    composer: Composer,
    watched: Option<Watched>,
    /// The failure of a record that no chunk can hold.
    failed: Option<io::Error>,
    messages: Sender<Message>,
    used: Receiver<RawChunk>,
    thread: JoinHandle<io::Result<File>>,
    backlog: Backlog,
    state: Arc<FileState>,
    /// Whether calls may wait for chunks to be written.
    may_wait: bool,
    /// Records taken, not counting `Start`.
    records: u64,
}

/// The state of the file, shared with the encoder thread.
#[derive(Debug, Default)]
struct FileState {
    bytes: AtomicU64,
    failure: OnceLock<io::Error>,
}

enum Message {
    Chunk(RawChunk),
    /// Flushes everything so far to disk, with the present count of losses.
    Flush(u64),
    Finish,
}

/// Empty chunks kept for reuse.
const MAX_SPARE_CHUNKS: usize = 16;

impl EncoderHandle {
    /// Starts the encoder thread. Flushes the start of a draft at once, so that it can be read.
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
        let (give_back, used) = sync_channel(MAX_SPARE_CHUNKS);
        let state = Arc::<FileState>::default();
        let worker = EncoderThread {
            writer,
            failed: None,
            give_back,
            backlog: backlog.clone(),
            state: state.clone(),
        };
        let thread = thread::Builder::new().name("encoder".into());
        Ok(EncoderHandle {
            composer,
            watched,
            failed: None,
            messages,
            used,
            thread: thread.spawn(move || worker.work(received))?,
            backlog,
            state,
            may_wait: false,
            records: 0,
        })
    }

    /// Lets calls wait while there is much to write. Call this once no program depends on the caller's speed.
    pub fn allow_waiting(&mut self) {
        self.may_wait = true;
    }

    /// Bytes written to the file.
    pub fn written_bytes(&self) -> u64 {
        self.state.bytes.load(Ordering::Relaxed)
    }

    /// The reason why the file takes no more records, if any.
    pub fn failure(&self) -> Option<&io::Error> {
        self.state.failure.get()
    }

    /// Takes a record.
    pub fn take(&mut self, record: &Record) {
        if let Some((watch, _)) = &mut self.watched {
            watch.take(record);
        }
        let added = self.composer.add(record);
        self.records += u64::from(added.is_ok());
        remember(&mut self.failed, added);
        self.hand_over();
    }

    /// Takes events in order.
    pub fn take_events(&mut self, events: &[Event]) {
        if let Some((watch, _)) = &mut self.watched {
            let records = events.iter().map(|event| Record::Event(*event));
            records.for_each(|record| watch.take(&record));
        }
        self.composer.add_events(events);
        self.records += events.len() as u64;
        self.hand_over();
    }

    /// Schedules writing everything so far to disk.
    pub fn flush(&mut self, lost: u64) {
        self.composer.cut();
        self.hand_over();
        self.send(Message::Flush(lost));
    }

    /// Reports what is stuck as of `at`, after all records taken so far, if the stuck monitor is enabled.
    pub fn judge(&mut self, at: Nanos, idle: IdleReport) {
        if let Some((watch, sender)) = &mut self.watched {
            // The receiver is gone when the recording ends.
            let _ = sender.send(watch.judge(at, idle));
        }
    }

    /// Waits until everything is written. Returns the file, open at its end.
    ///
    /// # Errors
    /// The first failure of the file, or a record that was too large.
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
        while self.may_wait && self.backlog.has_enough_chunks() && !self.thread.is_finished() {
            thread::sleep(Duration::from_millis(1));
        }
    }

    fn send(&self, message: Message) {
        // The thread receives until `Finish`. If the thread panics, `finish` reports that.
        let _ = self.messages.send(message);
    }
}

fn bytes(chunk: &RawChunk) -> u64 {
    chunk.bytes() as u64
}

/// Copies an error for a second receiver.
pub fn same(error: &io::Error) -> io::Error {
    let raw = error.raw_os_error().map(io::Error::from_raw_os_error);
    raw.unwrap_or_else(|| io::Error::new(error.kind(), error.to_string()))
}

/// The model of what is written, and the channel for what looks stuck according to the model.
pub type Watched = (Watch, Sender<StuckObservation>);

/// The state of the encoder thread.
struct EncoderThread {
    writer: ChunkWriter<BufWriter<File>>,
    failed: Option<io::Error>,
    give_back: SyncSender<RawChunk>,
    backlog: Backlog,
    state: Arc<FileState>,
}

impl EncoderThread {
    fn work(mut self, messages: Receiver<Message>) -> io::Result<File> {
        scheduling_priority::step_back();
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
        self.state
            .bytes
            .store(self.writer.bytes(), Ordering::Relaxed);
        // If the channel is full, there are enough empty chunks.
        let _ = self.give_back.try_send(chunk);
    }

    fn flush(&mut self, lost: u64) {
        self.writer.set_lost(lost);
        if self.failed.is_none() {
            let flushed = self.writer.flush();
            self.note(flushed);
        }
    }

    /// Publishes the first failure at once. `finish` returns it again.
    fn note(&mut self, done: io::Result<()>) {
        if let Err(error) = &done {
            self.state.failure.get_or_init(|| same(error));
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
