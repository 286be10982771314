//! The coroutines that were running when a fatal signal came. This is not a verdict.

use std::io;
use std::slice;

use ctp_trace::model::Coroutine;
use ctp_trace::record::{EventKind, ExitReason, ProcessExit};
use serde::Serialize;

use crate::evidence::proof::{self, ProofStep};
use crate::findings::{Finding, LISTED, and_more};
use crate::load::{Model, exit_reason};
use crate::names::Names;
use crate::text::{Page, units};

/// The end of a program by a fault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Crash {
    /// The name of the signal.
    pub signal: String,
    /// The thread that received the signal, if the kernel reported this.
    pub tid: Option<u64>,
    /// The coroutines that ran on this thread, or on any thread if the thread is unknown. Latest run first.
    pub suspects: Vec<Suspect>,
    /// Whether other coroutines ran on threads that a filter hides.
    #[serde(skip)]
    pub has_hidden: bool,
}

/// A coroutine that was running when the program died.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Suspect {
    /// The id.
    pub id: u32,
    /// The name.
    pub name: String,
    /// The thread.
    pub tid: u64,
    /// The record of the run.
    pub proof: ProofStep,
}

impl Finding for Option<Crash> {
    const NAME: &'static str = "crash";

    fn find(model: &Model, names: &Names) -> Self {
        let tid = model.trace_model.end().map_or(0, |end| end.faulting_tid);
        let signal = match model.exit_reason() {
            Some(how @ ExitReason::Signalled(signal)) if how.is_crash() => {
                exit_reason::signal_name(signal)
            }
            _ if tid != 0 => "a fatal signal".to_owned(),
            _ => return None,
        };
        let tid = (tid != 0).then_some(tid);
        let mut running: Vec<&Coroutine> = model.trace_model.coroutines();
        let has_hidden = running.iter().any(|coroutine| {
            coroutine.account.hidden == Some(EventKind::Run) && !has_left(model, coroutine)
        });
        running.retain(|coroutine| match (thread(coroutine), tid) {
            (None, _) => false,
            (Some(thread), Some(tid)) => thread == tid,
            (Some(_), None) => !has_left(model, coroutine),
        });
        running.sort_by_key(|coroutine| std::cmp::Reverse(coroutine.waits.ran_at));
        let suspects = running.into_iter();
        Some(Crash {
            signal,
            tid,
            suspects: suspects
                .filter_map(|coroutine| suspect(model, names, coroutine))
                .collect(),
            has_hidden,
        })
    }

    /// Lists the coroutines that were running.
    fn write(&self, page: &mut Page) -> io::Result<()> {
        let Some(crash) = self else { return Ok(()) };
        page.headline("CRASH", &format!("  {}", crash.headline()))?;
        let is_certain = crash.tid.is_some() || crash.suspects.len() == 1 && !crash.has_hidden;
        for (index, suspect) in crash.suspects.iter().take(LISTED).enumerate() {
            suspect.write(page, is_certain && index == 0)?;
        }
        and_more(page, crash.suspects.len())?;
        page.gap()
    }
}

/// Whether the process of the coroutine ended earlier without a signal, and so did not crash.
fn has_left(model: &Model, coroutine: &Coroutine) -> bool {
    let end = model.trace_model.ended_early(coroutine.process);
    end.is_some_and(|end| !matches!(end.how, ProcessExit::Signalled(_)))
}

/// The thread on which the coroutine runs, if it runs and no filter hides the thread.
fn thread(coroutine: &Coroutine) -> Option<u64> {
    let last = coroutine.last.filter(|last| last.kind == EventKind::Run)?;
    coroutine.account.hidden.is_none().then_some(last.tid)
}

fn suspect(model: &Model, names: &Names, coroutine: &Coroutine) -> Option<Suspect> {
    let last = coroutine.last?;
    let mut proof = proof::event(model, names, &last);
    if let Some(stats) = model.trace_model.resumed_from(coroutine)
        && let Some(at) = names.at(stats.site)
    {
        proof.what += &format!(", resumed after its wait at {at}");
    }
    Some(Suspect {
        id: coroutine.id.0,
        name: names.of_coroutine(model, coroutine),
        tid: last.tid,
        proof,
    })
}

impl Suspect {
    /// Writes the suspect, without its name if the headline has named it already.
    fn write(&self, page: &mut Page, is_named: bool) -> io::Result<()> {
        if !is_named {
            page.line(&format!("  id {} {}", self.id, self.name))?;
        }
        proof::write(page, slice::from_ref(&self.proof))
    }
}

impl Crash {
    /// The coroutine that ran last on the faulting thread. `None` if the thread is unknown or ran no
    /// coroutine.
    pub fn culprit(&self) -> Option<&Suspect> {
        self.suspects.first().filter(|_| self.tid.is_some())
    }

    /// The headline, a sentence.
    pub fn headline(&self) -> String {
        let signal = &self.signal;
        let subject = |suspect: &Suspect| format!("id {} {}", suspect.id, suspect.name);
        match (self.tid, &self.suspects[..]) {
            (_, []) if self.has_hidden => {
                format!(
                    "a filter dropped the events that say which coroutine ran when {signal} came"
                )
            }
            (Some(tid), []) => format!("no coroutine ran on tid {tid} when {signal} came"),
            (Some(tid), [suspect, ..]) => {
                format!("{} ran on tid {tid} when {signal} came", subject(suspect))
            }
            (None, []) => format!("no coroutine ran when {signal} came"),
            (None, [suspect]) if !self.has_hidden => {
                format!(
                    "{} is the only one that ran when {signal} came",
                    subject(suspect)
                )
            }
            (None, all) => format!(
                "{signal} came while {}{} ran; on which thread is not known",
                if self.has_hidden { "more than " } else { "" },
                units::counted(all.len() as u64, "coroutine")
            ),
        }
    }
}
