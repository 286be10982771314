//! Folded stacks: the text form that flame graph tools read.

use ctp_trace::escape::escaped;

use crate::views::flame::model::Stacks;

/// Returns a line for each stack: the frames, joined by `;`, and the nanoseconds.
pub fn folded(stacks: &Stacks) -> String {
    stacks
        .iter()
        .map(|(frames, sum)| format!("{} {sum}\n", escaped(&frames.join(";"))))
        .collect()
}
