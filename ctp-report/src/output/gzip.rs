//! Compresses with gzip on a second thread, in about the time in which the caller makes the bytes.

use std::io::{self, Write};
use std::mem;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread::{self, JoinHandle};

use flate2::Compression;
use flate2::write::GzEncoder;

/// Bytes that are passed to the thread at once.
const BLOCK_BYTES: usize = 1 << 18;

/// How many blocks wait for the thread at most.
const MAX_WAITING: usize = 4;

/// Writes what is written to it to `out`, compressed.
pub struct GzipWriter<'o> {
    out: &'o mut dyn Write,
    block: Vec<u8>,
    blocks: SyncSender<Vec<u8>>,
    compressed: Receiver<Vec<u8>>,
    thread: JoinHandle<()>,
}

impl<'o> GzipWriter<'o> {
    /// Starts the thread.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub fn new(out: &'o mut dyn Write, level: Compression) -> io::Result<Self> {
        let (blocks, waiting) = sync_channel(MAX_WAITING);
        let (done, compressed) = channel();
        let thread = thread::Builder::new().name("gzip".to_owned());
        let thread = thread.spawn(move || {
            compress(level, waiting, |bytes| done.send(bytes).is_ok());
        })?;
        Ok(GzipWriter {
            out,
            block: Vec::with_capacity(BLOCK_BYTES),
            blocks,
            compressed,
            thread,
        })
    }

    /// Writes the rest and the end of the compressed data.
    ///
    /// # Errors
    /// If `out` cannot be written.
    pub fn finish(mut self) -> io::Result<()> {
        self.pass_block()?;
        drop(self.blocks);
        for bytes in self.compressed {
            self.out.write_all(&bytes)?;
        }
        let panicked = |_| io::Error::other("the thread that compresses panicked");
        self.thread.join().map_err(panicked)
    }

    /// Passes the block to the thread, and writes what the thread has compressed meanwhile.
    fn pass_block(&mut self) -> io::Result<()> {
        let block = mem::replace(&mut self.block, Vec::with_capacity(BLOCK_BYTES));
        // The thread stops early only after a panic, which `finish` reports.
        let _ = self.blocks.send(block);
        for bytes in self.compressed.try_iter() {
            self.out.write_all(&bytes)?;
        }
        Ok(())
    }
}

impl Write for GzipWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.block.extend_from_slice(bytes);
        if BLOCK_BYTES <= self.block.len() {
            self.pass_block()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Compresses blocks, until there are no more, or `pass` returns false because nothing reads the result.
fn compress(level: Compression, blocks: Receiver<Vec<u8>>, mut pass: impl FnMut(Vec<u8>) -> bool) {
    let mut encoder = GzEncoder::new(Vec::new(), level);
    for block in blocks {
        if encoder.write_all(&block).is_err() || !pass(mem::take(encoder.get_mut())) {
            return;
        }
    }
    // Writing to a vector does not fail.
    if let Ok(rest) = encoder.finish() {
        pass(rest);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::GzDecoder;

    use super::*;

    #[test]
    fn blocks_are_one_stream() {
        let text: Vec<u8> = (0..3 * BLOCK_BYTES).map(|i| (i / 3) as u8).collect();
        let mut compressed = Vec::new();
        let mut writer = GzipWriter::new(&mut compressed, Compression::new(3)).expect("a thread");
        for part in text.chunks(1000) {
            writer.write_all(part).expect("a vector takes bytes");
        }
        writer.finish().expect("a vector takes bytes");
        let mut unpacked = Vec::new();
        let mut decoder = GzDecoder::new(&compressed[..]);
        decoder.read_to_end(&mut unpacked).expect("valid gzip");
        assert!(unpacked == text);
    }

    #[test]
    fn error_of_the_output_is_returned() {
        let mut full: &mut [u8] = &mut [0; 4];
        let mut writer = GzipWriter::new(&mut full, Compression::new(3)).expect("a thread");
        writer.write_all(&[7; 1000]).expect("the block has room");
        assert!(writer.finish().is_err());
    }
}
