//! The width of a page.

/// How long the lines of a page may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Width {
    /// Sentences are wrapped at 100 columns. All other lines are as long as their content.
    #[default]
    Full,
    /// All lines are wrapped at this number of columns, and at least at 20.
    Columns(usize),
}

/// The width of sentences on pages that are wider, in columns.
const SENTENCE: usize = 100;

/// The right edge of headlines on pages that are wider, in columns.
const EDGE: usize = 80;

/// The smallest width to which lines are wrapped, in columns.
const NARROWEST: usize = 20;

impl Width {
    /// The column at which lines are cut or wrapped. `None` if they may be longer.
    pub fn limit(self) -> Option<usize> {
        match self {
            Width::Full => None,
            Width::Columns(columns) => Some(columns.max(NARROWEST)),
        }
    }

    /// Whether a line of this many columns fits.
    pub fn fits(self, columns: usize) -> bool {
        self.limit().is_none_or(|limit| columns <= limit)
    }

    /// The column at which lists are broken into lines.
    pub fn of_lists(self) -> usize {
        self.limit().unwrap_or(SENTENCE)
    }

    /// The column at which sentences are broken into lines.
    pub fn of_sentences(self) -> usize {
        self.of_lists().min(SENTENCE)
    }

    /// The column at which the right part of a headline ends.
    pub fn edge(self) -> usize {
        self.of_lists().min(EDGE)
    }
}
