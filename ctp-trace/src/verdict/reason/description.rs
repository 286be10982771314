//! What is the same wherever a reason occurs: its word, its sentence, what it rests on.

use crate::verdict::Verdict;

/// What a verdict with a reason rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Basis {
    /// What it waits for has come, or can come no more.
    Resource,
    /// Others keep it waiting.
    Blocker,
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
    /// The verdict that follows.
    pub verdict: Verdict,
    /// When that follows, as the documentation says it; empty if another entry of this word does.
    pub when: &'static str,
    /// When the verdict is likely only, for another cause than a doubt.
    pub likely_when: Option<&'static str>,
    /// A [`Caveat`](crate::verdict::Caveat) makes a certain verdict likely.
    pub may_be_doubted: bool,
    /// The heading in the documentation of the rule for the verdict.
    pub heading: Option<&'static str>,
    /// A closing of which the record is lost could make it stuck.
    pub may_miss_closing: bool,
    /// What is so at the end, in place of what the fact says.
    pub at_the_end: Option<&'static str>,
    pub(super) sentence: &'static str,
    /// The sentence of several coroutines, if that is another one.
    pub(super) several: Option<&'static str>,
    /// The sentence where the verdict is likely only, if that is another one.
    pub(super) if_likely: Option<&'static str>,
}

/// A description with what is so of most reasons.
pub(super) const fn of(word: &'static str, verdict: Verdict, basis: Basis) -> Description {
    Description {
        word,
        basis,
        verdict,
        when: "",
        likely_when: None,
        may_be_doubted: false,
        heading: None,
        may_miss_closing: true,
        at_the_end: None,
        sentence: "{word} for {age}",
        several: None,
        if_likely: None,
    }
}

macro_rules! blanks {
    ($($(#[$doc:meta])* $blank:ident: $name:literal,)*) => {
        /// What a reporter fills in where a sentence has its name in braces.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Blank {
            $($(#[$doc])* $blank,)*
        }

        impl Blank {
            fn named(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Blank::$blank),)*
                    _ => None,
                }
            }
        }
    };
}

blanks! {
    /// The word for programs.
    Word: "word",
    /// How long they have been so.
    Age: "age",
    /// What is known of their wakes.
    Wakes: "wakes",
    /// What is usual where they wait.
    Usual: "usual",
    /// How those like them lived.
    Lives: "lives",
    /// What is known of delays between a wake and a run.
    Delays: "delays",
    /// On which threads they were.
    Threads: "threads",
    /// What was closed, and where.
    Closed: "closed",
    /// `its fd`, or `their fds`.
    Fds: "fds",
    /// `is` or `are`.
    Are: "are",
    /// `it` or `them`.
    Them: "them",
    /// Those after which they go on.
    Blockers: "blockers",
    /// What speaks against it where a resource is gone, or that nothing does.
    ResourceCaveat: "caveat of resource",
    /// What speaks against it where others keep it, or that nothing does.
    BlockerCaveat: "caveat of blocker",
}

impl Description {
    /// Why so many coroutines have this verdict, in a sentence without a full stop.
    pub fn in_words(
        &self,
        verdict: Verdict,
        coroutines: usize,
        fill: impl FnMut(Blank) -> String,
    ) -> String {
        let likely = self.if_likely.filter(|_| verdict == Verdict::MaybeStuck);
        let several = self.several.filter(|_| coroutines != 1);
        filled(likely.or(several).unwrap_or(self.sentence), fill)
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
            let others = [reason.several, reason.if_likely].into_iter().flatten();
            for sentence in others.chain([reason.sentence]) {
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
