//! The texts to which event records refer by number.

use crate::ctf::schema::LabelSet;
use crate::text::{NumberedTexts, escape};

const NOT_RECORDED: &str = "(not recorded)";

/// The texts of all sets.
#[derive(Debug, Default)]
pub struct Labels([NumberedTexts; LabelSet::ALL.len()]);

impl Labels {
    /// The number of a text, in which control characters are escaped. Readers do not accept an empty text,
    /// so that another stands for it.
    pub fn number(&mut self, set: LabelSet, text: &str) -> u32 {
        let text = match text {
            "" => NOT_RECORDED.to_owned(),
            text => escape(text),
        };
        let number = self.0[set as usize].number(text);
        u32::try_from(number).unwrap_or(u32::MAX)
    }

    /// All texts of a set, in the order of their numbers.
    pub fn texts(&self, set: LabelSet) -> &[String] {
        self.0[set as usize].all()
    }
}
