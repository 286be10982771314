//! Makes a page on a thread of its own, so that the table answers keys meanwhile.

use std::io;
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::thread;

use anyhow::{Result, anyhow};

use crate::load::memory::StopFlag;

/// The lines of a page, or why there is none.
pub type Lines = Result<Vec<String>>;

/// A page that is being made. If this is dropped, its thread ends soon.
pub struct BackgroundPage {
    stop: StopFlag,
    made: Receiver<Lines>,
}

impl BackgroundPage {
    /// Begins to make a page. `make` ends early, with an error, once the flag is set.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn start(make: impl FnOnce(StopFlag) -> Lines + Send + 'static) -> io::Result<Self> {
        let (sender, made) = sync_channel(1);
        let stop = StopFlag::default();
        let own = stop.clone();
        let thread = thread::Builder::new().name("page".to_owned());
        // Nothing receives the page if the user has left.
        thread.spawn(move || drop(sender.send(make(own))))?;
        Ok(BackgroundPage { stop, made })
    }

    /// The page, once it is finished.
    pub fn finished(&self) -> Option<Lines> {
        match self.made.try_recv() {
            Ok(made) => Some(made),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(Err(anyhow!("making the page failed"))),
        }
    }
}

impl Drop for BackgroundPage {
    fn drop(&mut self) {
        self.stop.set();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn page_is_finished_once_it_is_made() {
        let (go_on, wait) = channel();
        let page = BackgroundPage::start(move |_| {
            wait.recv()?;
            Ok(vec!["line".to_owned()])
        });
        let page = page.expect("a thread");
        assert!(page.finished().is_none());
        go_on.send(()).expect("the thread waits");
        let lines = loop {
            if let Some(lines) = page.finished() {
                break lines;
            }
            thread::yield_now();
        };
        assert_eq!(lines.expect("a page"), ["line"]);
    }

    #[test]
    fn page_that_is_left_is_not_made() {
        let (sender, ended) = channel();
        let page = BackgroundPage::start(move |stop| {
            while !stop.is_set() {
                thread::yield_now();
            }
            sender.send(())?;
            Ok(Vec::new())
        });
        drop(page.expect("a thread"));
        assert_eq!(ended.recv(), Ok(()));
    }

    #[test]
    fn page_that_cannot_be_made_has_a_reason() {
        let page = BackgroundPage::start(|_| panic!("for the test")).expect("a thread");
        let reason = loop {
            if let Some(lines) = page.finished() {
                break lines;
            }
            thread::yield_now();
        };
        assert!(reason.is_err());
    }
}
