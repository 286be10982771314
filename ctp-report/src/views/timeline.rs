//! `--timeline`: a chart of when each coroutine ran and waited.

pub mod model;
pub mod svg;

use std::io::Write;

use anyhow::Result;
use ctp_trace::TraceModel;
use ctp_trace::record::{CoroutineId, Nanos, Record};

use crate::config::filter::Period;
use crate::config::{Config, TimelineView};
use crate::document::{messages, selected_trace, trace_names};
use crate::evidence::selection::Selection;
use crate::findings::Finding as _;
use crate::findings::crash::Crash;
use crate::load::{self, Input, Model};
use crate::names::Names;
use crate::output;
use crate::time_scale::Scale;
use crate::views::timeline::model::ObservedPopulation;
use crate::views::timeline::svg::{Drawn, TimelineChart};

/// Writes the timeline to a file.
///
/// # Errors
/// If the trace cannot be read, or the file cannot be written.
pub fn show(config: &Config, view: &TimelineView, out: &mut dyn Write) -> Result<()> {
    let input = load::open(config)?;
    let selected = (config.filter.has_coroutines())
        .then(|| selected_trace::select(config, &input))
        .transpose()?;
    let selection = selected.map(|selected| selected.selection);
    let selection = selection.unwrap_or_default();
    let mut population = Population::of(&input, config.filter.time)?;
    let model = input.model(
        |trace_model, record| population.note(trace_model, record, &selection),
        |_, _| {},
    )?;
    model.check_not_empty()?;
    let names = trace_names::resolve(config, &input, &model);
    let read = (&input, &model, &names);
    let drawn = population.draw(read, &selection, view.threshold, view.title.as_deref())?;
    let is_file = output::save(&view.svg, drawn.svg.as_bytes(), out)?;
    let (path, about) = (view.svg.display(), drawn.about);
    let message = is_file.then(|| format!("wrote {path} ({about}); open it in a browser"));
    messages::confirm(config, message, out)
}

/// The coroutines that lived in the shown time, which are collected while a model is read.
pub struct Population {
    observed: ObservedPopulation,
    from: Nanos,
    to: Option<Nanos>,
}

impl Population {
    /// No coroutines yet. `time` is the start and the end of the shown time; `None` is the end of the trace.
    ///
    /// # Errors
    /// If the trace cannot be read.
    pub fn of(input: &Input, time: Period) -> Result<Self> {
        let (from, to) = match time {
            (Nanos(0), None) => (input.since()?, None),
            requested => requested,
        };
        let window = Scale::new(from, to.unwrap_or(Nanos(u64::MAX)));
        Ok(Population {
            observed: ObservedPopulation::new(window),
            from,
            to,
        })
    }

    /// Notes a record, before the model does.
    pub fn note(&mut self, trace_model: &TraceModel, record: &Record, selection: &Selection) {
        if selection.keeps(record) {
            self.observed.note(trace_model, record);
        }
    }

    /// Draws the timeline. Reads the trace again for the events of the selected coroutines.
    ///
    /// # Errors
    /// If the trace cannot be read, or no coroutine lived in the shown time.
    pub fn draw(
        self,
        (input, model, names): (&Input, &Model, &Names),
        selected: &Selection,
        threshold: Nanos,
        title: Option<&str>,
    ) -> Result<Drawn> {
        let Population {
            mut observed,
            from,
            to,
        } = self;
        let end = model.duration();
        let scale = Scale::new(from, to.map_or(end, |to| to.min(end)));
        let threads = observed.threads();
        let lives = std::mem::take(&mut observed.lives).pick(&model.trace_model, &scale);
        let crash = Option::<Crash>::find(model, names);
        let crashed = crash.as_ref().and_then(Crash::culprit);
        let crashed = crashed.map(|culprit| CoroutineId(culprit.id));
        let alive = model::alive(&model.trace_model, threshold);
        let alive = alive.into_iter().filter(|member| selected.has(member.id));
        let selection = model::pick(alive, observed, &scale, crashed);
        let (rows, arrows) = model::collect(input.reader()?, &selection, &scale);
        let chart = TimelineChart {
            rows: &rows,
            arrows: &arrows,
            model,
            names,
            selection: &selection,
            blocks: &model.trace_model.blocks(),
            crash: crash.as_ref(),
            scale,
            threads,
            lives: &lives,
        };
        svg::draw(&chart, title)
    }
}
