//! The texts to which event records refer by number.

use std::collections::HashMap;

use crate::ctf::schema::LabelSet;
use crate::text::escape;

const NOT_RECORDED: &str = "(not recorded)";

/// The texts of all sets.
#[derive(Debug, Default)]
pub struct Labels([Texts; LabelSet::ALL.len()]);

/// Distinct texts, in the order of their numbers, from 0.
#[derive(Debug, Default)]
struct Texts {
    numbers: HashMap<String, u32>,
    texts: Vec<String>,
}

impl Labels {
    /// The number of a text, in which control characters are escaped. Readers do not accept an empty text,
    /// so that another stands for it.
    pub fn number(&mut self, set: LabelSet, text: &str) -> u32 {
        let Texts { numbers, texts } = &mut self.0[set as usize];
        let text = match text {
            "" => NOT_RECORDED.to_owned(),
            text => escape(text),
        };
        if let Some(number) = numbers.get(&text) {
            return *number;
        }
        let number = u32::try_from(texts.len()).unwrap_or(u32::MAX);
        texts.push(text.clone());
        numbers.insert(text, number);
        number
    }

    /// All texts of a set, in the order of their numbers.
    pub fn texts(&self, set: LabelSet) -> &[String] {
        &self.0[set as usize].texts
    }
}
