//! The figures of sites and of names, for everything or for what the user selected.

use anyhow::{Result, bail};
use ctp_trace::model::{NameId, Named, SiteStats};

use crate::evidence::selected_sites::SelectedSites;
use crate::evidence::selection::Selection;
use crate::load::{Input, Model};

/// Figures by site and, in a trace with totals, by name.
#[derive(Debug)]
pub struct Figures {
    /// The figures of each site.
    pub sites: Vec<SiteStats>,
    /// The totals of each name. Empty in a trace without totals, and for a selected time.
    pub names: Vec<Named>,
    /// The model of the selected coroutines, if not all are selected. It numbers names in its own way.
    selected: Option<Model>,
}

impl Figures {
    /// The figures of the selected coroutines. `sums` has the waits and runs in the selected time.
    ///
    /// # Errors
    /// If the trace cannot be read, or if it has only totals and a time is selected.
    pub fn of(
        input: &Input,
        model: &Model,
        selection: &Selection,
        sums: SelectedSites,
    ) -> Result<Self> {
        if selection.has_time() {
            if model.is_by_name() {
                bail!("the trace has only totals, which have no times: leave out --time");
            }
            return Ok(Figures {
                sites: sums.finish(&model.trace_model, selection),
                names: Vec::new(),
                selected: None,
            });
        }
        if selection.is_all() {
            return Ok(Figures::of_model(model));
        }
        let selected = input.part(|record| selection.keeps(record))?;
        let figures = Figures::of_model(&selected);
        Ok(Figures {
            selected: Some(selected),
            ..figures
        })
    }

    /// The name of coroutines in these figures. `model` has all coroutines.
    pub fn name<'m>(&'m self, model: &'m Model, name: NameId) -> &'m str {
        let model = self.selected.as_ref().unwrap_or(model);
        model.trace_model.name(name)
    }

    fn of_model(model: &Model) -> Self {
        let has_totals = model.trace_model.has_aggregates();
        let names = has_totals.then(|| model.trace_model.by_name());
        Figures {
            sites: model.trace_model.sites(),
            names: names.unwrap_or_default(),
            selected: None,
        }
    }
}
