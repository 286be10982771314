//! Where a task waits: the innermost function of the program on its await stack.

use std::ops::Range;

use ctp_trace::model::innermost;
use ctp_trace::record::{AwaitFrame, AwaitStack, InspectedTask, TaskKind};
use symbolize::is_dependency;

use crate::names::label::{self, Label};
use crate::text;

/// The place where a task waits, the functions that await that place, and what is awaited there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StackSite {
    /// The function at the place, or the name of the task if no function is known.
    pub function: String,
    /// File and line of the place.
    pub label: Label,
    /// The number of the point at which the function is suspended, as the compiler counts; 0 if unknown.
    pub suspension: u32,
    /// The functions around the place, innermost first.
    pub awaited_by: Vec<String>,
    /// The futures inside the place, without those that contain another. Empty if there are branches.
    pub awaits: Vec<String>,
    /// The futures that the place awaits at the same time, such as the branches of a `select!` or `join!`.
    pub branches: Vec<AwaitedBranch>,
}

/// One of several futures that are awaited at the same time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AwaitedBranch {
    /// The indices of the branch's frames in the stack.
    pub frames: Range<usize>,
    /// The names of the futures of the branch, outermost first.
    pub chain: Vec<String>,
}

impl StackSite {
    /// The place of a task.
    pub fn of(task: &InspectedTask, stack: Option<&AwaitStack>) -> Self {
        let of_stack = stack.and_then(Self::of_stack);
        of_stack.unwrap_or_else(|| StackSite {
            function: name_of(task),
            ..StackSite::default()
        })
    }

    fn of_stack(stack: &AwaitStack) -> Option<Self> {
        let leaves = innermost(stack);
        let first = *leaves.first()?;
        let forks = branches(stack);
        let path = path_to(stack, focus(stack, first, &forks));
        let place = path
            .iter()
            .rposition(|at| is_of_program(&stack.frames[*at]))
            .unwrap_or(path.len() - 1);
        let frame = &stack.frames[path[place]];
        let around = path[..place].iter().rev();
        let inside = leaves.iter().filter(|leaf| **leaf != path[place]);
        let inside = inside.filter(|_| forks.is_empty());
        Some(StackSite {
            function: name(&frame.name),
            label: label_of(frame),
            suspension: frame.suspension,
            awaited_by: around.map(|at| with_line(&stack.frames[*at])).collect(),
            awaits: inside.map(|at| with_line(&stack.frames[*at])).collect(),
            branches: forks
                .into_iter()
                .map(|frames| AwaitedBranch::of(stack, frames))
                .collect(),
        })
    }

    /// File and line.
    pub fn at(&self) -> Option<String> {
        self.label.at()
    }
}

impl AwaitedBranch {
    fn of(stack: &AwaitStack, frames: Range<usize>) -> Self {
        let shown = stack.frames[frames.clone()].iter();
        AwaitedBranch {
            chain: shown.map(with_line).collect(),
            frames,
        }
    }
}

/// The index of the innermost frame that may be the place. Without branches, this is the first leaf. With branches,
/// this is the frame that awaits them.
///
/// If only libraries are around the branches, as around the handler of a request, and only one branch has code of
/// the program, the search continues in that branch, up to its first frame with branches of its own, or else to
/// its last frame.
fn focus(stack: &AwaitStack, first_leaf: usize, forks: &[Range<usize>]) -> usize {
    let Some(fork) = forks.first().map(|branch| branch.start - 1) else {
        return first_leaf;
    };
    let is_own = |at: usize| is_of_program(&stack.frames[at]);
    let mut own = forks.iter().filter(|branch| (*branch).clone().any(is_own));
    match (own.next(), own.next()) {
        (Some(branch), None) if !path_to(stack, fork).into_iter().any(is_own) => {
            let mut within = branch.clone();
            within
                .find(|at| 1 < children(stack, *at).len())
                .unwrap_or(branch.end - 1)
        }
        _ => fork,
    }
}

/// The frames of each future that is awaited by the outermost future with several branches. The timer of a timeout
/// does not count as a branch.
fn branches(stack: &AwaitStack) -> Vec<Range<usize>> {
    (0..stack.frames.len())
        .map(|at| children(stack, at))
        .find(|children| 1 < children.len())
        .unwrap_or_default()
}

/// The frames of each future that the future at `at` awaits directly, except the timer of a timeout.
fn children(stack: &AwaitStack, at: usize) -> Vec<Range<usize>> {
    let frames = &stack.frames;
    let depth = frames[at].depth;
    let inside = frames[at + 1..].iter();
    let end = at + 1 + inside.take_while(|frame| depth < frame.depth).count();
    let starts = (at + 1..end).filter(|inner| frames[*inner].depth <= depth + 1);
    let starts: Vec<usize> = starts
        .filter(|inner| !is_timer_of(&frames[at], &frames[*inner]))
        .collect();
    let ends = starts.iter().skip(1).copied().chain([end]);
    starts
        .iter()
        .zip(ends)
        .map(|(start, end)| *start..end)
        .collect()
}

/// Whether a future is the timer of a timeout.
fn is_timer_of(timeout: &AwaitFrame, timer: &AwaitFrame) -> bool {
    let [timeout, timer] =
        [timeout, timer].map(|frame| frame.name.split('<').next().unwrap_or_default());
    timeout.ends_with("::Timeout") && timer.ends_with("::Sleep")
}

/// The indices of the frames from the outermost to the frame at `at`.
fn path_to(stack: &AwaitStack, at: usize) -> Vec<usize> {
    let mut path = vec![at];
    let mut depth = stack.frames[at].depth;
    for outer in (0..at).rev() {
        if stack.frames[outer].depth < depth {
            depth = stack.frames[outer].depth;
            path.push(outer);
        }
    }
    path.reverse();
    path
}

fn is_of_program(frame: &AwaitFrame) -> bool {
    0 < frame.line && !frame.file.is_empty() && !is_dependency(&frame.file)
}

/// The label of a frame.
pub fn label_of(frame: &AwaitFrame) -> Label {
    Label {
        function: Some(name(&frame.name)),
        file: (!frame.file.is_empty()).then(|| text::escape(label::from_here(&frame.file))),
        absolute: Some((&frame.file).into()),
        line: (0 < frame.line).then_some(frame.line),
        ..Label::default()
    }
}

/// Formats `serve src/conn.rs:61`. Library code has no file and line.
fn with_line(frame: &AwaitFrame) -> String {
    let at = label_of(frame).at().filter(|_| is_of_program(frame));
    let point = suspension(frame.suspension);
    match at {
        Some(at) => format!("{} {at}{point}", name(&frame.name)),
        None => format!("{}{point}", name(&frame.name)),
    }
}

/// Formats ` (suspension point 2)`. Empty if the number is unknown.
pub fn suspension(number: u32) -> String {
    match number {
        0 => String::new(),
        number => format!(" (suspension point {number})"),
    }
}

/// The name of a task. A task of the blocking pool without a name gets a description instead. The workers of tokio
/// are tasks of its blocking pool, too.
pub fn name_of(task: &InspectedTask) -> String {
    if task.kind == TaskKind::Blocking && task.name.is_empty() {
        "(closure of the blocking pool)".to_owned()
    } else {
        name(&task.name)
    }
}

/// The name of a function or type as it is shown.
pub fn name(name: &str) -> String {
    label::tidy(name).unwrap_or_else(|| label::NO_NAME.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ctp_trace::record::AwaitStackId;

    fn site(frames: &[(u32, &str, &str)]) -> StackSite {
        let stack = AwaitStack {
            id: AwaitStackId(1),
            frames: frames
                .iter()
                .map(|(depth, name, file)| AwaitFrame {
                    depth: *depth,
                    name: (*name).to_owned(),
                    file: (*file).to_owned(),
                    line: 7,
                    ..AwaitFrame::default()
                })
                .collect(),
        };
        StackSite::of(&InspectedTask::default(), Some(&stack))
    }

    #[test]
    fn place_is_the_innermost_own_function() {
        let site = site(&[
            (0, "serve", "src/main.rs"),
            (1, "tokio::time::Timeout", ""),
            (2, "read", "src/conn.rs"),
            (
                3,
                "Readiness",
                "/root/.cargo/registry/src/index/tokio-1.54.1/io.rs",
            ),
            (2, "tokio::time::Sleep", ""),
        ]);
        assert_eq!(site.function, "read");
        assert_eq!(site.at().as_deref(), Some("src/conn.rs:7"));
        assert_eq!(
            site.awaited_by,
            ["tokio::time::Timeout", "serve src/main.rs:7"]
        );
        assert_eq!(site.awaits, ["Readiness", "tokio::time::Sleep"]);
        assert_eq!(site.branches, []);
    }

    #[test]
    fn place_is_in_the_only_own_branch_of_a_library() {
        let library = "/root/.cargo/registry/src/index/axum-0.8.1/serve.rs";
        let frames = [
            (0, "axum::serve::handle_connection", library),
            (1, "tokio::select!", ""),
            (2, "hyper::Connection", ""),
            (3, "order", "src/main.rs"),
            (4, "get_permit", "src/pool.rs"),
            (5, "GetPermit", ""),
            (2, "Notified", ""),
        ];
        let of_handler = site(&frames);
        assert_eq!(of_handler.function, "get_permit");
        assert_eq!(of_handler.awaited_by[0], "order src/main.rs:7");
        assert_eq!(of_handler.branches.len(), 2);
        let mut both = frames;
        both[6] = (2, "shut_down", "src/main.rs");
        assert_eq!(site(&both).function, "tokio::select!");
    }

    #[test]
    fn place_of_branches_is_the_function_that_awaits_them() {
        let site = site(&[
            (0, "serve", "src/main.rs"),
            (1, "read", "src/conn.rs"),
            (2, "tokio::select!", ""),
            (3, "request", "src/conn.rs"),
            (4, "Readiness", ""),
            (3, "Sleep", ""),
        ]);
        assert_eq!(site.function, "read");
        assert_eq!(site.awaited_by, ["serve src/main.rs:7"]);
        assert_eq!(site.awaits, Vec::<String>::new());
        let branch = |frames, chain: &[&str]| AwaitedBranch {
            frames,
            chain: chain.iter().map(|name| (*name).to_owned()).collect(),
        };
        let expected = [
            branch(3..5, &["request src/conn.rs:7", "Readiness"]),
            branch(5..6, &["Sleep"]),
        ];
        assert_eq!(site.branches, expected);
    }
}
