//! The texts of a column, as numbers of a dictionary, since most columns repeat few words.

use foldhash::HashMap;
use parquet::data_type::ByteArray;

/// The texts of a row group that are not null.
#[derive(Default)]
pub struct Texts {
    numbers: Vec<u32>,
    dictionary: Vec<ByteArray>,
    known: HashMap<Box<str>, u32>,
    /// The numbers of words, which are found by address.
    words: Vec<(&'static str, u32)>,
}

/// Maximum number of words in a dictionary, so that their numbers have eight bits.
const MAX_WORDS: usize = 256;

/// Maximum length of a word. Readers of longer texts may find a part of the least and of the greatest text in the
/// metadata of the file, which only the parquet crate truncates.
const MAX_WORD_BYTES: usize = 64;

impl Texts {
    /// Adds the text of the next row.
    pub fn push(&mut self, text: &str) {
        let number = self.number(text);
        self.numbers.push(number);
    }

    /// Adds one of few words, which need not be compared with words of the same address.
    #[inline]
    pub fn push_word(&mut self, word: &'static str) {
        let mut words = self.words.iter();
        let number = match words.find(|(known, _)| std::ptr::eq(*known, word)) {
            Some((_, number)) => *number,
            None => self.number_word(word),
        };
        self.numbers.push(number);
    }

    #[cold]
    fn number_word(&mut self, word: &'static str) -> u32 {
        let number = self.number(word);
        self.words.push((word, number));
        number
    }

    fn number(&mut self, text: &str) -> u32 {
        if let Some(number) = self.known.get(text) {
            return *number;
        }
        // A row group has fewer texts.
        let number = self.dictionary.len() as u32;
        self.dictionary
            .push(ByteArray::from(text.as_bytes().to_vec()));
        self.known.insert(text.into(), number);
        number
    }

    /// Removes all texts, and keeps the memory.
    pub fn clear(&mut self) {
        self.numbers.clear();
        self.dictionary.clear();
        self.known.clear();
        self.words.clear();
    }

    /// The number of the text of each row, from zero in the order of first use.
    pub fn numbers(&self) -> &[u32] {
        &self.numbers
    }

    /// The different texts, by number.
    pub fn dictionary(&self) -> &[ByteArray] {
        &self.dictionary
    }

    /// Whether there are only a few different texts, and none of them is long.
    pub fn are_words(&self) -> bool {
        let mut all = self.dictionary.iter();
        !self.dictionary.is_empty()
            && self.dictionary.len() <= MAX_WORDS
            && all.all(|text| text.len() <= MAX_WORD_BYTES)
    }

    /// The texts, of which equal texts share their memory.
    pub fn to_bytes(&self) -> Vec<ByteArray> {
        let all = self.numbers.iter();
        all.map(|number| self.dictionary[*number as usize].clone())
            .collect()
    }
}
