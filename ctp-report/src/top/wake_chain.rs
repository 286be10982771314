//! The page about the wakes that led to a row's state, and about what blocks the row now: that of `--why`.

use anyhow::{Result, bail};

use super::page::{self, printed};
use super::row::RowId;
use super::session::Session;
use crate::config::filter::Filter;
use crate::config::{Config, TopView, WhyView};
use crate::document::trace_names;
use crate::load::Input;
use crate::load::memory::StopFlag;
use crate::views::why::{self, History};

/// What the page is made from.
pub struct WakeChain {
    config: Config,
    view: WhyView,
    input: Input,
}

impl WakeChain {
    /// Prepares the page about a row. Nothing is read yet.
    ///
    /// # Errors
    /// If the row is a task, which has no recorded wakes, or the trace cannot be opened again.
    pub fn of(config: &Config, view: &TopView, session: &Session, id: RowId) -> Result<Self> {
        let RowId::Coroutine(id) = id else {
            bail!(
                "wakes are recorded only in programs with a probe: task {} was found by reading the process",
                id.number()
            );
        };
        Ok(WakeChain {
            config: Config {
                filter: Filter::default(),
                ..page::config(config)
            },
            view: WhyView {
                id: Some(id.0),
                threshold: view.threshold,
                all_ids: false,
            },
            input: session.followed().whole_input()?,
        })
    }

    /// The lines of the page, at most `width` columns wide. Reads the trace from its beginning, because the table does
    /// not keep wakes, until `stop` is set.
    ///
    /// # Errors
    /// If the page cannot be made, or the reading was ended.
    pub fn lines(mut self, width: u16, stop: StopFlag) -> Result<Vec<String>> {
        self.input.end_by(stop);
        let history = History::read(&self.input, &self.view)?;
        let names = trace_names::resolve(&self.config, &self.input, &history.model);
        printed(width, |output| {
            why::report(&self.config, &self.view, (&history, &names), output)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use ctp_trace::Writer;
    use ctp_trace::record::{
        Act, Birth, CoroutineId, End, Event, EventKind, Nanos, Record, Start, TaskId, ThreadEvent,
        WakeCall, Waker,
    };
    use symbolize::SearchPaths;

    use super::*;
    use crate::config::ignore::Ignore;
    use crate::config::{Detail, TopSort, View};
    use crate::load::follow::Followed;
    use crate::text::Width;

    /// A coroutine waits, until another wakes it.
    fn trace() -> Vec<u8> {
        let [waiting, waking] = [1, 2].map(CoroutineId);
        let birth = |coroutine, name: &str| {
            Record::Birth(Birth {
                coroutine,
                name: name.to_owned(),
                ..Birth::default()
            })
        };
        let event = |coroutine, n, kind| {
            Record::Event(Event {
                coroutine,
                n,
                at: Nanos(1_000_000 * (n + u64::from(coroutine.0))),
                tid: 7,
                kind,
                ..Event::default()
            })
        };
        let call = WakeCall {
            coroutine: waiting,
            by: Waker::Coroutine(waking),
            ..WakeCall::default()
        };
        let wake = ThreadEvent {
            at: Nanos(5_000_000),
            tid: 7,
            act: Act::Wake(call),
            ..ThreadEvent::default()
        };
        let records = [
            birth(waiting, "waiting"),
            birth(waking, "waking"),
            event(waiting, 0, EventKind::Run),
            event(waiting, 1, EventKind::Suspend),
            event(waking, 0, EventKind::Run),
            Record::ThreadEvent(wake),
        ];
        let mut writer = Writer::new(Vec::new(), &Start::default()).expect("memory");
        for record in &records {
            writer.write(record).expect("memory");
        }
        writer.finish(&End::default()).expect("memory")
    }

    fn view() -> TopView {
        TopView {
            once: false,
            pid: None,
            interval: Nanos(1_000_000_000),
            threshold: Nanos(1_000_000_000),
            ignore: Ignore::default(),
            sort: TopSort::Verdict,
            is_grouped: false,
            limit: None,
        }
    }

    fn config() -> Config {
        Config {
            input: "unused".into(),
            run: None,
            search_paths: SearchPaths::recorded(),
            skip: Ignore::default(),
            max_module: None,
            max_memory: None,
            view: View::Top(view()),
            // The filter of the table is not that of the page.
            filter: Filter {
                ids: vec![9..=9],
                ..Filter::default()
            },
            json: false,
            detail: Detail::Usual,
            color: anstream::ColorChoice::Never,
            width: Width::Full,
            has_links: false,
            has_pager: false,
        }
    }

    #[test]
    fn page_has_the_wake_before() {
        let folder = tempfile::tempdir().expect("room");
        let path = folder.path().join("ctp.data");
        fs::write(&path, trace()).expect("room");
        let (config, view) = (config(), view());
        let followed = Followed::open(&config, &path).expect("a trace");
        let session = Session::open(&config, &view, followed).expect("a trace");
        let prepared = |row| WakeChain::of(&config, &view, &session, row);
        let page = |row| prepared(row).and_then(|chain| chain.lines(80, StopFlag::default()));
        let found = page(RowId::Coroutine(CoroutineId(1))).expect("a page");
        assert!(found[0].starts_with("WHY id 1 waiting"), "{found:#?}");
        let is_wake = |line: &String| line.contains("id 2") && line.ends_with("and woke id 1");
        assert!(found.iter().any(is_wake), "{found:#?}");
        assert!(page(RowId::Coroutine(CoroutineId(3))).is_err());
        assert!(page(RowId::Task(TaskId(1))).is_err());
    }
}
