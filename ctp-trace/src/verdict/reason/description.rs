//! What is the same wherever a reason occurs: its word, its sentence, what it rests on.

use crate::verdict::Verdict;

/// What a verdict with a reason rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Basis {
    /// What it waits for has come, or can come no more.
    Resource,
    /// Others keep it waiting.
    Keeper,
    /// It waits longer than others did.
    Length,
    /// It waits while others go on, or past the time that it said.
    Time,
    /// What it does, or says that it does.
    State,
    /// Records are missing.
    Missing,
    /// Others wait for as long.
    Usual,
    /// There is nothing to compare it with.
    Nothing,
}

/// Everything that is the same wherever a reason occurs. Pages, JSON and `docs/verdicts.md` follow
/// from it.
#[derive(Clone, Copy, Debug)]
pub struct Description {
    /// The word for programs.
    pub word: &'static str,
    /// What the verdict rests on.
    pub basis: Basis,
    /// The verdicts that follow, and when, as the documentation says it.
    pub when: &'static [(Verdict, &'static str)],
    /// A [`Doubt`](crate::verdict::Doubt) makes a certain verdict likely.
    pub may_be_doubted: bool,
    /// The heading in the documentation of the rule for the first of the verdicts.
    pub heading: Option<&'static str>,
    /// A closing of which the record is lost could make it stuck.
    pub may_miss_closing: bool,
    /// What is so at the end, in place of what the fact says.
    pub at_the_end: Option<&'static str>,
    one: &'static str,
    several: &'static str,
    likely: Option<&'static str>,
}

/// What a reporter fills in where a sentence has its name in braces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blank {
    /// `word`: the word for programs.
    Word,
    /// `age`: how long they have been so.
    Age,
    /// `wakes`: what is known of their wakes.
    Wakes,
    /// `usual`: what is usual where they wait.
    Usual,
    /// `lives`: how those like them lived.
    Lives,
    /// `delays`: what is known of delays between a wake and a run.
    Delays,
    /// `threads`: on which threads they were.
    Threads,
    /// `closed`: what was closed, and where.
    Closed,
    /// `fds`: `its fd`, or `their fds`.
    Fds,
    /// `are`: `is` or `are`.
    Are,
    /// `them`: `it` or `them`.
    Them,
    /// `keepers`: those after which they go on.
    Keepers,
    /// `doubt of resource`: what speaks against it where a resource is gone, or that nothing does.
    DoubtOfResource,
    /// `doubt of keeper`: what speaks against it where others keep it, or that nothing does.
    DoubtOfKeeper,
}

impl Blank {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "word" => Blank::Word,
            "age" => Blank::Age,
            "wakes" => Blank::Wakes,
            "usual" => Blank::Usual,
            "lives" => Blank::Lives,
            "delays" => Blank::Delays,
            "threads" => Blank::Threads,
            "closed" => Blank::Closed,
            "fds" => Blank::Fds,
            "are" => Blank::Are,
            "them" => Blank::Them,
            "keepers" => Blank::Keepers,
            "doubt of resource" => Blank::DoubtOfResource,
            "doubt of keeper" => Blank::DoubtOfKeeper,
            _ => return None,
        })
    }
}

impl Description {
    pub(super) const fn new(word: &'static str, basis: Basis) -> Self {
        let sentence = "{word} for {age}";
        Description {
            word,
            basis,
            when: &[],
            may_be_doubted: false,
            heading: None,
            may_miss_closing: true,
            at_the_end: None,
            one: sentence,
            several: sentence,
            likely: None,
        }
    }

    pub(super) const fn when(self, when: &'static [(Verdict, &'static str)]) -> Self {
        Description { when, ..self }
    }

    pub(super) const fn or_doubted(self) -> Self {
        let may_be_doubted = true;
        Description {
            may_be_doubted,
            ..self
        }
    }

    pub(super) const fn heading(self, heading: &'static str) -> Self {
        let heading = Some(heading);
        Description { heading, ..self }
    }

    pub(super) const fn misses_no_closing(self) -> Self {
        let may_miss_closing = false;
        Description {
            may_miss_closing,
            ..self
        }
    }

    pub(super) const fn at_the_end(self, what: &'static str) -> Self {
        let at_the_end = Some(what);
        Description { at_the_end, ..self }
    }

    pub(super) const fn sentence(self, sentence: &'static str) -> Self {
        self.sentences(sentence, sentence)
    }

    pub(super) const fn sentences(self, one: &'static str, several: &'static str) -> Self {
        Description {
            one,
            several,
            ..self
        }
    }

    /// The sentence where the verdict is likely only.
    pub(super) const fn if_likely(self, sentence: &'static str) -> Self {
        let likely = Some(sentence);
        Description { likely, ..self }
    }

    /// Why so many coroutines have this verdict, in a sentence without a full stop.
    pub fn in_words(
        &self,
        verdict: Verdict,
        coroutines: usize,
        fill: impl FnMut(Blank) -> String,
    ) -> String {
        let usual = if coroutines == 1 {
            self.one
        } else {
            self.several
        };
        let likely = self.likely.filter(|_| verdict == Verdict::MaybeStuck);
        filled(likely.unwrap_or(usual), fill)
    }
}

/// A template with its blanks filled in.
fn filled(template: &str, mut fill: impl FnMut(Blank) -> String) -> String {
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, (name, after))) = rest
        .split_once('{')
        .and_then(|(before, after)| Some((before, after.split_once('}')?)))
    {
        text += before;
        text += &Blank::named(name).map(&mut fill).unwrap_or_default();
        rest = after;
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::super::REASONS;
    use super::*;

    #[test]
    fn every_blank_has_a_name() {
        for reason in REASONS {
            let sentences = [
                reason.one,
                reason.several,
                reason.likely.unwrap_or_default(),
            ];
            for sentence in sentences {
                let names = sentence
                    .split('{')
                    .skip(1)
                    .map(|rest| rest.split('}').next());
                for name in names {
                    assert!(name.and_then(Blank::named).is_some(), "{sentence}");
                }
            }
        }
    }

    #[test]
    fn blanks_are_filled() {
        let fill = |blank| format!("{blank:?}");
        assert_eq!(filled("{age}, {them}.", fill), "Age, Them.");
        assert_eq!(filled("no blank", fill), "no blank");
    }
}
