//! Stacks with source lines, for viewers of profiles.

use std::collections::BTreeMap;

use ctp_trace::model::SpanActivity;
use ctp_trace::record::{ProcessId, SiteId};
use ctp_trace::verdict::Verdict;

use crate::evidence::resource;
use crate::evidence::selection::Selection;
use crate::load::Model;
use crate::names::{Label, Names};
use crate::views::flame::model::{SpanSum, StackFolder, StackKey, limit_sum};

/// A function in a stack.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SampledFrame {
    /// The function, or what stands for an unknown function.
    pub function: String,
    /// The source file, if known.
    pub file: Option<String>,
    /// The line, from 1, if known.
    pub line: Option<u32>,
    /// The process and the address of the code, if recorded.
    pub address: Option<(ProcessId, u64)>,
}

/// What coroutines of one name did at one place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SampledStack {
    /// The functions, the outermost first: the coroutine, and those that await each other.
    pub frames: Vec<SampledFrame>,
    /// The name of the coroutines.
    pub coroutine: String,
    /// What the coroutines waited for; `None` if they ran.
    pub waits_for: Option<&'static str>,
    /// The verdict on coroutines for which this did not end before the recording did.
    pub open: Option<Verdict>,
}

/// Number and length of the waits or runs, by stack, in an order that depends only on the trace.
#[derive(Debug)]
pub struct Samples(pub BTreeMap<SampledStack, SpanSum>);

/// Viewers add values up in signed numbers of 64 bits.
const MAX_SUM_NS: u64 = i64::MAX as u64;

/// Stands for unknown functions between two others.
const MORE: &str = "…";

impl Samples {
    /// The stacks of a folder that counts both waits and runs.
    pub fn of(
        folder: StackFolder,
        (model, names): (&Model, &Names),
        selection: &Selection,
    ) -> Self {
        let mut samples = BTreeMap::new();
        for (key, name, sum) in folder.named(model, selection) {
            let stack = stack(&key, &name, (model, names));
            let entry: &mut SpanSum = samples.entry(stack).or_default();
            entry.count = entry.count.saturating_add(sum.count);
            entry.ns = entry.ns.saturating_add(sum.ns);
        }
        limit_sum(samples.values_mut().map(|sum| &mut sum.ns), MAX_SUM_NS);
        Samples(samples)
    }
}

fn stack(key: &StackKey, name: &str, (model, names): (&Model, &Names)) -> SampledStack {
    let coroutine = names.function(SiteId(0), name);
    let mut frames = vec![SampledFrame {
        function: coroutine.clone(),
        ..SampledFrame::default()
    }];
    let (site, waits_for) = match key.activity {
        SpanActivity::Waiting(site, wait) => {
            (Some(site), Some(resource::phrase_at(model, site, wait)))
        }
        SpanActivity::Running(from) => (from.map(|(site, _)| site), None),
    };
    if let Some(site) = site {
        frames.extend(chain(site, name, (model, names)));
    }
    SampledStack {
        frames,
        coroutine,
        waits_for,
        open: key.open,
    }
}

/// The functions that await each other at a site, the outermost first.
fn chain(site: SiteId, name: &str, (model, names): (&Model, &Names)) -> Vec<SampledFrame> {
    let mut frames = callers(site, names);
    let label = names.of(site).cloned().unwrap_or_default();
    frames.push(SampledFrame {
        function: names.function(site, name),
        address: model
            .sites
            .get(&site)
            .and_then(|site| Some((site.process, site.place.address()?))),
        ..frame(&label)
    });
    frames.extend(label.within.as_deref().map(named));
    frames
}

fn callers(site: SiteId, names: &Names) -> Vec<SampledFrame> {
    let Some(awaits) = names.awaits(site) else {
        let callers = names.of(site).map_or(&[][..], |label| &label.callers);
        return callers.iter().rev().map(|name| named(name)).collect();
    };
    let outermost = awaits.outermost.iter().map(frame);
    let more = (!awaits.is_whole).then(|| named(MORE));
    let known = awaits.frames.iter().rev().map(frame);
    outermost.chain(more).chain(known).collect()
}

fn frame(label: &Label) -> SampledFrame {
    SampledFrame {
        function: label.function.clone().unwrap_or_else(|| "?".to_owned()),
        file: label.file.clone(),
        line: label.line,
        address: None,
    }
}

fn named(function: &str) -> SampledFrame {
    SampledFrame {
        function: function.to_owned(),
        ..SampledFrame::default()
    }
}
