//! Await chains: maps addresses that the program found by frame pointers to functions of the user, as
//! far as the file of the program proves that each function was called by the next.

use ctp_trace::record::Chain;
use serde::Serialize;
use symbolize::{Avma, Lookup, Symbolizer};

use crate::names::user_code::{UserCode, is_in_own_package};
use crate::names::{Label, label};

/// An await chain, as shown on pages and in JSON documents.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AwaitChain {
    /// Functions of the user, innermost first. Each function awaits the previous function.
    #[serde(rename = "functions")]
    pub frames: Vec<Label>,
    /// Whether the last function was spawned. Otherwise, the outermost functions are unknown.
    #[serde(rename = "whole")]
    pub is_whole: bool,
    /// The spawned function, if known and if the functions between it and the last function are
    /// unknown.
    #[serde(rename = "spawned", skip_serializing_if = "Option::is_none")]
    pub outermost: Option<Label>,
    /// The library function that the innermost function of the user calls, if known.
    #[serde(skip)]
    pub within: Option<String>,
}

/// Stands for unknown functions.
const MORE: &str = "…";

/// The functions at the addresses of a chain, as far as they are proven.
#[derive(Debug, Default)]
struct Proven {
    /// The functions of each call, innermost first, with the functions into which they were inlined.
    functions: Vec<Vec<Label>>,
    is_whole: bool,
}

/// All functions of a chain that are proven, innermost first.
#[derive(Clone, Debug, Default)]
pub struct AllFunctions {
    /// The functions, with the functions into which they were inlined.
    pub labels: Vec<Label>,
    /// Whether the last function was spawned.
    pub is_whole: bool,
    /// Whether the chain holds only the call of the leaf.
    pub is_of_the_call: bool,
    /// The name of the future (empty without a name).
    pub future: String,
}

impl AllFunctions {
    /// The known part of a chain inside a future with this name (empty without a name).
    pub fn of(
        symbolizer: &mut Symbolizer,
        chain: &Chain,
        future: &str,
        user: &mut UserCode,
    ) -> Self {
        let mut proven = prove(symbolizer, chain, user);
        if proven.is_whole
            && let Some(last) = proven.functions.last_mut()
        {
            end_at_poll(last, user);
        }
        AllFunctions {
            labels: proven.functions.into_iter().flatten().collect(),
            is_whole: proven.is_whole,
            is_of_the_call: chain.is_of_the_call(),
            future: future.to_owned(),
        }
    }
}

impl AwaitChain {
    /// The part of a chain in code of the user.
    pub fn of(all: &AllFunctions, user: &UserCode) -> Self {
        let is_of_user = |label: &&Label| {
            if all.is_of_the_call {
                user.is_leaf_of_user(label, &all.future)
            } else {
                user.is_of_user(label)
            }
        };
        let before_users = all.labels.iter().take_while(|label| !is_of_user(label));
        let within = before_users
            .filter(|before_user| is_in_own_package(before_user) && !user.is_of_probe(before_user))
            .last();
        let frames = all.labels.iter().filter(is_of_user);
        AwaitChain {
            within: within.and_then(|within| label::plain(within.function.as_deref()?)),
            is_whole: all.is_whole,
            outermost: None,
            frames: without_closures(frames.cloned().collect()),
        }
    }

    /// Removes the `poll` functions of the user's own futures that a later function awaits, and returns the
    /// innermost, which is that of the leaf: users look for the line that awaits. A chain of such
    /// functions only is left as it is.
    pub fn take_leaf(&mut self) -> Option<Label> {
        let awaiting = self.frames.iter().position(|frame| !is_poll(frame))?;
        self.frames.drain(..awaiting).next()
    }

    /// Sets the spawned function. If this is the last function, the chain is complete.
    pub fn end_at(&mut self, spawned: Label) {
        let last = self.frames.last().map(|frame| &frame.function);
        self.is_whole |= last == Some(&spawned.function);
        self.outermost = (!self.is_whole).then_some(spawned);
    }

    /// The names of the functions, with a mark for unknown functions.
    pub fn functions(&self) -> Vec<String> {
        let name = |label: &Label| label.function.clone();
        let names = self.frames.iter().filter_map(name);
        let more = (!self.is_whole).then(|| MORE.to_owned());
        let outermost = self.outermost.as_ref().and_then(name);
        names.chain(more).chain(outermost).collect()
    }

    /// Formats the functions as `handshake :40`, `serve main.rs:61`. A file name that equals the previous
    /// file is left out. `from` is the file before the first function, as on all pages.
    pub fn describe(&self, from: Option<&str>) -> Vec<String> {
        let mut file = from;
        let mut words = Vec::new();
        for frame in &self.frames {
            words.push(frame_text(frame, file));
            file = frame.displayed_file();
        }
        words.extend((!self.is_whole).then(|| MORE.to_owned()));
        words.extend(
            self.outermost
                .as_ref()
                .map(|outermost| frame_text(outermost, file)),
        );
        words
    }
}

fn frame_text(frame: &Label, file: Option<&str>) -> String {
    let function = frame.function.as_deref().unwrap_or("?");
    match (frame.line.filter(|_| !frame.in_function), frame.short()) {
        (Some(line), _) if frame.displayed_file() == file => format!("{function} :{line}"),
        (_, Some(at)) => format!("{function} {at}"),
        _ => function.to_owned(),
    }
}

/// Proves a chain up to the first address at which the frame pointer cannot be followed: the address
/// after that may not be its caller. The first address is in the code of the probe, which read its frame
/// pointer or its return address.
fn prove(symbolizer: &mut Symbolizer, chain: &Chain, user: &mut UserCode) -> Proven {
    let mut proven = Proven::default();
    for (i, &address) in chain.addresses.iter().enumerate() {
        let (address, how) = match i {
            0 => (Avma(address), Lookup::Exact),
            _ => (Avma(address), Lookup::ReturnAddress),
        };
        let Ok(found) = symbolizer.resolve(address, how) else {
            return proven;
        };
        let functions = label::frames(found);
        if i == 0 {
            user.note_probe(&functions);
        } else {
            proven.functions.push(functions);
        }
        let is_last = i + 1 == chain.addresses.len();
        proven.is_whole = is_last && chain.is_whole;
        let is_recorded = i == 0 && chain.is_of_the_call();
        if !is_last && !is_recorded && !symbolizer.can_follow_frame_pointer(address, how) {
            return proven;
        }
    }
    proven
}

/// Removes the functions of the executor, which poll the future.
fn end_at_poll(functions: &mut Vec<Label>, user: &UserCode) {
    if let Some(poll) = functions.iter().position(|label| user.is_of_probe(label)) {
        functions.truncate(poll);
    }
}

/// Traits with `poll` functions that programs implement for their own futures, streams, readers and writers.
const POLLED: [&str; 5] = [
    "core::future::",
    "futures_core::",
    "futures_io::",
    "futures_sink::",
    "tokio::io::",
];

/// Whether the function is `<T as Future>::poll`, or such a function of a stream, a reader or a writer. An `async`
/// function of another trait may have a name like these.
fn is_poll(label: &Label) -> bool {
    let function = label.function.as_deref().unwrap_or_default();
    let parts = function
        .strip_prefix('<')
        .and_then(|function| function.rsplit_once(" as "))
        .and_then(|(_, function)| function.rsplit_once(">::"));
    parts.is_some_and(|(of_trait, method)| {
        let is_known = POLLED.iter().any(|known| of_trait.starts_with(known));
        is_known && method.starts_with("poll")
    })
}

/// Removes closures that a function passes to what it awaits, as `select!` does.
fn without_closures(frames: Vec<Label>) -> Vec<Label> {
    let callers: Vec<Option<String>> = frames.iter().map(|frame| frame.function.clone()).collect();
    let frames = frames.into_iter().enumerate();
    let kept = frames.filter(|(i, frame)| match (&frame.function, callers.get(i + 1)) {
        (Some(function), Some(Some(caller))) if 0 < *i => {
            function.strip_prefix("closure in ") != Some(caller)
        }
        _ => true,
    });
    kept.map(|(_, frame)| frame).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaf_and_frames(functions: &[&str]) -> (Option<String>, Vec<String>) {
        let frame = |function: &&str| Label {
            function: Some((*function).to_owned()),
            ..Label::default()
        };
        let mut awaits = AwaitChain {
            frames: functions.iter().map(frame).collect(),
            ..AwaitChain::default()
        };
        let leaf = awaits.take_leaf().and_then(|leaf| leaf.function);
        let frames = awaits.frames.into_iter();
        (leaf, frames.filter_map(|frame| frame.function).collect())
    }

    // CT-13
    #[test]
    fn awaiting_function_comes_before_own_leaf_futures() {
        let reply = "<app::Reply as core::future::future::Future>::poll";
        let jobs = "<app::Worker as app::Source>::poll_jobs";
        let timeout = "<app::Timeout<F> as core::future::future::Future>::poll";
        for (functions, leaf, frames) in [
            (&[reply, "app::ask"][..], Some(reply), &["app::ask"][..]),
            (&[reply, timeout, "app::ask"], Some(reply), &["app::ask"]),
            // The async body that a future polls is the place, and so is a future that was spawned.
            (&["app::ask", timeout], None, &["app::ask", timeout]),
            (&[reply, timeout], None, &[reply, timeout]),
            (&[jobs, "app::main"], None, &[jobs, "app::main"]),
            (
                &["app::poll_all", "app::main"],
                None,
                &["app::poll_all", "app::main"],
            ),
            (&[], None, &[]),
        ] {
            let found = leaf_and_frames(functions);
            assert_eq!(
                (found.0.as_deref(), &found.1[..]),
                (
                    leaf,
                    &frames
                        .iter()
                        .map(|&frame| frame.to_owned())
                        .collect::<Vec<_>>()[..]
                )
            );
        }
    }
}
