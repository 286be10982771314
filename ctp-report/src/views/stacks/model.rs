//! Groups of tasks, coroutines and threads with equal stacks.

use std::collections::BTreeMap;

use ctp_trace::model::innermost;
use ctp_trace::record::{AwaitStack, Nanos, TaskKind};

use crate::evidence::coroutine_stacks::WaitingStack;
use crate::evidence::inspected::site::{label_of, name_of, suspension};
use crate::evidence::inspected::threads::ThreadStack;
use crate::evidence::inspected::{TaskGroup, owners, words};
use crate::names::Label;
use crate::names::call_stacks::CallFrame;
use crate::names::source::paths;
use crate::text::{self, units};

/// All groups, the largest first, tasks before coroutines before threads.
pub struct Stacks {
    /// The groups.
    pub groups: Vec<StackGroup>,
}

/// Tasks, coroutines or threads with equal stacks.
pub struct StackGroup {
    /// `task`, `coroutine` or `thread`.
    pub kind: &'static str,
    /// The ids, in ascending order.
    pub ids: Vec<u32>,
    /// The name of the first member.
    pub name: String,
    /// What the members do, and the verdict.
    pub state: String,
    /// Further facts about the members, a line each.
    pub notes: Vec<String>,
    /// The branches, each with its frames innermost first. The first branch is whole; the others begin
    /// in a function of an earlier branch.
    pub branches: Vec<Vec<String>>,
}

impl Stacks {
    /// The stacks of these tasks, coroutines and threads.
    pub fn of(groups: &[TaskGroup], coroutines: &[WaitingStack], threads: &[ThreadStack]) -> Self {
        let mut tasks: Vec<StackGroup> = groups
            .iter()
            .map(|group| of_tasks(group, threads))
            .collect();
        tasks.sort_by_key(|group| (std::cmp::Reverse(group.ids.len()), group.ids[0]));
        tasks.extend(of_coroutines(coroutines));
        tasks.extend(of_threads(threads));
        Stacks { groups: tasks }
    }

    /// The stacks in the form that flame graph tools read: the frames, outermost first, and the
    /// number of members.
    pub fn folded(&self) -> String {
        let lines = self.groups.iter().map(|group| {
            let first = group.branches.first().into_iter().flatten();
            let frames: Vec<String> = [group.name.clone()]
                .into_iter()
                .chain(first.rev().cloned())
                .chain([group.state.clone()])
                .map(|frame| frame.replace(';', ","))
                .collect();
            format!("{} {}\n", frames.join(";"), group.ids.len())
        });
        lines.collect()
    }
}

fn of_tasks(group: &TaskGroup, threads: &[ThreadStack]) -> StackGroup {
    let (task, judgement) = (group.first(), group.judgement());
    let wakers = task.wakers.map(words::wakers);
    let spawned = task.spawned_at.as_ref();
    let spawned = spawned
        .map(|(file, line)| format!("spawned at {}:{line}", text::escape(paths::displayed(file))));
    let holds = task.holds.iter();
    let holds = holds.map(|hold| format!("holds {}", words::held(hold)));
    let is_root = task.kind == TaskKind::BlockOn;
    let root = is_root.then(|| format!("given to block_on by thread {}", task.polled_by));
    let tasks: Vec<_> = group.tasks.iter().map(|member| member.task).collect();
    let owners = owners::holders(&tasks, threads).into_iter();
    let owners = owners.map(|owner| format!("held by {owner}"));
    StackGroup {
        kind: match task.kind {
            TaskKind::BlockOn => "future",
            TaskKind::Boxed => "boxed future",
            _ => "task",
        },
        ids: group.ids(),
        name: name_of(task),
        state: format!(
            "{}, {} {}",
            task.state.word(),
            judgement.verdict.word(),
            judgement.reason.word()
        ),
        notes: root
            .into_iter()
            .chain(wakers)
            .chain(spawned)
            .chain(holds)
            .chain(owners)
            .collect(),
        branches: group.tasks[0].stack.map(branches).unwrap_or_default(),
    }
}

/// The branches of an await stack.
fn branches(stack: &AwaitStack) -> Vec<Vec<String>> {
    let mut written = vec![false; stack.frames.len()];
    let mut branches = Vec::new();
    for leaf in innermost(stack) {
        let mut branch = Vec::new();
        let mut depth = stack.frames[leaf].depth.saturating_add(1);
        for at in (0..=leaf).rev() {
            let frame = &stack.frames[at];
            if frame.depth < depth && !written[at] {
                written[at] = true;
                let point = suspension(frame.suspension);
                branch.push(frame_text(&label_of(frame), false) + &point);
            }
            depth = depth.min(frame.depth);
        }
        branches.push(branch);
    }
    branches
}

/// `serve src/conn.rs:61`
fn frame_text(label: &Label, inlined: bool) -> String {
    let at = label.at().unwrap_or_default();
    let inlined = if inlined { " (inlined)" } else { "" };
    match &label.function {
        Some(function) => format!("{function} {at}{inlined}").trim_end().to_owned(),
        None => at,
    }
}

fn of_coroutines(coroutines: &[WaitingStack]) -> Vec<StackGroup> {
    let mut groups: BTreeMap<(Vec<String>, String, String), Vec<&WaitingStack>> = BTreeMap::new();
    for waiting in coroutines {
        let (verdict, reason) = (waiting.judgement.verdict, waiting.judgement.reason);
        let verdict = format!("{} {}", verdict.word(), reason.word());
        let key = (frame_texts(&waiting.frames), verdict, waiting.name.clone());
        groups.entry(key).or_default().push(waiting);
    }
    let groups = groups
        .into_iter()
        .map(|((frames, verdict, name), members)| {
            let is_cut = !members[0].stack.is_whole && !frames.is_empty();
            let cut = is_cut.then(|| CUT.to_owned());
            let moving = members[0].stack.is_moving;
            let moving = moving.then(|| "went on while the stack was read".to_owned());
            StackGroup {
                kind: "coroutine",
                ids: members
                    .iter()
                    .map(|waiting| waiting.coroutine.id.0)
                    .collect(),
                name,
                state: format!(
                    "{} for {}, {verdict}",
                    members[0].state_word(),
                    ages(&members)
                ),
                notes: cut.into_iter().chain(moving).collect(),
                branches: if frames.is_empty() {
                    vec![]
                } else {
                    vec![frames]
                },
            }
        });
    let mut groups: Vec<StackGroup> = groups.collect();
    groups.sort_by_key(|group| (std::cmp::Reverse(group.ids.len()), group.ids[0]));
    groups
}

/// `2.1 s`, or `2.10 .. 3.40 s`
fn ages(members: &[&WaitingStack]) -> String {
    let ages = || members.iter().map(|waiting| waiting.judgement.age);
    let (least, most) = (ages().min(), ages().max());
    units::range(least.unwrap_or(Nanos(0)), most.unwrap_or(Nanos(0)))
}

const CUT: &str = "functions outside these may be missing";

fn frame_texts(frames: &[CallFrame]) -> Vec<String> {
    let frames = frames.iter();
    frames
        .map(|(label, inlined)| frame_text(label, *inlined))
        .collect()
}

fn of_threads(threads: &[ThreadStack]) -> Vec<StackGroup> {
    let mut groups: BTreeMap<(Vec<String>, String, String), Vec<&ThreadStack>> = BTreeMap::new();
    for stack in threads {
        let frames = frame_texts(&stack.frames);
        let key = (frames, stack.describe(), text::escape(&stack.thread.name));
        groups.entry(key).or_default().push(stack);
    }
    let groups = groups.into_iter().map(|((frames, state, name), members)| {
        let role = members[0].role_word().map(str::to_owned);
        let polls = members.iter().filter_map(|stack| stack.thread.polls);
        let polls: Vec<u32> = polls.map(|task| task.0).collect();
        let polls = (!polls.is_empty()).then(|| format!("polls task {}", text::few(&polls)));
        let is_cut = !members[0].thread.is_whole && !frames.is_empty();
        let cut = is_cut.then(|| CUT.to_owned());
        StackGroup {
            kind: "thread",
            ids: members.iter().map(|stack| stack.thread.tid).collect(),
            name,
            state,
            notes: role.into_iter().chain(polls).chain(cut).collect(),
            branches: if frames.is_empty() {
                vec![]
            } else {
                vec![frames]
            },
        }
    });
    let mut groups: Vec<StackGroup> = groups.collect();
    groups.sort_by_key(|group| (std::cmp::Reverse(group.ids.len()), group.ids[0]));
    groups
}
