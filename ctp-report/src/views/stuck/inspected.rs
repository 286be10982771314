//! `--stuck` for a process without a probe, or for a core file: shows what the inspections found.

mod cpp;
mod cycles;
pub(super) mod text;
mod words;

use anyhow::Result;
use ctp_trace::record::Nanos;
use ctp_trace::verdict::Verdict;
use ctp_trace::verdict::inspected::InspectedJudgement;

use crate::config::{Config, StuckView};
use crate::document::trace_names;
use crate::document::{self, Output, inspection};
use crate::evidence::inspected::held_locks::HeldLocks;
use crate::evidence::inspected::threads::threads;
use crate::evidence::inspected::{TaskGroup, check_filter, filter, groups, threads::ThreadStack};
use crate::findings::gate::{self, ReportStatus};
use crate::load::{Input, Model};
use crate::names::Names;
use crate::views::stuck::text as stuck_text;

/// What the page shows.
pub struct Findings<'m> {
    /// The tasks, the worst verdict first.
    pub groups: &'m [TaskGroup<'m>],
    /// The locks that these tasks hold.
    pub locks: HeldLocks<'m>,
    /// The threads.
    pub threads: &'m [ThreadStack<'m>],
    /// The names, with the source files.
    pub names: &'m Names,
    /// When the last inspection began; `None` if unknown, as for a core file.
    pub now: Option<Nanos>,
    /// Whether a core file was inspected, which shows a single moment.
    pub is_core_file: bool,
}

impl Findings<'_> {
    /// Whether any task is stuck.
    pub fn is_any_stuck(&self) -> bool {
        let mut groups = self.groups.iter();
        groups.any(|group| group.judgement().verdict.is_stuck())
    }

    /// The groups with this verdict.
    pub fn with_verdict(&self, verdict: Verdict) -> impl Iterator<Item = &TaskGroup<'_>> {
        let groups = self.groups.iter();
        groups.filter(move |group| group.judgement().verdict == verdict)
    }
}

/// Writes the page. With `--fail`, returns whether anything is stuck.
///
/// # Errors
/// If the filter has a time, or the output cannot be written.
pub fn report(
    config: &Config,
    view: &StuckView,
    (input, model, names): (&Input, &Model, &mut Names),
    output: Output,
) -> Result<ReportStatus> {
    check_filter(&config.filter)?;
    let stacks = trace_names::call_stacks(config, input, model, names);
    let names = &*names;
    let mut judged = model.trace_model.judge_inspected(view.threshold);
    let all = judged.len();
    filter(&mut judged, &config.filter);
    let admitted = judged.len();
    let groups = groups(judged, &view.ignore);
    let threads = threads(model, &stacks);
    let findings = Findings {
        groups: &groups,
        locks: HeldLocks::of(&groups),
        threads: &threads,
        names,
        now: last_inspection(model),
        is_core_file: model.is_core_file(),
    };
    let of_tasks = groups.iter().flat_map(|group| &group.tasks);
    let judgements: Vec<InspectedJudgement> = of_tasks.map(|member| member.judgement).collect();
    let status = gate::check_inspected(model, &judgements);
    let fields = || inspection::fields(model, &groups, &threads);
    document::write_to(output, config, (model, names), fields, |page| {
        stuck_text::filtered(page, &config.filter, (admitted, all))?;
        text::page(page, &findings, (&status, view))?;
        if config.is_quiet() || !page.has_hints() {
            return Ok(());
        }
        text::hints(page, &document::hints::tool(config), view)
    })?;
    Ok(if view.fail {
        status
    } else {
        ReportStatus::Fine
    })
}

/// When the last inspection of a running process began.
pub(super) fn last_inspection(model: &Model) -> Option<Nanos> {
    let all = model.trace_model.inspected();
    let live = all.filter(|(_, process)| !process.is_core_file());
    let last = live.filter_map(|(_, process)| process.times.last());
    last.map(|time| time.began).max()
}
