//! Places at which long waits are normal and never reported as stuck.

use regex_lite::Regex;

/// Patterns that match a function, or a file with a line such as `src/main.rs:64`.
#[derive(Clone, Debug, Default)]
pub struct Ignore(pub Vec<Regex>);

impl Ignore {
    /// Whether a pattern matches the function, or its file and line (`at`).
    pub fn is_of(&self, function: &str, at: Option<&str>) -> bool {
        self.0
            .iter()
            .any(|regex| regex.is_match(function) || at.is_some_and(|at| regex.is_match(at)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_functions_and_lines() {
        let ignore = |pattern: &str| Ignore(vec![pattern.parse().unwrap()]);
        let is_of = |pattern| ignore(pattern).is_of("app::listen", Some("src/main.rs:64"));
        assert!(is_of("listen$") && is_of(r"main\.rs:64$") && is_of("^app::"));
        assert!(!is_of("^listen") && !is_of(r"main\.rs:6$"));
        assert!(!Ignore::default().is_of("app::listen", None));
    }
}
