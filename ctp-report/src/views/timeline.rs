//! `--timeline`: a picture of when each coroutine ran and waited.

pub mod model;
pub mod svg;

use std::io::Write;

use anyhow::Result;
use ctp_trace::record::{CoroutineId, Nanos};

use crate::config::{Config, TimelineView};
use crate::evidence::selection::Selection;
use crate::findings::Finding as _;
use crate::findings::crash::Crash;
use crate::load::{self, Input, Model};
use crate::names::Names;
use crate::time_scale::Scale;
use crate::views::timeline::model::ObservedPopulation;
use crate::views::timeline::svg::{Chart, Drawn};
use crate::{document, output};

/// Writes the timeline to a file.
///
/// # Errors
/// If the trace cannot be read, or the file cannot be written.
pub fn show(config: &Config, view: &TimelineView, out: &mut dyn Write) -> Result<()> {
    let input = load::open(config)?;
    let selected = (config.filter.has_coroutines())
        .then(|| document::select(config, &input))
        .transpose()?;
    let selection = selected.map(|(.., selection)| selection);
    let selection = selection.unwrap_or_default();
    let population = Population::read(&input, config.filter.time, &selection)?;
    let names = document::names(config, &input, &population.model);
    let about = (&names, &selection);
    let drawn = population.draw(&input, about, view.threshold, view.title.as_deref())?;
    let is_file = output::save(&view.svg, drawn.svg.as_bytes(), out)?;
    let (path, about) = (view.svg.display(), drawn.about);
    let message = is_file.then(|| format!("wrote {path} ({about}); open it in a browser"));
    document::confirm(config, message, out)
}

/// The coroutines that lived in the shown time: the first of two passes over the trace.
pub struct Population {
    model: Model,
    observed: ObservedPopulation,
    scale: Scale,
}

impl Population {
    /// Collects the selected coroutines. `time` is the start and the end of the shown time; `None` is the end of the
    /// trace.
    ///
    /// # Errors
    /// If the trace cannot be read, or has no coroutine.
    pub fn read(
        input: &Input,
        time: (Nanos, Option<Nanos>),
        selection: &Selection,
    ) -> Result<Self> {
        let (from, to) = match time {
            (Nanos(0), None) => (input.since()?, None),
            requested => requested,
        };
        let window = Scale::new(from, to.unwrap_or(Nanos(u64::MAX)));
        let mut observed = ObservedPopulation::new(window);
        let model = input.model(
            |trace_model, record| {
                if selection.keeps(record) {
                    observed.note(trace_model, record);
                }
            },
            |_, _| {},
        )?;
        model.check_not_empty()?;
        let end = model.duration();
        let scale = Scale::new(from, to.map_or(end, |to| to.min(end)));
        Ok(Population {
            model,
            observed,
            scale,
        })
    }

    /// Draws the timeline: the second pass, which collects the events of the selected coroutines.
    ///
    /// # Errors
    /// If the trace cannot be read, or no coroutine lived in the shown time.
    pub fn draw(
        self,
        input: &Input,
        (names, selected): (&Names, &Selection),
        threshold: Nanos,
        title: Option<&str>,
    ) -> Result<Drawn> {
        let Population {
            model,
            mut observed,
            scale,
        } = self;
        let threads = observed.threads();
        let lives = std::mem::take(&mut observed.lives).pick(&model.trace_model, &scale);
        let crash = Option::<Crash>::find(&model, names);
        let crashed = crash.as_ref().and_then(Crash::culprit);
        let crashed = crashed.map(|culprit| CoroutineId(culprit.id));
        let alive = model::alive(&model.trace_model, threshold);
        let alive = alive.into_iter().filter(|member| selected.has(member.id));
        let selection = model::pick(alive, observed, &scale, crashed);
        let (rows, arrows) = model::collect(input.reader()?, &selection, &scale);
        let chart = Chart {
            rows: &rows,
            arrows: &arrows,
            model: &model,
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
