//! The levels at which a wait is compared with earlier waits.

/// Which earlier waits are compared with a wait, from the closest to the most distant. The first level
/// at which enough waits have ended decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Level {
    /// Waits with the same await chain.
    Chain,
    /// Waits at the same line, or in the same function if no line is known.
    #[default]
    Line,
    /// Waits whose innermost calls are the same. Only for chains whose line is unknown.
    InnerCalls,
    /// All waits of the same coroutine.
    Coroutine,
    /// All waits of coroutines with the same name and spawn site.
    Name,
    /// Waits for the same kind of resource in the same library function, as far as both are known.
    Leaf,
}

impl Level {
    /// All levels, in the order in which they are tried.
    pub const ALL: [Level; 6] = [
        Level::Chain,
        Level::Line,
        Level::InnerCalls,
        Level::Coroutine,
        Level::Name,
        Level::Leaf,
    ];

    /// The identifier of the level in machine-readable output.
    pub fn word(self) -> &'static str {
        match self {
            Level::Chain => "chain",
            Level::Line => "line",
            Level::InnerCalls => "inner-calls",
            Level::Coroutine => "coroutine",
            Level::Name => "name",
            Level::Leaf => "leaf",
        }
    }

    /// What the level compares with, as documented.
    pub fn meaning(self) -> &'static str {
        match self {
            Level::Chain => "waits with the same await chain",
            Level::Line => "waits at the same line, or in the same function if no line is known",
            Level::InnerCalls => {
                "waits whose innermost calls are the same, where the trace has no line"
            }
            Level::Coroutine => "all waits of the same coroutine",
            Level::Name => "all waits of coroutines with the same name and spawn site",
            Level::Leaf => {
                "waits for the same kind of resource in the same library function, as far as both are \
                 known; not for timers, each of which has a time of its own"
            }
        }
    }

    /// Whether a wait that is far longer than others at this level may be stuck for that reason.
    pub fn allows_stuck(self) -> bool {
        self <= Level::Line
    }
}
