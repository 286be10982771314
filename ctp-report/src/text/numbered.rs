//! [`NumberedTexts`]: texts that rows refer to by number, each stored once.

use std::collections::HashMap;

use serde::Serialize;

/// Distinct texts, numbered from 0 in the order in which they were added. In JSON, the list of the texts.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(transparent)]
pub struct NumberedTexts {
    texts: Vec<String>,
    #[serde(skip)]
    numbers: HashMap<String, usize>,
}

impl NumberedTexts {
    /// Returns the number of a text. A new text gets the next number.
    pub fn number(&mut self, text: String) -> usize {
        let texts = &mut self.texts;
        *self.numbers.entry(text).or_insert_with_key(|text| {
            texts.push(text.clone());
            texts.len() - 1
        })
    }

    /// All texts, in the order of their numbers.
    pub fn all(&self) -> &[String] {
        &self.texts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_have_the_same_number() {
        let mut texts = NumberedTexts::default();
        let numbers = ["b", "a", "b"].map(|text| texts.number(text.to_owned()));
        assert_eq!(numbers, [0, 1, 0]);
        let json = serde_json::to_string(&texts).expect("texts only");
        assert_eq!((texts.all().len(), &*json), (2, r#"["b","a"]"#));
    }
}
