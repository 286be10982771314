//! The files that a view reads and writes.

use std::path::Path;

use crate::config::{Config, View};

impl Config {
    /// The traces that the view reads.
    pub fn input_files(&self) -> Vec<&Path> {
        match &self.view {
            View::Diff(view) => vec![&view.before, &view.after],
            View::Fixed(_) | View::ManPages(_) => Vec::new(),
            _ => vec![&self.input],
        }
    }

    /// The files that the view writes, except for the files of exports into a folder.
    pub fn output_files(&self) -> Vec<&Path> {
        let files = match &self.view {
            View::Stuck(view) => [view.markdown.as_deref(), None],
            View::Stacks(view) => [view.svg.as_deref(), None],
            View::Flame(view) => [view.svg.as_deref(), view.folded.as_deref()],
            View::Timeline(view) => [Some(&*view.svg), None],
            View::Html(view) => [Some(&*view.html), None],
            View::Check(view) => [view.junit.as_deref(), None],
            View::Diff(view) => [view.flame.as_deref(), None],
            View::Export(view) => [view.output.as_deref(), None],
            View::Tracks(view) => [view.output.as_deref(), None],
            View::Profile(view) => [view.output.as_deref(), None],
            View::Sites(_)
            | View::Top(_)
            | View::LastWords { .. }
            | View::Tree { .. }
            | View::Why(_)
            | View::Histogram
            | View::Dump
            | View::Tables(_)
            | View::Ctf(_)
            | View::Fixed(_)
            | View::ManPages(_) => [None, None],
        };
        files.into_iter().flatten().collect()
    }
}
