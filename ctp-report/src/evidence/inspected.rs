//! Tasks and threads of inspections: groups with the same verdict and stack, and the words for them.

pub mod cpp;
pub mod held_locks;
pub mod owners;
pub mod site;
pub mod threads;
pub mod wakers;
pub mod words;

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use ctp_trace::model::JudgedTask;
use ctp_trace::record::{InspectedTask, TaskKind};
use ctp_trace::verdict::Verdict;
use ctp_trace::verdict::inspected::{InspectedJudgement, InspectedReason};

use crate::config::filter::{Filter, FilterSubject};
use crate::config::ignore::Ignore;
use crate::evidence::inspected::site::StackSite;

/// Tasks of a kind with the same verdict for the same reason, in the same state, with the same stack.
pub struct TaskGroup<'m> {
    /// The tasks, by id. Never empty.
    pub tasks: Vec<JudgedTask<'m>>,
    /// Where the tasks wait.
    pub site: StackSite,
}

type Key = (Verdict, InspectedReason, &'static str, &'static str, String);

/// Rejects a filter by time for a trace without history.
///
/// # Errors
/// If the filter has a time.
pub fn check_filter(filter: &Filter) -> Result<()> {
    if filter.began.is_some() {
        bail!("an inspection does not find since when a task has waited: leave out --time");
    }
    Ok(())
}

/// Keeps the tasks that the filter admits. With `--time`, these are none, because the beginning of their
/// waits is not known.
pub fn filter(judged: &mut Vec<JudgedTask>, filter: &Filter) {
    if filter.is_empty() {
        return;
    }
    judged.retain(|member| {
        let (task, site) = (member.task, StackSite::of(member.task, member.stack));
        filter.admits(&FilterSubject {
            id: task.id.0,
            function: &site.function,
            at: site.at().as_deref(),
            name: &site::name_of(task),
            thread: (0 < task.polled_by).then_some(task.polled_by.into()),
            states: [member.judgement.verdict.word(), task.state.word()],
            since: None,
        })
    });
}

/// Groups tasks: the worst verdict first, then the largest group.
pub fn groups<'m>(judged: Vec<JudgedTask<'m>>, ignore: &Ignore) -> Vec<TaskGroup<'m>> {
    let mut groups: BTreeMap<Key, TaskGroup<'m>> = BTreeMap::new();
    for mut member in judged {
        let site = StackSite::of(member.task, member.stack);
        if ignore.is_of(&site.function, site.at().as_deref()) {
            member.judgement = member.judgement.ignored();
        }
        let InspectedJudgement {
            verdict, reason, ..
        } = member.judgement;
        let stack = match member.task.stack.0 {
            0 => member.task.name.clone(),
            stack => stack.to_string(),
        };
        let task = member.task;
        let words = (kind_word(task.kind), task.state.word());
        let key = (verdict, reason, words.0, words.1, stack);
        let group = groups.entry(key).or_insert_with(|| TaskGroup {
            tasks: Vec::new(),
            site,
        });
        group.tasks.push(member);
    }
    let mut groups: Vec<_> = groups.into_values().collect();
    groups.sort_by_key(|group| {
        let judgement = group.judgement();
        let count = std::cmp::Reverse(group.tasks.len());
        (judgement.verdict, judgement.reason, count, group.first().id)
    });
    groups
}

impl<'m> TaskGroup<'m> {
    /// The task with the smallest id.
    pub fn first(&self) -> &'m InspectedTask {
        self.tasks[0].task
    }

    /// The common verdict.
    pub fn judgement(&self) -> InspectedJudgement {
        self.tasks[0].judgement
    }

    /// The ids of the tasks.
    pub fn ids(&self) -> Vec<u32> {
        self.tasks.iter().map(|member| member.task.id.0).collect()
    }
}

/// The word for the kind of a task. A future that belongs to no runtime is a `future`.
pub fn kind_word(kind: TaskKind) -> &'static str {
    match kind {
        TaskKind::BlockOn | TaskKind::Child => "future",
        kind => kind.word(),
    }
}
