//! Reports a write failure when it happens: otherwise the user would not notice that the program is no longer recorded.

use super::Session;
use crate::cli::stderr;
use crate::cli::words::seconds;
use crate::error::TraceError;
use crate::monitor::status::StatusLine;
use crate::output::encoder::same;

impl Session<'_> {
    /// Reports the failure once, in quiet mode, too.
    pub(super) fn report_failure(&mut self) {
        let Some(failure) = self
            .output
            .failure()
            .filter(|_| !self.so_far.has_reported_failure)
        else {
            return;
        };
        let (path, at) = (self.output.path(), seconds(self.clock.now().0));
        let line = format!(
            "ctp-record: at {at}: {}\n",
            TraceError::Full(path.to_owned(), same(failure))
        );
        self.so_far.has_reported_failure = true;
        self.status.iter().for_each(StatusLine::make_room);
        stderr::say(&line);
    }
}
