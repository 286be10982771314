//! Decodes a trace on a second thread, a few chunks ahead of the thread that takes the records.
//!
//! A trace model takes records in order, so only one thread can feed it. Decoding takes about half of the
//! time of a report and needs no model.

use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread;

use ctp_trace::record::Record;
use ctp_trace::{Error, Reader};

/// Maximum number of decoded chunks that wait to be taken. A chunk of events takes one to two
/// megabytes once decoded.
const MOST_AHEAD: usize = 2;

/// The records of a chunk, or why they could not be read.
pub type Decoded = Result<Vec<Record>, Error>;

/// Calls `each` for the records of each chunk, in order, until `each` fails.
///
/// # Errors
/// The error of `each`.
pub fn for_each<E>(
    reader: &mut Reader<'_>,
    mut each: impl FnMut(&mut Decoded) -> Result<(), E>,
) -> Result<(), E> {
    if let Some(taken) = on_two_threads(reader, &mut each) {
        return taken;
    }
    while let Some(mut decoded) = reader.next_records() {
        each(&mut decoded)?;
        give_back(reader, decoded);
    }
    Ok(())
}

fn give_back(reader: &mut Reader<'_>, taken: Decoded) {
    if let Ok(records) = taken {
        reader.reuse(records);
    }
}

/// Returns `None`, without having read anything, if a second thread cannot be started.
fn on_two_threads<E>(
    reader: &mut Reader<'_>,
    each: &mut impl FnMut(&mut Decoded) -> Result<(), E>,
) -> Option<Result<(), E>> {
    let (sender, chunks) = sync_channel(MOST_AHEAD);
    let (give_back, taken) = channel();
    thread::scope(|scope| {
        let decoder = thread::Builder::new().name("decoder".to_owned());
        decoder
            .spawn_scoped(scope, move || decode(reader, &sender, &taken))
            .ok()?;
        // If `each` fails, the channel is closed, which ends the decoder.
        Some(chunks.into_iter().try_for_each(|mut chunk: Decoded| {
            let result = each(&mut chunk);
            // A decoder that has ended takes nothing back.
            let _ = give_back.send(chunk);
            result
        }))
    })
}

/// Decodes chunks until the end of the trace, or until the receiver is gone. Reuses the memory of chunks that were
/// taken.
fn decode(reader: &mut Reader<'_>, chunks: &SyncSender<Decoded>, taken: &Receiver<Decoded>) {
    while let Some(decoded) = reader.next_records() {
        taken.try_iter().for_each(|taken| give_back(reader, taken));
        if chunks.send(decoded).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;
    use crate::load::test_trace;

    /// A trace of several chunks, with damage in the middle.
    fn trace() -> Vec<u8> {
        let mut bytes = test_trace::of_records(50_000);
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0xff;
        bytes
    }

    fn reader(bytes: &[u8]) -> Reader<'_> {
        Reader::new(bytes).expect("a trace")
    }

    // CT-21
    #[test]
    fn records_and_errors_come_in_order() {
        let bytes = trace();
        let mut taken = Vec::new();
        let mut ahead = reader(&bytes);
        let done = for_each(&mut ahead, |chunk| {
            match chunk {
                Ok(records) => taken.extend(records.drain(..).map(Ok)),
                Err(error) => taken.push(Err(error.clone())),
            }
            Ok::<_, Infallible>(())
        });
        assert!(done.is_ok());
        let mut plain = reader(&bytes);
        let expected: Vec<_> = plain.by_ref().collect();
        assert_eq!(taken.iter().filter(|record| record.is_err()).count(), 1);
        assert!(taken == expected, "{} of {}", taken.len(), expected.len());
        assert_eq!(ahead.completeness(), plain.completeness());
    }

    // CT-21
    #[test]
    fn failure_ends_the_decoder() {
        let bytes = trace();
        let mut chunks = 0;
        let failed = for_each(&mut reader(&bytes), |_| {
            chunks += 1;
            Err("enough")
        });
        assert_eq!(failed, Err("enough"));
        assert_eq!(chunks, 1);
    }
}
