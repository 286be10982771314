//! The branches of a wait: which of several leaf futures the coroutine waits for, and where.
//!
//! The trace has the chain of each leaf that had a waker when the poll ended. The coroutine may no longer
//! wait for such a leaf, if its future was awaited earlier and has kept the waker.
//!
//! Two chains are compared from the outermost function inwards, up to the function where they separate. If
//! they separate at two lines of the same `async` body, that body has continued from an earlier `.await` to a
//! later `.await`. So the coroutine waits for the leaf that was polled later, and the other is over. If they
//! separate elsewhere, such as in a `select!`, the coroutine waits for both leaves.

use std::collections::BTreeSet;

use ctp_trace::record::{LeafKind, SiteId};
use serde::Serialize;

use crate::names::chains::{AllFunctions, AwaitChain};
use crate::names::user_code::UserCode;
use crate::names::{Label, label};

/// A branch of a wait.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct WaitBranch {
    /// The site of the branch alone.
    #[serde(skip)]
    pub site: SiteId,
    /// The user's functions that only this branch has, innermost first: those inside the place of the wait.
    pub functions: Vec<Label>,
    /// The library function in which the branch waits, if known.
    pub within: Option<String>,
    /// What its leaf future waits for.
    #[serde(skip)]
    pub kind: LeafKind,
    /// How long the oldest coroutine has waited for the branch, through all polls. `None` if that is not
    /// known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waited_ns: Option<u64>,
    /// The longest wait for the branch that is over. `None` if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longest_ns: Option<u64>,
}

/// A leaf for which a poll has left a waker.
#[derive(Clone, Debug)]
pub struct RegisteredLeaf {
    /// The site of the leaf alone.
    pub site: SiteId,
    /// The functions of its chain.
    pub all: AllFunctions,
}

/// The leaves for which the coroutine still waits. `leaves` are all leaves with a waker, and `last` are the
/// sites of the leaves that were polled last in some poll.
pub fn waiting(leaves: &[RegisteredLeaf], last: &BTreeSet<SiteId>) -> Vec<RegisteredLeaf> {
    let waiting = leaves.iter().filter(|leaf| {
        let mut lasts = leaves.iter().filter(|leaf| last.contains(&leaf.site));
        lasts.any(|last| !is_over(&leaf.all, &last.all))
    });
    waiting.cloned().collect()
}

/// Whether the coroutine no longer waits for `leaf`, because an `async` body has continued to the await of
/// `last`.
fn is_over(leaf: &AllFunctions, last: &AllFunctions) -> bool {
    if !leaf.is_whole || !last.is_whole {
        return false;
    }
    let pairs = leaf.labels.iter().rev().zip(last.labels.iter().rev());
    let mut separate = pairs.filter(|(left, other)| !is_same_place(left, other));
    separate
        .next()
        .is_some_and(|(left, other)| is_same_function(left, other) && is_body(left))
}

/// Whether two labels are of the same function. Line tables give the same name to all `async` bodies, so
/// the files have to be the same too.
fn is_same_function(left: &Label, other: &Label) -> bool {
    (&left.function, &left.absolute) == (&other.function, &other.absolute)
}

fn is_same_place(left: &Label, other: &Label) -> bool {
    (&left.function, &left.file, left.line) == (&other.function, &other.file, other.line)
}

/// Whether this is the body of an `async` function or block, rather than a closure or a `poll` function.
fn is_body(label: &Label) -> bool {
    let function = label.function.as_deref().unwrap_or("poll");
    let last = function.rsplit("::").next().unwrap_or(function);
    !function.starts_with("closure") && !last.starts_with("poll") && label.line.is_some()
}

/// The place of a wait for several leaves, and each branch inside that place. `last` are the sites of the
/// leaves that were polled last in some poll.
pub fn place(
    leaves: &[RegisteredLeaf],
    last: &BTreeSet<SiteId>,
    user: &UserCode,
) -> (AwaitChain, Vec<WaitBranch>) {
    let chains: Vec<AwaitChain> = leaves
        .iter()
        .map(|leaf| AwaitChain::of(&leaf.all, user))
        .collect();
    let Some(first) = chains.first() else {
        return Default::default();
    };
    let shared = chains.iter().map(|chain| shared_by(first, chain)).min();
    let shared = shared.unwrap_or_default();
    let branches = leaves.iter().zip(&chains).map(|(leaf, awaits)| {
        let inside = awaits.frames.len() - shared;
        WaitBranch {
            site: leaf.site,
            functions: awaits.frames[..inside].to_vec(),
            within: awaits.within.clone(),
            ..WaitBranch::default()
        }
    });
    let branches = branches.collect();
    let main =
        limited(leaves, &chains).or_else(|| (shared == 0).then(|| first_named(leaves, last)));
    let place = match main {
        Some(index) => chains[index].clone(),
        None => AwaitChain {
            frames: first.frames[first.frames.len() - shared..].to_vec(),
            is_whole: chains.iter().all(|chain| chain.is_whole),
            ..AwaitChain::default()
        },
    };
    (place, branches)
}

/// The index of the leaf that waits under a time limit, which the other leaf, a timer, sets. `None` unless
/// there are two leaves, and either the other leaf is a `Sleep`, or the chains separate in the code of a
/// timeout.
fn limited(leaves: &[RegisteredLeaf], chains: &[AwaitChain]) -> Option<usize> {
    let [left, other] = leaves else {
        return None;
    };
    let sleeps = |awaits: &AwaitChain| {
        let within = awaits.within.as_deref().unwrap_or_default();
        within.ends_with("::Sleep::poll")
    };
    match (sleeps(&chains[0]), sleeps(&chains[1])) {
        (true, false) if !is_timer(other) => return Some(1),
        (false, true) if !is_timer(left) => return Some(0),
        _ => {}
    }
    let pairs = left
        .all
        .labels
        .iter()
        .rev()
        .zip(other.all.labels.iter().rev());
    let mut separate = pairs.filter(|(left, other)| !is_same_place(left, other));
    let (in_left, in_other) = separate.next()?;
    let is_timeout = |label: &Label| {
        let function = label.function.as_deref().unwrap_or_default();
        function.contains("Timeout")
    };
    let are_both = is_timeout(in_left) && is_timeout(in_other);
    match (are_both, is_timer(left), is_timer(other)) {
        (true, true, false) => Some(1),
        (true, false, true) => Some(0),
        _ => None,
    }
}

/// The index of the leaf to report if the chains have no function in common: a leaf polled last that is no
/// timer, or else any leaf that is no timer, or else the first.
fn first_named(leaves: &[RegisteredLeaf], last: &BTreeSet<SiteId>) -> usize {
    let found = leaves
        .iter()
        .position(|leaf| last.contains(&leaf.site) && !is_timer(leaf));
    found
        .or_else(|| leaves.iter().position(|leaf| !is_timer(leaf)))
        .unwrap_or(0)
}

/// Whether the leaf is a timer, by the names of its functions.
fn is_timer(leaf: &RegisteredLeaf) -> bool {
    leaf.all.labels.iter().any(|label| {
        let function = label.function.as_deref().unwrap_or_default();
        ["Sleep", "Delay", "Timer"]
            .iter()
            .any(|name| function.contains(&format!("::{name}")))
    })
}

/// How many of the outermost functions two chains have in common.
fn shared_by(left: &AwaitChain, other: &AwaitChain) -> usize {
    let pairs = left.frames.iter().rev().zip(other.frames.iter().rev());
    pairs
        .take_while(|(left, other)| is_same_place(left, other))
        .count()
}

impl WaitBranch {
    /// Formats the branch as `read_frame main.rs:20 in AsyncReadExt::read_u32`.
    pub fn describe(&self) -> String {
        let inner = AwaitChain {
            frames: self.functions.clone(),
            is_whole: true,
            ..AwaitChain::default()
        };
        let functions = inner.describe(None).join("  <-  ");
        match (self.within.as_deref().map(label::api), functions.is_empty()) {
            (Some(within), true) => within.to_owned(),
            (Some(within), false) => format!("{functions} in {within}"),
            (None, true) => "(not known)".to_owned(),
            (None, false) => functions,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKIO: &str = "/root/.cargo/registry/src/index-1949/tokio-1.54.1/src/lib.rs";

    fn label(function: &str, line: u32) -> Label {
        let (file, absolute) = if function.contains("tokio::") {
            ("lib.rs", TOKIO)
        } else {
            ("main.rs", "/app/main.rs")
        };
        Label {
            function: Some(function.to_owned()),
            file: Some(file.to_owned()),
            absolute: Some(absolute.into()),
            line: Some(line),
            ..Label::default()
        }
    }

    fn leaf(site: u32, functions: &[(&str, u32)]) -> RegisteredLeaf {
        let labels = functions
            .iter()
            .map(|(function, line)| label(function, *line));
        RegisteredLeaf {
            site: SiteId(site),
            all: AllFunctions {
                labels: labels.collect(),
                is_whole: true,
                ..AllFunctions::default()
            },
        }
    }

    fn sites(leaves: &[RegisteredLeaf], last: &[u32]) -> Vec<u32> {
        let last = last.iter().copied().map(SiteId).collect();
        let waiting = waiting(leaves, &last);
        waiting.iter().map(|leaf| leaf.site.0).collect()
    }

    // CT-13
    #[test]
    fn earlier_await_of_the_same_body_is_over() {
        let keepalive = leaf(
            1,
            &[
                ("tokio::Sleep::poll", 5),
                ("closure in app::relay", 18),
                ("app::relay", 18),
            ],
        );
        let send = leaf(2, &[("tokio::Sender::send", 9), ("app::relay", 23)]);
        let both = [keepalive, send];
        assert_eq!(sites(&both, &[2]), [2]);
        assert_eq!(sites(&both, &[1]), [1]);
        assert_eq!(sites(&both, &[1, 2]), [1, 2], "either");
    }

    // CT-13
    #[test]
    fn branches_of_an_await_wait_together() {
        let frame = leaf(
            1,
            &[
                ("tokio::ReadU32::poll", 5),
                ("app::read_frame", 20),
                ("app::serve", 29),
            ],
        );
        let tick = leaf(2, &[("tokio::Interval::tick", 7), ("app::serve", 29)]);
        let by_hand = leaf(3, &[("app::Both::poll", 40), ("app::serve", 29)]);
        let other_hand = leaf(4, &[("app::Both::poll", 41), ("app::serve", 29)]);
        let all = [frame, tick];
        assert_eq!(sites(&all, &[2]), [1, 2]);
        assert_eq!(sites(&[by_hand, other_hand], &[4]), [3, 4]);
        let last = BTreeSet::from([SiteId(2)]);
        let (around, branches) = place(&all, &last, &UserCode::default());
        assert_eq!(around.functions(), ["app::serve"]);
        let branches: Vec<String> = branches.iter().map(WaitBranch::describe).collect();
        assert_eq!(
            branches,
            ["app::read_frame main.rs:20 in ReadU32", "Interval::tick"]
        );
    }

    // CT-13
    #[test]
    fn timeout_is_shown_at_the_limited_wait() {
        let timeout = |line| ("<tokio::time::Timeout<T> as Future>::poll", line);
        let frame = leaf(
            1,
            &[("app::read_frame", 20), timeout(3), ("app::serve", 29)],
        );
        let sleep = leaf(
            2,
            &[("tokio::Sleep::poll", 7), timeout(4), ("app::serve", 29)],
        );
        let last = BTreeSet::from([SiteId(2)]);
        let (at, branches) = place(&[frame, sleep], &last, &UserCode::default());
        assert_eq!(at.functions()[0], "app::read_frame");
        assert_eq!(branches.len(), 2);
    }

    // CT-13
    #[test]
    fn async_bodies_without_paths_differ_by_their_files() {
        let tick = leaf(1, &[("{async_fn#0}", 445), ("app::serve", 23)]);
        let mut read = leaf(2, &[("{async_fn#0}", 13), ("app::serve", 23)]);
        read.all.labels[0].absolute = Some("/app/src/frames.rs".into());
        assert_eq!(sites(&[tick, read], &[2]), [1, 2]);
        let later = leaf(2, &[("{async_fn#0}", 450), ("app::serve", 23)]);
        let earlier = leaf(1, &[("{async_fn#0}", 445), ("app::serve", 23)]);
        assert_eq!(sites(&[earlier, later], &[2]), [2]);
    }

    #[test]
    fn incomplete_chains_leave_every_leaf_waiting() {
        let mut leaves = [
            leaf(1, &[("app::relay", 18)]),
            leaf(2, &[("app::relay", 23)]),
        ];
        leaves[0].all.is_whole = false;
        assert_eq!(sites(&leaves, &[2]), [1, 2]);
    }
}
