//! The name of a function from DWARF, completed by a symbol.

use std::sync::Arc;

use crate::path::with_last_body;
use crate::tidy::tidy;

/// The name of a function as DWARF has it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Name {
    /// The demangled name with the path.
    Full(Arc<str>),
    /// The last part of the path only, as spelled by the compiler.
    Short(Arc<str>),
}

impl Name {
    /// The full name that a symbol gives to the function that DWARF calls `short`, unless they contradict each other.
    pub(crate) fn extended(symbol: &str, short: &str) -> Option<Self> {
        let is_body = short.starts_with('{') && symbol.ends_with('}');
        if is_body {
            return Some(Self::Full(tidy(&with_last_body(symbol, short)).into()));
        }
        let is_same = plain(last_part(symbol)) == plain(short);
        is_same.then(|| Self::Full(tidy(symbol).into()))
    }

    pub(crate) fn into_shown(self) -> Arc<str> {
        match self {
            Self::Full(name) => name,
            Self::Short(name) => tidy(&name).into(),
        }
    }
}

/// The part of a path after the last `::` outside of brackets.
fn last_part(name: &str) -> &str {
    let mut depth = 0i32;
    let mut start = 0;
    for (at, byte) in name.bytes().enumerate() {
        match byte {
            b'<' | b'(' | b'{' => depth += 1,
            b'>' | b')' | b'}' => depth -= 1,
            b':' if depth == 0 && !name[at + 1..].starts_with([':', '<']) => start = at + 1,
            _ => {}
        }
    }
    &name[start..]
}

/// The name without generic arguments and parameters.
fn plain(part: &str) -> &str {
    part.split(['<', '(', ':']).next().unwrap_or(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full(symbol: &str, short: &str) -> Option<Arc<str>> {
        Name::extended(symbol, short).map(Name::into_shown)
    }

    #[test]
    fn a_symbol_completes_a_short_name() {
        assert_eq!(full("a::f", "f").as_deref(), Some("a::f"));
        assert_eq!(full("a::f::<u8>", "f<u8>").as_deref(), Some("a::f::<u8>"));
        assert_eq!(
            full("<a::S as b::T<a::b>>::m", "m").as_deref(),
            Some("<a::S as b::T<a::b>>::m")
        );
        assert_eq!(
            full("pool::grow(int)", "grow").as_deref(),
            Some("pool::grow(int)")
        );
        assert_eq!(
            full("a::f::{{closure}}", "{async_fn#0}").as_deref(),
            Some("a::f")
        );
        assert_eq!(
            full("a::f::{{closure}}", "{closure#0}").as_deref(),
            Some("closure in a::f")
        );
    }

    #[test]
    fn a_symbol_of_a_merged_function_is_ignored() {
        assert_eq!(full("a::twin", "f"), None);
        assert_eq!(full("a::f", "{closure#0}"), None);
        assert_eq!(full("a::f::{{closure}}", "f"), None);
    }
}
