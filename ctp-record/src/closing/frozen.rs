//! The closing line about runs that waited too long for a copy of their stack.

use ctp_nostd::freeze::LIMIT;

use super::ClosingLines;
use crate::cli::words::counted;

impl ClosingLines<'_> {
    pub(super) fn frozen_to_the_limit(&self) -> Option<String> {
        let runs = self.counters.broken_freezes;
        (runs > 0).then(|| {
            format!(
                "{} of coroutines waited {} ms because ctp-record was slow to copy their stacks: \
                 with --no-freeze, no run waits",
                counted(runs.into(), "run"),
                LIMIT.as_millis()
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use ctp_nostd::inspect::Counters;
    use ctp_trace::record::End;

    use super::*;

    // STB-10
    #[test]
    fn runs_that_waited_up_to_the_limit_are_reported() {
        let closing = |broken_freezes| {
            let counters = Counters {
                broken_freezes,
                ..Counters::default()
            };
            ClosingLines::new("app".to_owned(), Path::new("x"), End::default(), counters)
        };
        assert_eq!(closing(0).frozen_to_the_limit(), None);
        let line = closing(2).frozen_to_the_limit().expect("two runs");
        assert!(
            line.starts_with("2 runs of coroutines waited 50 ms"),
            "{line}"
        );
    }
}
