//! What is common to all occurrences of a reason: its word, its sentence, its basis.

use crate::verdict::Verdict;

/// The basis of a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Basis {
    /// The awaited resource is ready, or can never become ready.
    Resource,
    /// Other coroutines block this coroutine.
    Blocker,
    /// The wait is longer than others were.
    Length,
    /// The coroutine waits although others continue, or beyond its deadline.
    Time,
    /// The state of the coroutine, or what the coroutine recorded about this state.
    State,
    /// Records are missing.
    Missing,
    /// Other waits last as long.
    Usual,
    /// There is nothing to compare the wait with.
    Nothing,
}

/// Everything that is common to all occurrences of a reason. The reporter's pages and JSON and
/// `docs/verdicts.md` are generated from these descriptions.
#[derive(Clone, Copy, Debug)]
pub struct Description {
    /// The word that identifies the reason in JSON documents.
    pub word: &'static str,
    /// The basis of the verdict.
    pub basis: Basis,
    /// The resulting verdict.
    pub verdict: Verdict,
    /// The rule in a line, for the table in the documentation. Empty if another entry with this word has
    /// the rule.
    pub when: &'static str,
    /// The condition under which the verdict is only likely, if no caveat is the cause.
    pub likely_when: Option<&'static str>,
    /// A [`Caveat`](crate::verdict::Caveat) turns the certain verdict into a likely verdict.
    pub may_be_doubted: bool,
    /// The loss of a close record could hide that the coroutine is stuck.
    pub may_miss_closing: bool,
    /// The state at the end, if different from what the fact says.
    pub at_the_end: Option<&'static str>,
    pub(super) sentence: &'static str,
    /// The sentence for several coroutines, if different.
    pub(super) several: Option<&'static str>,
    /// The sentence for a likely verdict, if different.
    pub(super) if_likely: Option<&'static str>,
}

/// A description with the values that most reasons share.
pub(super) const fn of(word: &'static str, verdict: Verdict, basis: Basis) -> Description {
    Description {
        word,
        basis,
        verdict,
        when: "",
        likely_when: None,
        may_be_doubted: false,
        may_miss_closing: true,
        at_the_end: None,
        sentence: "{word} for {age}",
        several: None,
        if_likely: None,
    }
}

macro_rules! blanks {
    ($($(#[$doc:meta])* $blank:ident: $name:literal,)*) => {
        /// A placeholder in a sentence, which the reporter replaces; written as its name in braces.
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
    /// The word that identifies the reason.
    Word: "word",
    /// How long the state has lasted.
    Age: "age",
    /// What is known of the wakes.
    Wakes: "wakes",
    /// What is usual at the site.
    Usual: "usual",
    /// How long similar coroutines lived.
    Lives: "lives",
    /// What is known of delays between a wake and a run.
    Delays: "delays",
    /// The threads of the coroutines.
    Threads: "threads",
    /// What was closed, and where.
    Closed: "closed",
    /// `its fd`, or `their fds`.
    Fds: "fds",
    /// `is` or `are`.
    Are: "are",
    /// `it` or `them`.
    Them: "them",
    /// The blocking coroutines.
    Blockers: "blockers",
    /// The caveat for a closed resource, or that there is none.
    ResourceCaveat: "caveat of resource",
    /// The caveat for a blocked coroutine, or that there is none.
    BlockerCaveat: "caveat of blocker",
}

impl Description {
    /// The reason in words for this many coroutines, without a full stop.
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

/// Fills the placeholders of a template.
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
