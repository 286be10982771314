//! `--why`: the chains of wakes that led coroutines to their present states.

pub mod model;
pub mod text;

use std::io::{self, Write};

use anyhow::{Result, anyhow};
use serde_json::json;

use crate::config::{Config, WhyView};
use crate::document::trace_names;
use crate::document::{self, Output};
use crate::evidence::selection::{is_admitted, notice};
use crate::evidence::{self, Member};
use crate::load::{self, Input, Model};
use crate::names::Names;
use crate::text::Page;
use crate::views::why::model::causes::Causes;
use crate::views::why::model::{Context, RequestedCoroutine, Why};

/// How many coroutines are explained without `--ids`, if filters choose them.
const MAX_SHOWN: usize = 10;

/// Writes the page about a coroutine, or about those that the filter admits.
///
/// # Errors
/// If the trace cannot be read, `out` cannot be written, or the requested coroutine was not alive at the end.
pub fn show(config: &Config, view: &WhyView, out: &mut dyn Write) -> Result<()> {
    let input = load::open(config)?;
    let history = History::read(&input, view)?;
    let names = trace_names::resolve(config, &input, &history.model);
    report(config, view, (&history, &names), Output::of(config, out))
}

/// A trace, with the wakes that led to the present states of its coroutines.
pub struct History {
    /// The state at the end of the trace.
    pub model: Model,
    causes: Causes,
    question: RequestedCoroutine,
}

impl History {
    /// Reads a trace from its beginning, for a page about the coroutines that the view requests.
    ///
    /// # Errors
    /// If the trace cannot be read, or has no coroutine.
    pub fn read(input: &Input, view: &WhyView) -> Result<Self> {
        let mut causes = Causes::default();
        let mut question = RequestedCoroutine::of(view.id.unwrap_or_default());
        let model = input.model(
            |trace_model, record| {
                causes.see(trace_model, record);
                question.see(record);
            },
            |_, _| {},
        )?;
        model.check_not_empty()?;
        Ok(History {
            model,
            causes,
            question,
        })
    }

    /// Why there is no page about the requested coroutine.
    fn not_found(&self) -> anyhow::Error {
        let coroutines = self.model.trace_model.totals().coroutines;
        anyhow!(
            "{}; --stuck --ids and --last-words list those that were alive at the end",
            self.question.why_not(coroutines)
        )
    }
}

/// Writes the page, for a trace that was read.
///
/// # Errors
/// If the output cannot be written, or the requested coroutine was not alive at the end.
pub fn report(
    config: &Config,
    view: &WhyView,
    (history, names): (&History, &Names),
    output: Output,
) -> Result<()> {
    let model = &history.model;
    let members: Vec<Member> = evidence::members(&model.trace_model, view.threshold).collect();
    let context = Context::of(model, names, &history.causes, &members);
    let Some(id) = view.id else {
        let chosen = chosen(config, (model, names), members);
        return show_chosen(config, view, (model, names), (&context, &chosen), output);
    };
    let member = members.iter().find(|(coroutine, _)| coroutine.id.0 == id);
    let why = member.and_then(|member| model::why(&context, member));
    let why = why.ok_or_else(|| history.not_found())?;
    document::write_to(
        output,
        config,
        (model, names),
        || json!({ "why": why }),
        |page| text::page(page, &why),
    )
}

/// The coroutines that the filter admits.
struct Chosen<'m> {
    /// The worst verdict first, then the longest wait.
    members: Vec<Member<'m>>,
    /// How many coroutines there are.
    all: usize,
}

fn chosen<'m>(
    config: &Config,
    (model, names): (&Model, &Names),
    mut members: Vec<Member<'m>>,
) -> Chosen<'m> {
    let all = members.len();
    members.retain(|member| is_admitted(model, names, member, &config.filter));
    members.sort_by_key(|(coroutine, judgement)| {
        let age = std::cmp::Reverse(judgement.age);
        (judgement.verdict, age, coroutine.id)
    });
    Chosen { members, all }
}

/// Writes the page about the chosen coroutines: without `--ids` and `--json`, only the first.
fn show_chosen(
    config: &Config,
    view: &WhyView,
    about: (&Model, &Names),
    (context, chosen): (&Context, &Chosen),
    output: Output,
) -> Result<()> {
    let limit = if view.all_ids || config.json {
        usize::MAX
    } else {
        MAX_SHOWN
    };
    let shown = || {
        let first = chosen.members.iter().take(limit);
        first.filter_map(|member| model::why(context, member))
    };
    let explained = || json!({ "explained": shown().collect::<Vec<Why>>() });
    document::write_to(output, config, about, explained, |page| {
        let counts = (chosen.members.len(), chosen.all);
        notice::write(page, &config.filter, counts, "coroutines are selected")?;
        shown().try_for_each(|why| {
            text::page(page, &why)?;
            page.gap()
        })?;
        rest(page, chosen.members.len().saturating_sub(limit))
    })
}

fn rest(page: &mut Page, count: usize) -> io::Result<()> {
    match count {
        0 => Ok(()),
        count => page.line(&text::rest(count)),
    }
}
