//! The parts of async runtimes that call `wake()` by themselves, known by their functions on the stack.

use ctp_trace::record::LeafKind;

use crate::names::label::{Label, plain};

/// A part of a runtime that wakes coroutines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RuntimePart {
    /// Timers that are due.
    Timer,
    /// Descriptors that are ready.
    Io,
    /// Timers or descriptors.
    Driver,
    /// A task that has ended.
    TaskEnd,
    /// A signal that the process received.
    Signal,
}

/// The beginnings of function paths, and the part to which these functions belong.
const PARTS: &[(&str, RuntimePart)] = &[
    ("tokio::runtime::time", RuntimePart::Timer),
    ("tokio::time::driver", RuntimePart::Timer),
    ("futures_timer::native", RuntimePart::Timer),
    ("tokio::runtime::io", RuntimePart::Io),
    ("tokio::io::driver", RuntimePart::Io),
    ("tokio::runtime::signal", RuntimePart::Signal),
    ("tokio::signal::registry", RuntimePart::Signal),
    ("tokio::runtime::task::core::Trailer", RuntimePart::TaskEnd),
    ("tokio::runtime::task::harness", RuntimePart::TaskEnd),
    ("async_task::", RuntimePart::TaskEnd),
    ("async_io::", RuntimePart::Driver),
];

impl RuntimePart {
    /// The part to which the innermost known function of these labels belongs, if any.
    pub fn of(labels: &[Label]) -> Option<Self> {
        let functions = labels.iter().flat_map(functions);
        functions.into_iter().find_map(|function| {
            let path = plain(function)?;
            let known = PARTS.iter().find(|(begin, _)| path.starts_with(begin));
            known.map(|(_, part)| *part)
        })
    }

    /// The part that wakes a coroutine which waits for this kind of leaf. The functions on the stack
    /// decide. If they leave this open, the kind of leaf decides.
    pub fn that_wakes(leaf: LeafKind, by_functions: Option<Self>) -> Option<Self> {
        let by_leaf = match leaf {
            LeafKind::Timer => Some(RuntimePart::Timer),
            LeafKind::Io | LeafKind::Output => Some(RuntimePart::Io),
            LeafKind::Task => Some(RuntimePart::TaskEnd),
            _ => None,
        };
        match by_functions {
            None | Some(RuntimePart::Driver) => by_leaf.or(by_functions),
            part => part,
        }
    }

    /// The word in JSON documents.
    pub fn word(self) -> &'static str {
        match self {
            RuntimePart::Timer => "timer",
            RuntimePart::Io => "io",
            RuntimePart::Driver => "driver",
            RuntimePart::TaskEnd => "task-end",
            RuntimePart::Signal => "signal",
        }
    }

    /// The words on pages.
    pub fn describe(self) -> &'static str {
        match self {
            RuntimePart::Timer => "the runtime (timer)",
            RuntimePart::Io => "the runtime (I/O)",
            RuntimePart::Driver => "the runtime (timer or I/O)",
            RuntimePart::TaskEnd => "the end of a task",
            RuntimePart::Signal => "the runtime (signal)",
        }
    }
}

fn functions(label: &Label) -> impl Iterator<Item = &String> {
    label.function.iter().chain(&label.callers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part_of(functions: &[&str]) -> Option<RuntimePart> {
        let label = |function: &&str| Label {
            function: Some((*function).to_owned()),
            ..Label::default()
        };
        RuntimePart::of(&functions.iter().map(label).collect::<Vec<_>>())
    }

    // CT-14
    #[test]
    fn parts_are_known_by_the_innermost_function() {
        for (functions, part) in [
            (
                &[
                    "core::task::wake::Waker::wake",
                    "tokio::util::wake_list::WakeList::wake_all",
                    "tokio::runtime::time::<impl tokio::runtime::time::handle::Handle>::process_at_time",
                    "tokio::runtime::io::driver::Driver::turn",
                ][..],
                Some(RuntimePart::Timer),
            ),
            (
                &["<tokio::runtime::io::scheduled_io::ScheduledIo as Drop>::drop"],
                Some(RuntimePart::Io),
            ),
            (
                &["tokio::runtime::task::core::Trailer::wake_join"],
                Some(RuntimePart::TaskEnd),
            ),
            (&["tokio::runtime::task::raw::poll", "app::send"], None),
        ] {
            assert_eq!(part_of(functions), part, "{functions:?}");
        }
    }

    // CT-14
    #[test]
    fn the_leaf_decides_where_the_functions_do_not() {
        use RuntimePart::{Driver, Io, Timer};
        let part = RuntimePart::that_wakes;
        assert_eq!(part(LeafKind::Timer, Some(Driver)), Some(Timer));
        assert_eq!(part(LeafKind::Io, None), Some(Io));
        assert_eq!(part(LeafKind::Io, Some(Timer)), Some(Timer));
        assert_eq!(part(LeafKind::Message, Some(Driver)), Some(Driver));
        assert_eq!(part(LeafKind::Message, None), None);
    }
}
