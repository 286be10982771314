//! The verdict on each coroutine, with the sentence of the page and the proof.

use anyhow::Result;

use crate::config::StuckView;
use crate::evidence::Member;
use crate::evidence::proof::Proof;
use crate::load::Model;
use crate::names::Names;
use crate::names::call_stacks::CallStacks;
use crate::views::stuck::model::{self, deadlocks};
use crate::views::stuck::text;

/// The verdict on a coroutine, in words.
pub struct Explained<'e> {
    /// The coroutine and its judgement.
    pub member: Member<'e>,
    /// The sentence of the page about this coroutine, or about all coroutines with the same reason.
    pub text: &'e str,
    /// The records that support the verdict.
    pub proof: Proof,
}

/// Calls `each` with the verdict on each coroutine that had not ended, in the order of their ids.
///
/// # Errors
/// The error of `each`.
pub fn explain(
    view: &StuckView,
    (model, names, stacks): (&Model, &Names, &CallStacks),
    mut each: impl FnMut(&Explained<'_>) -> Result<()>,
) -> Result<()> {
    let members = model::members(model, names, view);
    let context = model::Context::of(model, names, stacks, &members);
    let groups = model::groups(&context, &members);
    let deadlocks = deadlocks::deadlocks(&context, &members);
    let sentences = text::sentences(&groups, &deadlocks);
    for member in members.iter().copied() {
        let text = sentences.get(&member.0.id.0);
        each(&Explained {
            member,
            text: text.map_or("", |text| text),
            proof: context.proof(member),
        })?;
    }
    Ok(())
}
