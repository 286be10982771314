//! The names under which coroutines are displayed.

use std::collections::BTreeSet;

use ctp_trace::TraceModel;
use ctp_trace::model::Coroutine;
use ctp_trace::record::SiteId;

use crate::load::Model;
use crate::names::Names;
use crate::names::label::{NO_NAME, numbered, tidy};

impl Names {
    /// The displayed name of a coroutine at a place: its function there, or its given name.
    pub fn function(&self, site: SiteId, name: &str) -> String {
        let function = self.of(site).and_then(|label| label.function.clone());
        function
            .or_else(|| self.called(name))
            .unwrap_or_else(|| NO_NAME.to_owned())
    }

    /// The displayed form of a name.
    pub fn called(&self, name: &str) -> Option<String> {
        self.bodies.get(name).cloned().or_else(|| tidy(name))
    }

    /// The name of a coroutine, or the place where it was spawned.
    pub fn of_coroutine(&self, model: &Model, coroutine: &Coroutine) -> String {
        self.called(model.trace_model.name(coroutine.name))
            .unwrap_or_else(|| self.function(coroutine.spawn_site, ""))
    }

    /// The function and line where the coroutine is: `read_frame main.rs:64`.
    pub fn place_of(&self, model: &Model, coroutine: &Coroutine, site: SiteId) -> String {
        let function = self.function(site, model.trace_model.name(coroutine.name));
        match self.short(site) {
            Some(at) => format!("{function} {at}"),
            None => function,
        }
    }

    /// The name, if the program chose the name. `None` for the path of a type.
    pub fn given(&self, name: &str) -> Option<String> {
        self.called(name).filter(|_| !name.contains("::"))
    }

    /// The distinct names that the program gave to these coroutines, in the order of the coroutines. Empty
    /// if the names only repeat `shown`.
    pub fn given_to_all<'c>(
        &self,
        model: &Model,
        all: impl IntoIterator<Item = &'c Coroutine>,
        shown: &str,
    ) -> Vec<String> {
        let mut seen = BTreeSet::new();
        let all = all.into_iter();
        let given: Vec<String> = all
            .filter(|coroutine| seen.insert(coroutine.name))
            .filter_map(|coroutine| self.given(model.trace_model.name(coroutine.name)))
            .collect();
        let repeats = |name: &String| name == shown || numbered(name) == shown;
        if given.iter().all(repeats) {
            Vec::new()
        } else {
            given
        }
    }

    /// The name that the program gave to coroutines at a site, if `shown` does not repeat it. If their
    /// names differ, a number at the end is replaced by `*`. Otherwise `..` follows the first name.
    pub fn given_at(&self, name: &str, names_differ: bool, shown: &str) -> Option<String> {
        let given = self.given(name).filter(|given| given != shown)?;
        let stem = numbered(&given);
        if !names_differ {
            Some(given)
        } else if stem == given {
            Some(format!("{given} .."))
        } else {
            Some(stem).filter(|stem| stem != shown)
        }
    }

    /// The displayed name of several coroutines at a place: their function there, or `name`. If their names
    /// differ, a number at the end is replaced by `*`.
    pub fn function_of_several(&self, site: SiteId, name: &str, names_differ: bool) -> String {
        let is_named = self.of(site).is_some_and(|label| label.function.is_some());
        let function = self.function(site, name);
        if names_differ && !is_named {
            numbered(&function)
        } else {
            function
        }
    }

    /// The displayed name of these coroutines at their place.
    pub fn of_all<'c>(
        &self,
        model: &Model,
        site: SiteId,
        all: impl IntoIterator<Item = &'c Coroutine>,
    ) -> String {
        let mut all = all.into_iter();
        let Some(first) = all.next() else {
            return NO_NAME.to_owned();
        };
        let differ = all.any(|coroutine| coroutine.name != first.name);
        self.of_row(model, site, first, differ)
    }

    /// The name by which coroutines are grouped into rows.
    pub fn name_of_row(&self, model: &Model, site: SiteId, coroutine: &Coroutine) -> String {
        self.of_row(model, site, coroutine, true)
    }

    fn of_row(
        &self,
        model: &Model,
        site: SiteId,
        coroutine: &Coroutine,
        names_differ: bool,
    ) -> String {
        let name = model.trace_model.name(coroutine.name);
        if has_waited(&model.trace_model, coroutine) {
            self.function_of_several(site, name, names_differ)
        } else {
            self.function_of_spawned(site, name, names_differ)
        }
    }

    /// Like [`name_of_row`](Self::name_of_row), for a coroutine that has ended. `given` is the name that the program
    /// gave.
    pub fn name_of_row_at(&self, site: SiteId, given: &str, has_waited: bool) -> String {
        if has_waited {
            self.function_of_several(site, given, true)
        } else {
            self.function_of_spawned(site, given, true)
        }
    }

    /// The name of a coroutine that has not waited yet. The function at its spawn site is that of the
    /// spawning coroutine, so that function is used last.
    fn function_of_spawned(&self, site: SiteId, name: &str, names_differ: bool) -> String {
        match (self.called(name), names_differ) {
            (Some(name), true) => numbered(&name),
            (Some(name), false) => name,
            (None, _) => match self.of(site).and_then(|label| label.function.as_ref()) {
                Some(function) => format!("spawned in {function}"),
                None => NO_NAME.to_owned(),
            },
        }
    }
}

/// Whether the coroutine has waited, so that its place is a waiting place.
pub fn has_waited(trace_model: &TraceModel, coroutine: &Coroutine) -> bool {
    coroutine.suspend().is_some() || trace_model.resumed_from(coroutine).is_some()
}
