//! [`AwaitWalk`]: follows the futures of a task from the outermost to the innermost.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use ctp_trace::record::{AwaitFrame, TaskId, TaskWait};
use foldhash::HashSet;

use super::account::FutureCounts;
use super::guard::{are_guards_unknown, are_variables_present, held_locks};
use super::known::{Known, LeafType, is_body, known, macro_of};
use super::leaf::{Awaited, LeafReader};
use super::view::{TargetView, TypedValue};
use super::waker::WakerOwner;
use super::{Met, RegisteredWaker, TaskAwaits, own, shown};
use crate::types::layout::{Type, Variant};

/// A walk along the futures of a task, and what was found so far.
pub(super) struct AwaitWalk<'w> {
    pub(super) view: &'w TargetView<'w>,
    owner: WakerOwner,
    /// An upper limit of the number of wakers of the task; `None` if unknown.
    wakers: Option<u32>,
    tasks: &'w dyn Fn(u64) -> Option<TaskId>,
    descriptors: &'w HashMap<u64, u32>,
    found: TaskAwaits,
    /// The contents of the bodies around the current future, outermost first, with their depths.
    around: Vec<(u32, TypedValue)>,
    met: HashSet<Met>,
    /// The memory of the futures that are polled with the wakers of the task.
    polled: Vec<Range<u64>>,
    gaps: BTreeSet<&'static str>,
    account: FutureCounts,
    proof: PollProof,
    /// Whether a variable may have been moved out of the futures.
    may_have_moved: bool,
    /// Whether the current future comes from the expansion of a macro, such as `tokio::select!`.
    is_expanded: bool,
}

/// How certain it is that the current future is polled whenever the task is polled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PollProof {
    /// All futures that contain the current future are known to poll their contents.
    Proven,
    /// A future that contains the current future has an unknown type. The current future was polled before.
    PolledBefore,
    /// A future that contains the current future has an unknown type. The current future may never have been polled.
    Unproven,
}

/// The maximum number of futures in a task.
const MAX_FUTURES: usize = 4096;
/// The maximum depth of their nesting.
const MAX_DEPTH: u32 = 256;

impl<'w> AwaitWalk<'w> {
    pub(super) fn new(
        view: &'w TargetView<'w>,
        (owner, wakers): (WakerOwner, Option<u32>),
        tasks: &'w dyn Fn(u64) -> Option<TaskId>,
        descriptors: &'w HashMap<u64, u32>,
    ) -> Self {
        Self {
            view,
            owner,
            wakers,
            tasks,
            descriptors,
            found: TaskAwaits::default(),
            around: Vec::new(),
            met: HashSet::default(),
            polled: Vec::new(),
            gaps: BTreeSet::new(),
            account: FutureCounts::default(),
            proof: PollProof::Proven,
            may_have_moved: false,
            is_expanded: false,
        }
    }

    /// Follows the futures from the outermost future, and returns what was found.
    pub(super) fn run(mut self, future: TypedValue) -> TaskAwaits {
        self.follow(future, 0);
        let wakers = &mut self.found.wakers;
        own::mark_own(self.view, future, self.may_have_moved, wakers);
        let account = std::mem::take(&mut self.account);
        let owner = (self.owner, self.wakers);
        account.settle(self.view, owner, self.tasks, &mut self.found.waits);
        if self.view.pages.is_cut() {
            self.add_gap("a task has more memory than is read");
        }
        let outermost = self.found.frames.first();
        self.found.name = outermost.map_or_else(String::new, |frame| frame.name.clone());
        self.found.polled = Some(self.polled);
        self.found.gaps = self.gaps.into_iter().map(str::to_owned).collect();
        self.found
    }

    pub(super) fn add_gap(&mut self, sentence: &'static str) {
        self.gaps.insert(sentence);
    }

    /// Adds the frames and waits of a future and of the futures that it awaits.
    pub(super) fn follow(&mut self, future: TypedValue, depth: u32) {
        let future = self.view.unwrapped(future);
        let Some(layout) = self.view.layout(future) else {
            self.add_gap("the type of a future is unknown");
            return;
        };
        if !self.met.insert((future.of, future.address)) {
            self.add_gap("a future seems to contain itself");
            return;
        }
        if MAX_FUTURES <= self.met.len() || MAX_DEPTH <= depth {
            self.add_gap("a task has more futures than are shown");
            return;
        }
        if self.has_own_wakers() {
            let end = future.address.saturating_add(layout.size);
            self.polled.push(future.address..end);
        }
        if is_body(&layout.path) {
            self.follow_body(future, &layout, depth);
            return;
        }
        self.account.add_owner(future);
        match known(&layout.path) {
            Some(Known::Leaf(LeafType::Next)) if self.follow_set(future, &layout, depth) => {}
            Some(Known::Leaf(leaf)) => self.add_leaf(future, &layout, leaf, depth),
            Some(Known::PollFn) => self.follow_poll_fn(future, &layout, depth),
            Some(Known::MaybeDone) => self.follow_unfinished(future, depth),
            Some(Known::Wrapper) => self.follow_wrapper(future, &layout, depth),
            Some(Known::Around(member)) => match self.view.member(future, member) {
                Some(inner) => self.follow(inner, depth),
                None => self.add_unknown_leaf(shown(&layout), depth),
            },
            Some(Known::Combinator) => self.follow_all(future, &layout, depth),
            None => self.follow_other(future, &layout, depth),
        }
    }

    fn follow_body(&mut self, future: TypedValue, layout: &Type, depth: u32) {
        let Some((variant, contents)) = self.view.variant(future) else {
            self.add_gap("the state of a future cannot be read");
            self.add_frame(depth, shown(layout));
            return;
        };
        let variant = &layout.variants()[variant];
        let Some(state) = self.view.layout(contents) else {
            return;
        };
        let state = state.path.rsplit("::").next().unwrap_or_default();
        if state == "Returned" || state == "Panicked" {
            return;
        }
        let awaited = self.view.member(contents, "__awaitee");
        let place = self.user_place(future, layout, variant, awaited);
        let index = self.add_body_frame(layout, place, depth);
        if !state.starts_with("Suspend") {
            return;
        }
        let held = held_locks(self.view, future.of, contents, index);
        self.found.holds.extend(held);
        self.may_have_moved |= !are_variables_present(self.view, contents);
        if are_guards_unknown(self.view, future.of, contents) {
            self.add_gap("panics do not unwind, so that no guard is known to hold its lock");
        }
        self.around.retain(|(around, _)| *around < depth);
        self.around.push((depth, contents));
        let proof = self.proof;
        if proof == PollProof::Unproven {
            self.proof = PollProof::PolledBefore;
        }
        match awaited {
            Some(awaited) => self.follow_in(awaited, macro_of(&variant.file), depth + 1),
            None => self.add_wait(index, Awaited::unknown()),
        }
        self.proof = proof;
    }

    /// Follows a future inside a future of an unknown type.
    pub(super) fn follow_unproven(&mut self, inner: TypedValue, depth: u32) {
        let proof = std::mem::replace(&mut self.proof, PollProof::Unproven);
        self.follow(inner, depth);
        self.proof = proof;
    }

    /// Sets what the wakers of the next futures lead to. Returns the previous value.
    pub(super) fn replace_owner(&mut self, owner: WakerOwner) -> WakerOwner {
        std::mem::replace(&mut self.owner, owner)
    }

    /// Whether the wakers of the current future are those of the task, and not of a set in the task.
    fn has_own_wakers(&self) -> bool {
        !matches!(self.owner, WakerOwner::Set(_))
    }

    /// Returns whether the current future comes from the expansion of a macro. The futures inside do not, so the next call
    /// returns false.
    pub(super) fn take_expanded(&mut self) -> bool {
        std::mem::take(&mut self.is_expanded)
    }

    /// Follows what a body awaits. If the `.await` is in the expansion of a macro, the frame has the name of the macro.
    fn follow_in(&mut self, awaited: TypedValue, expanded: Option<&str>, depth: u32) {
        let index = self.found.frames.len();
        self.is_expanded = expanded.is_some();
        self.follow(awaited, depth);
        if let (Some(name), Some(frame)) = (expanded, self.found.frames.get_mut(index)) {
            name.clone_into(&mut frame.name);
        }
    }

    fn add_body_frame(&mut self, layout: &Type, place: Option<(String, u32)>, depth: u32) -> u32 {
        let index = self.add_frame(depth, shown(layout));
        if let (Some((file, line)), Some(frame)) = (place, self.found.frames.last_mut()) {
            frame.file = file;
            frame.line = line;
        }
        index
    }

    /// The place of an `.await` in the file of the function. If a macro of another file expands to the `.await`, this
    /// is the place of the macro call, or the place of the function if the call is unknown.
    fn user_place(
        &self,
        body: TypedValue,
        layout: &Type,
        variant: &Variant,
        awaited: Option<TypedValue>,
    ) -> Option<(String, u32)> {
        let function = layout.variants().first()?;
        if variant.file == function.file {
            return Some((variant.file.clone(), variant.line));
        }
        let called_at =
            awaited.and_then(|awaited| self.view.types.awaited_place(body.of, awaited.of));
        Some(called_at.unwrap_or_else(|| (function.file.clone(), function.line)))
    }

    /// Adds a frame without a line, and returns its index.
    pub(super) fn add_frame(&mut self, depth: u32, name: String) -> u32 {
        self.found.frames.push(AwaitFrame {
            depth,
            name,
            ..AwaitFrame::default()
        });
        (self.found.frames.len() - 1) as u32
    }

    /// Adds an innermost future.
    pub(super) fn add_leaf(
        &mut self,
        future: TypedValue,
        layout: &Type,
        leaf: LeafType,
        depth: u32,
    ) {
        self.around.retain(|(around, _)| *around < depth);
        let index = self.add_frame(depth, shown(layout));
        let reader = LeafReader {
            view: self.view,
            owner: self.owner,
            tasks: self.tasks,
            descriptors: self.descriptors,
            around: &self.around,
        };
        let waits_forever = reader.waits_forever(future, leaf);
        let awaited = reader.read(future, leaf);
        if let Some(frame) = self.found.frames.last_mut() {
            frame.may_wait_forever = waits_forever;
        }
        if self.has_own_wakers() {
            self.account.add_leaf(self.found.waits.len(), future);
        }
        let is_open = awaited.has_waker().is_none() && !awaited.always_registers;
        let is_open = is_open && self.has_own_wakers();
        if is_open && !waits_forever && self.proof != PollProof::Unproven {
            self.account.add_open(self.found.waits.len(), future);
        }
        self.add_wait(index, awaited);
    }

    /// Adds an innermost future that waits for something unknown.
    pub(super) fn add_unknown_leaf(&mut self, name: String, depth: u32) {
        let index = self.add_frame(depth, name);
        self.add_wait(index, Awaited::unknown());
    }

    /// Adds a closure that is polled, and that may wait forever for something unknown.
    pub(super) fn add_closure(&mut self, depth: u32) {
        self.add_unknown_leaf("std::future::PollFn".to_owned(), depth);
        if let Some(frame) = self.found.frames.last_mut() {
            frame.may_wait_forever = true;
        }
    }

    fn add_wait(&mut self, frame: u32, awaited: Awaited) {
        if self.has_own_wakers() {
            self.found.wakers.extend(RegisteredWaker::of(&awaited));
        }
        let is_polled = self.proof != PollProof::Unproven;
        self.found.waits.push(TaskWait {
            frame,
            resource: awaited.resource,
            has_waker: awaited
                .has_waker()
                .filter(|has_waker| *has_waker || is_polled),
            always_registers: awaited.always_registers && self.proof == PollProof::Proven,
        });
    }
}
