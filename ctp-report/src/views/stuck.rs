//! `--stuck`: which coroutines are stuck, where, for how long and on what.

mod inspected;
pub mod json;
pub mod model;
pub mod text;
mod unrecorded;

use std::io::Write;

use anyhow::Result;

use crate::config::{Config, StuckView};
use crate::document::{self, hints};
use crate::evidence::thread_inspections::ThreadInspection;
use crate::findings::Finding as _;
use crate::findings::gate::{self, Status};
use crate::findings::leaks::Leak;
use crate::load;

/// Writes the page. With `--fail`, returns whether anything is stuck.
///
/// # Errors
/// If the trace cannot be read, or `out` cannot be written.
pub fn show(config: &Config, view: &StuckView, out: &mut dyn Write) -> Result<Status> {
    let input = load::open(config)?;
    let model = input.model_before_shutdown()?;
    if model.is_inspection() {
        return inspected::show(config, view, (&input, &model), out);
    }
    match model.check_not_empty() {
        Err(empty) if view.fail => return Ok(Status::Incomplete(empty.to_string())),
        checked => checked?,
    }
    let mut names = document::names(config, &input, &model);
    let stacks = document::call_stacks(config, &input, &model, &mut names);
    let members = model::members(&model, &names, view);
    let context = model::Context::of(&model, &names, &stacks, &members);
    let groups = model::groups(&context, &members);
    let deadlocks = model::deadlocks::deadlocks(&context, &members);
    let pool = ThreadInspection::of_blocking_pool(&model, &stacks);
    let tasks = unrecorded::groups(&model, view);
    let fields = || {
        let leaks = Vec::<Leak>::find(&model, &names);
        let coroutines = json::fields(view.threshold, &groups, &deadlocks, &pool, &leaks);
        unrecorded::with_tasks(coroutines, &model, &tasks)
    };
    document::write(config, (&model, &names), out, fields, |page| {
        let shown = text::Shown {
            groups: &groups,
            deadlocks: &deadlocks,
            pool: &pool,
            tasks: unrecorded::findings(&model, &names, &tasks),
        };
        text::page(page, &shown, (&names, view))?;
        if config.is_quiet() {
            return Ok(());
        }
        let tool = hints::tool(config);
        text::hints(page, (&tool, model.is_by_name()), &groups, &names, view)
    })?;
    if !view.fail {
        return Ok(Status::Fine);
    }
    let of_coroutines = gate::check(&model, &members, view.threshold);
    Ok(of_coroutines.or_worse(unrecorded::check(&model, &tasks)))
}
