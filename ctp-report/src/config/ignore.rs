//! Places of which nobody wants to hear that coroutines are stuck there.

use regex_lite::Regex;

/// Patterns of functions, or of files with lines, as `src/main.rs:64`.
#[derive(Clone, Debug, Default)]
pub struct Ignore(pub Vec<Regex>);

impl Ignore {
    /// Whether a place is meant, by its function or by where that is.
    pub fn is_of(&self, function: &str, at: Option<&str>) -> bool {
        let is_meant =
            |regex: &Regex| regex.is_match(function) || at.is_some_and(|at| regex.is_match(at));
        self.0.iter().any(is_meant)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_meant_by_its_function_or_by_file_and_line() {
        let ignore = |pattern: &str| Ignore(vec![pattern.parse().unwrap()]);
        let is_of = |pattern| ignore(pattern).is_of("app::listen", Some("src/main.rs:64"));
        assert!(is_of("listen$") && is_of(r"main\.rs:64$") && is_of("^app::"));
        assert!(!is_of("^listen") && !is_of(r"main\.rs:6$"));
        assert!(!Ignore::default().is_of("app::listen", None));
    }
}
