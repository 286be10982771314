//! Parses rules.
//!
//! ```text
//! rules      = rule *( "," rule )
//! rule       = [ "?" ] metric comparison bound
//! metric     = "stuck" / "likely" / "lost" / "leaks" / "coroutines" / "busy"
//!            / statistic "(" kind *( "," filter ) ")"
//! statistic  = "p50" / "p90" / "p99" / "max" / "mean" / "count"
//! kind       = "wait" / "run" / "ready"
//! filter     = ( "site=" / "name=" ) ( REGEX / DQUOTE REGEX DQUOTE )
//! comparison = "<" / "<=" / "=" / ">=" / ">"
//! bound      = NUMBER / DURATION
//! ```
//!
//! A pattern without quotes ends at the first comma or `)` outside of `(…)`, `{…}` and `[…]` that is not escaped. Spaces
//! are allowed between all parts, but not before the `=` of a filter. Those around a pattern without quotes are ignored.

use ctp_trace::record::Nanos;
use regex_lite::Regex;

use super::{
    BadRule, CountMetric, DurationKind, DurationSelector, Metric, Operator, Rule, RuleFault, Rules,
    Statistic,
};

/// Parses rules that are separated by commas.
///
/// # Errors
/// If the text has another form. The error has the first wrong part and its position.
pub fn parse(text: &str) -> Result<Rules, BadRule> {
    let mut cursor = TextCursor { text, at: 0 };
    let mut rules = vec![cursor.rule()?];
    while cursor.eat(",") {
        rules.push(cursor.rule()?);
    }
    Ok(Rules(rules))
}

/// The text, and the position up to which it is parsed.
struct TextCursor<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> TextCursor<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn skip_spaces(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    /// Takes these characters and the spaces before them, if they are next.
    fn eat(&mut self, expected: &str) -> bool {
        self.skip_spaces();
        let is_next = self.rest().starts_with(expected);
        self.at += if is_next { expected.len() } else { 0 };
        is_next
    }

    /// Takes this many bytes.
    fn take(&mut self, bytes: usize) -> &'t str {
        let taken = &self.rest()[..bytes];
        self.at += bytes;
        taken
    }

    /// Takes the letters, digits and underscores that are next, after spaces. Returns their position too.
    fn take_word(&mut self) -> (usize, &'t str) {
        self.take_while(|c| c.is_ascii_alphanumeric() || c == '_')
    }

    /// Takes what is before the next comma. Returns the position too.
    fn take_to_comma(&mut self) -> (usize, &'t str) {
        self.take_while(|c| c != ',')
    }

    /// Takes characters while the condition holds, after spaces. Returns their position too.
    fn take_while(&mut self, is_part: fn(char) -> bool) -> (usize, &'t str) {
        self.skip_spaces();
        let (from, rest) = (self.at, self.rest());
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        (from, self.take(end))
    }

    /// Builds the error for a wrong part, or for the next character if the part is missing.
    fn error(&self, from: usize, text: &str, fault: RuleFault) -> BadRule {
        let next = self.text[from..].chars().next().filter(|_| text.is_empty());
        BadRule {
            text: next.map_or_else(|| text.to_owned(), String::from),
            position: self.text[..from].chars().count() + 1,
            fault,
        }
    }

    /// The error that the next part, up to a comma, is wrong.
    fn wrong_next(&mut self, fault: RuleFault) -> BadRule {
        let (from, text) = self.take_to_comma();
        self.error(from, text.trim_end(), fault)
    }

    fn rule(&mut self) -> Result<Rule, BadRule> {
        self.skip_spaces();
        let from = self.at;
        let is_optional = self.eat("?");
        let metric = self.metric()?;
        let comparison = self.comparison()?;
        let bound = self.bound(&metric)?;
        Ok(Rule {
            text: self.text[from..self.at].trim().to_owned(),
            is_optional,
            metric,
            comparison,
            bound,
        })
    }

    fn metric(&mut self) -> Result<Metric, BadRule> {
        let (from, word) = self.take_word();
        let has_arguments = self.eat("(");
        if let Some(statistic) = statistic(word) {
            if !has_arguments {
                return Err(self.error(from, word, RuleFault::NoArguments));
            }
            return Ok(Metric::Statistic(statistic, self.durations()?));
        }
        match plain_metric(word) {
            Some(_) if has_arguments => Err(self.error(from, word, RuleFault::Arguments)),
            Some(metric) => Ok(metric),
            None if word.is_empty() => Err(self.wrong_next(RuleFault::Metric)),
            None => Err(self.error(from, word, RuleFault::Metric)),
        }
    }

    /// Parses what is between the parentheses, and the closing parenthesis.
    fn durations(&mut self) -> Result<DurationSelector, BadRule> {
        let (from, word) = self.take_word();
        let Some(kind) = kind(word) else {
            return Err(self.error(from, word, RuleFault::DurationKind));
        };
        let mut durations = DurationSelector {
            kind,
            site: None,
            name: None,
        };
        while self.eat(",") {
            self.filter(&mut durations)?;
        }
        if self.eat(")") {
            Ok(durations)
        } else {
            Err(self.wrong_next(RuleFault::NoEnd))
        }
    }

    fn filter(&mut self, durations: &mut DurationSelector) -> Result<(), BadRule> {
        self.skip_spaces();
        let from = self.at;
        let filter = if self.eat("site=") {
            &mut durations.site
        } else if self.eat("name=") {
            &mut durations.name
        } else {
            return Err(self.wrong_next(RuleFault::Filter));
        };
        if filter.is_some() {
            return Err(self.error(from, &self.text[from..self.at], RuleFault::Filter));
        }
        *filter = Some(self.pattern()?);
        Ok(())
    }

    fn pattern(&mut self) -> Result<Regex, BadRule> {
        let is_quoted = self.eat("\"");
        let from = self.at;
        let end = if is_quoted {
            end_of_quoted(self.rest())
        } else {
            end_of_bare(self.rest())
        };
        let Some(end) = end else {
            return Err(self.error(from, self.rest(), RuleFault::NoEnd));
        };
        let text = self.take(end);
        let text = if is_quoted { text } else { text.trim_end() };
        self.at += usize::from(is_quoted);
        Regex::new(text).map_err(|why| self.error(from, text, RuleFault::Pattern(why.to_string())))
    }

    fn comparison(&mut self) -> Result<Operator, BadRule> {
        let all = [
            ("<=", Operator::AtMost),
            (">=", Operator::AtLeast),
            ("<", Operator::Less),
            (">", Operator::Greater),
            ("=", Operator::Equal),
        ];
        let found = all.into_iter().find(|(text, _)| self.eat(text));
        match found {
            Some((_, comparison)) => Ok(comparison),
            None => Err(self.wrong_next(RuleFault::Operator)),
        }
    }

    fn bound(&mut self, metric: &Metric) -> Result<u64, BadRule> {
        let (from, text) = self.take_to_comma();
        let text = text.trim_end();
        let bound = if metric.is_time() {
            let parsed = text.parse::<Nanos>();
            parsed.map(|time| time.0).map_err(RuleFault::Duration)
        } else {
            text.parse().map_err(|_| RuleFault::Number)
        };
        bound.map_err(|fault| self.error(from, text, fault))
    }
}

fn statistic(word: &str) -> Option<Statistic> {
    Some(match word {
        "p50" => Statistic::Percentile(50),
        "p90" => Statistic::Percentile(90),
        "p99" => Statistic::Percentile(99),
        "max" => Statistic::Max,
        "mean" => Statistic::Mean,
        "count" => Statistic::Count,
        _ => return None,
    })
}

fn plain_metric(word: &str) -> Option<Metric> {
    let count = match word {
        "busy" => return Some(Metric::LongestRun),
        "stuck" => CountMetric::Stuck,
        "likely" => CountMetric::Likely,
        "lost" => CountMetric::Lost,
        "leaks" => CountMetric::Leaks,
        "coroutines" => CountMetric::Coroutines,
        _ => return None,
    };
    Some(Metric::Count(count))
}

fn kind(word: &str) -> Option<DurationKind> {
    Some(match word {
        "wait" => DurationKind::Wait,
        "run" => DurationKind::Run,
        "ready" => DurationKind::Ready,
        _ => return None,
    })
}

/// Where a pattern in quotes ends. A backslash escapes the next character.
fn end_of_quoted(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    text.char_indices().find_map(|(at, c)| {
        let ends = c == '"' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        ends.then_some(at)
    })
}

/// Where a pattern without quotes ends: at a comma or closing parenthesis outside of brackets.
fn end_of_bare(text: &str) -> Option<usize> {
    let (mut depth, mut is_escaped) = (0usize, false);
    // Where the content of a class such as `[^a-z]` begins. A `]` there is a character of the class.
    let mut class: Option<usize> = None;
    for (at, c) in text.char_indices() {
        match (c, class) {
            _ if is_escaped => is_escaped = false,
            ('\\', _) => is_escaped = true,
            (']', Some(begin)) if begin < at => class = None,
            ('^', Some(begin)) if begin == at => class = Some(at + 1),
            (_, Some(_)) => {}
            ('[', None) => class = Some(at + 1),
            (',' | ')', None) if depth == 0 => return Some(at),
            ('(' | '{', None) => depth += 1,
            (')' | '}', None) => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(text: &str) -> Vec<Rule> {
        parse(text).unwrap().0
    }

    fn fault(text: &str) -> (String, usize, RuleFault) {
        let BadRule {
            text,
            position,
            fault,
        } = parse(text).unwrap_err();
        (text, position, fault)
    }

    #[test]
    fn rules_are_separated_by_commas() {
        let rules = rules("stuck=0, lost <= 3,?busy<50ms ,p99(wait, site=io::read)<1.5ms");
        let texts: Vec<&str> = rules.iter().map(|rule| rule.text.as_str()).collect();
        let expected = [
            "stuck=0",
            "lost <= 3",
            "?busy<50ms",
            "p99(wait, site=io::read)<1.5ms",
        ];
        assert_eq!(texts, expected);
        let bounds: Vec<u64> = rules.iter().map(|rule| rule.bound).collect();
        assert_eq!(bounds, [0, 3, 50_000_000, 1_500_000]);
        let optional: Vec<bool> = rules.iter().map(|rule| rule.is_optional).collect();
        assert_eq!(optional, [false, false, true, false]);
        assert_eq!(rules[1].comparison, Operator::AtMost);
    }

    #[test]
    fn patterns_may_have_commas_and_parentheses() {
        for (text, pattern) in [
            ("count(run,site=a(b|c),name=x)=1", "a(b|c)"),
            ("count(run,site=a{1,2},name=x)=1", "a{1,2}"),
            ("count(run,site=[),(],name=x)=1", "[),(]"),
            ("count(run,site=[],)],name=x)=1", "[],)]"),
            ("count(run,site=[^],)],name=x)=1", "[^],)]"),
            ("count(run,site=[a^],name=x)=1", "[a^]"),
            ("count(run,site=a\\),name=x)=1", "a\\)"),
            ("count(run,site=\"[a),\\\"]\",name=x)=1", "[a),\\\"]"),
            ("count(run,site=,name=x)=1", ""),
            ("count(run, site= db , name=x )=1", "db"),
            ("count(run,site=\"db \" , name=x )=1", "db "),
        ] {
            let all = rules(text);
            let Metric::Statistic(Statistic::Count, durations) = &all[0].metric else {
                panic!("{text}")
            };
            let [site, name] = [&durations.site, &durations.name].map(|p| p.as_ref().unwrap());
            assert_eq!((site.as_str(), name.as_str()), (pattern, "x"), "{text}");
        }
    }

    #[test]
    fn errors_have_the_text_and_its_position() {
        for (text, wrong, position, expected) in [
            ("", "", 1, RuleFault::Metric),
            ("stuck=0,", "", 9, RuleFault::Metric),
            ("stuck=0,ü=1", "ü=1", 9, RuleFault::Metric),
            ("stuck=0, p98(wait)<1s", "p98", 10, RuleFault::Metric),
            ("p99<1s", "p99", 1, RuleFault::NoArguments),
            ("stuck(wait)=0", "stuck", 1, RuleFault::Arguments),
            ("p99(waits)<1s", "waits", 5, RuleFault::DurationKind),
            ("p99(wait,at=x)<1s", "at=x)<1s", 10, RuleFault::Filter),
            ("p99(wait,site=a,site=b)<1s", "site=", 17, RuleFault::Filter),
            ("p99(wait<1s", "<1s", 9, RuleFault::NoEnd),
            ("p99(wait,site=a(<1s", "a(<1s", 15, RuleFault::NoEnd),
            ("stuck!0", "!0", 6, RuleFault::Operator),
            ("stuck=none", "none", 7, RuleFault::Number),
            ("stuck=-1", "-1", 7, RuleFault::Number),
            ("stuck=,lost=0", ",", 7, RuleFault::Number),
            ("stuck=", "", 7, RuleFault::Number),
            ("stuck=0,,lost=0", ",", 9, RuleFault::Metric),
            ("p99()<5ms", ")", 5, RuleFault::DurationKind),
        ] {
            let found = fault(text);
            assert_eq!(found, (wrong.to_owned(), position, expected), "{text}");
        }
        assert!(matches!(fault("busy<50").2, RuleFault::Duration(_)));
        assert!(matches!(fault("max(run,name=[)<1s").2, RuleFault::NoEnd));
        assert!(matches!(
            fault("max(run,name=+)<1s").2,
            RuleFault::Pattern(_)
        ));
    }
}
