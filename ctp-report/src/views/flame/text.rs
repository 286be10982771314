//! Folded stacks: a line of text for each, as other tools read them.

use ctp_trace::escape::escaped;

use crate::views::flame::model::Stacks;

/// The stacks in the text form that flame graph tools read.
pub fn folded(stacks: &Stacks) -> String {
    stacks
        .iter()
        .map(|(frames, sum)| format!("{} {sum}\n", escaped(&frames.join(";"))))
        .collect()
}
