//! The graphics of a recording: the timeline and the flame graph. Both are collected while the model is read.

use anyhow::Result;
use ctp_trace::record::Nanos;

use super::page::Graphic;
use crate::config::FlameWidth;
use crate::config::filter::Period;
use crate::evidence::selection::Selection;
use crate::load::{Input, Model};
use crate::names::Names;
use crate::views::flame::{self, model::StackFolder};
use crate::views::timeline::Population;

/// What the graphics show.
pub struct Charts {
    selection: Selection,
    population: Population,
    folder: StackFolder,
}

impl Charts {
    /// Reads the model, and collects what is selected. `time` is that of the timeline.
    ///
    /// # Errors
    /// If the trace cannot be read.
    pub fn read(input: &Input, time: Period, selection: Selection) -> Result<(Model, Self)> {
        let mut population = Population::of(input, time)?;
        let mut folder = StackFolder::new(FlameWidth::Wait);
        let model = input.model(
            |trace_model, record| population.note(trace_model, record, &selection),
            |trace_model, span| {
                if let Some(part) = selection.clip(span) {
                    folder.add(trace_model, &part);
                }
            },
        )?;
        let charts = Charts {
            selection,
            population,
            folder,
        };
        Ok((model, charts))
    }

    /// Draws the timeline and the flame graph of the model that was read. `earlier` is the model from just before
    /// a shutdown.
    ///
    /// # Errors
    /// If the trace cannot be read, or no coroutine lived in the shown time.
    pub fn draw(
        self,
        (input, model, names): (&Input, &Model, &Names),
        earlier: Option<&Model>,
        threshold: Nanos,
    ) -> Result<Vec<Graphic>> {
        let (read, selection) = ((input, model, names), &self.selection);
        let timeline = self.population.draw(read, selection, threshold, None)?;
        let title = format!("{}: waiting time of its coroutines", model.program_name());
        let flame = flame::draw_waits(self.folder, read, earlier, selection, &title)?;
        let timeline = [Graphic::timeline(timeline.svg)].into_iter();
        Ok(timeline.chain(flame.map(Graphic::flame)).collect())
    }
}
