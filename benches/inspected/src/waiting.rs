//! Tasks that wait as long as the program runs.

use std::os::unix::net::UnixStream as BlockingStream;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::net::UnixStream;
use tokio::sync::{Notify, mpsc};

use crate::log::spawn;

const SLEEPING: usize = 2_500;
const RECEIVING: usize = 2_500;
const READING: usize = 400;
const SELECTING: usize = 1_000;
const HOUR: Duration = Duration::from_secs(3_600);

/// Starts the tasks.
pub fn start() {
    // The tasks live as long as the program.
    (0..SLEEPING).for_each(|_| drop(spawn(tokio::time::sleep(HOUR))));
    (0..RECEIVING).for_each(|_| receive());
    (0..READING).for_each(|_| read());
    let stop = Arc::new(Notify::new());
    (0..SELECTING).for_each(|_| drop(spawn(stopped_or_late(stop.clone()))));
    Box::leak(Box::new(stop));
}

fn receive() {
    let (sender, mut receiver) = mpsc::channel::<u64>(4);
    Box::leak(Box::new(sender));
    drop(spawn(async move {
        while let Some(number) = receiver.recv().await {
            std::hint::black_box(number);
        }
    }));
}

fn read() {
    let (ours, theirs) = BlockingStream::pair().expect("two descriptors are free");
    Box::leak(Box::new(theirs));
    ours.set_nonblocking(true).expect("a socket");
    let mut stream = UnixStream::from_std(ours).expect("inside a runtime");
    drop(spawn(async move {
        let mut bytes = [0; 64];
        while stream.read(&mut bytes).await.is_ok_and(|count| 0 < count) {}
    }));
}

async fn stopped_or_late(stop: Arc<Notify>) {
    tokio::select! {
        () = stop.notified() => {}
        () = tokio::time::sleep(HOUR) => {}
    }
}
