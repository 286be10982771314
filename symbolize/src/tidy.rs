//! Turns the names of functions and types into what the user wrote. Splits a name into parts; [`crate::path`] joins them
//! again without what the compiler added.

use crate::path::Path;

/// Tidies a demangled function name or a type name (`core::any::type_name`).
///
/// The body of an `async fn` gets the name of the function. Other bodies get the name of what they are:
///
/// ```
/// use symbolize::tidy;
/// assert_eq!(tidy("app::serve::{async_fn#0}"), "app::serve");
/// assert_eq!(tidy("app::serve::{async_block_env#1}"), "async block in app::serve");
/// assert_eq!(tidy("app::Map<app::serve::{{closure}}>"), "app::Map<app::serve>");
/// ```
///
/// `{{closure}}` and `{closure#0}` directly in a function are the body of an `async fn`, or a closure.
/// The name is ambiguous, so both are shown as the function.
pub fn tidy(name: &str) -> String {
    if !name.contains('{') && !name.contains(">::") {
        return name.to_owned();
    }
    let mut text = Text {
        rest: name,
        depth: 0,
    };
    let mut out = String::with_capacity(name.len());
    match text.list(&mut out) {
        Some(()) if text.rest.is_empty() => out,
        _ => name.to_owned(),
    }
}

/// The maximum depth of nested brackets. Real type names of futures reach a few dozen.
const MAX_DEPTH: usize = 200;

/// The part of the name that is still to be parsed, and how many brackets are open there.
///
/// Parsing methods return `None` if the name has an unknown form.
struct Text<'a> {
    rest: &'a str,
    depth: usize,
}

impl Text<'_> {
    /// Parses paths and copies the text between them, up to a closing bracket whose opening bracket is not part of
    /// the list.
    fn list(&mut self, out: &mut String) -> Option<()> {
        while let Some(next) = self.rest.chars().next() {
            match next {
                '>' | ')' | ']' | '}' => break,
                '(' | '[' => self.bracketed(out)?,
                '-' if self.rest.starts_with("->") => self.copy(2, out),
                '<' | '{' | '_' | ':' => self.path(out)?,
                _ if next.is_alphanumeric() => self.path(out)?,
                _ => self.copy(next.len_utf8(), out),
            }
        }
        Some(())
    }

    fn copy(&mut self, len: usize, out: &mut String) {
        let (copied, rest) = self.rest.split_at(len);
        out.push_str(copied);
        self.rest = rest;
    }

    /// Parses an opening bracket, a list, and the closing bracket.
    fn bracketed(&mut self, out: &mut String) -> Option<()> {
        let close = match self.rest.as_bytes().first()? {
            b'<' => '>',
            b'(' => ')',
            _ => ']',
        };
        if self.depth == MAX_DEPTH {
            return None;
        }
        self.copy(1, out);
        self.depth += 1;
        self.list(out)?;
        self.depth -= 1;
        self.rest.starts_with(close).then(|| self.copy(1, out))
    }

    /// Parses a whole path such as `a::b<C>::{{closure}}`.
    fn path(&mut self, out: &mut String) -> Option<()> {
        let mut path = Path::default();
        while let Some(next) = self.rest.chars().next() {
            match next {
                ':' if self.rest.starts_with("::") => {
                    self.rest = &self.rest[2..];
                    path.separate();
                }
                '{' => path.braces(self.braces()?),
                '<' if path.is_empty() => self.qualified(&mut path)?,
                '<' => self.bracketed(path.written())?,
                _ if next == '_' || next.is_alphanumeric() => self.word(path.written()),
                ':' => self.copy(1, path.written()),
                _ => break,
            }
        }
        path.finish(out);
        Some(())
    }

    /// Parses the `<…>` at the start of a path. `<a::S as b::T>` is kept. `<a::S>` becomes `a::S`, so that both
    /// manglings of a name lead to the same text.
    fn qualified(&mut self, path: &mut Path) -> Option<()> {
        let mut text = String::new();
        self.bracketed(&mut text)?;
        let inside = &text[1..text.len() - 1];
        let is_path = inside.starts_with(|c: char| c == '_' || c.is_alphanumeric());
        let is_plain = is_path && !inside.contains(' ');
        path.written()
            .push_str(if is_plain { inside } else { &text });
        Some(())
    }

    fn word(&mut self, out: &mut String) {
        let end = self
            .rest
            .find(|c: char| c != '_' && !c.is_alphanumeric())
            .unwrap_or(self.rest.len());
        self.copy(end, out);
    }

    /// Parses a balanced `{..}`, and returns it unchanged.
    fn braces(&mut self) -> Option<&str> {
        let mut open = 0usize;
        let end = self.rest.bytes().position(|byte| {
            open += usize::from(byte == b'{');
            open -= usize::from(byte == b'}');
            open == 0
        })?;
        let (braces, rest) = self.rest.split_at(end + 1);
        self.rest = rest;
        Some(braces)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CASES: &[(&str, &str)] = &[
        ("lost_wakeup::serve::{{closure}}", "lost_wakeup::serve"),
        ("a::f::{closure#0}", "a::f"),
        ("a::f::{closure#1}", "closure in a::f"),
        ("a::f::{closure_env#0}", "closure in a::f"),
        ("a::f::{async_fn#0}", "a::f"),
        ("a::f::{async_fn_env#0}<u32>", "a::f<u32>"),
        ("a::f::{async_block#0}", "async block in a::f"),
        ("a::f::{async_block_env#2}", "async block in a::f"),
        ("a::f::{async_fn#0}::{async_block#0}", "async block in a::f"),
        ("a::f::{async_fn#0}::{closure#0}", "closure in a::f"),
        ("a::f::{{closure}}::{{closure}}", "closure in a::f"),
        (
            "a::f::{{closure}}::{{closure}}::{{closure}}",
            "closure in a::f",
        ),
        ("a::f::{{closure}}::g", "a::f::g"),
        ("a::f::{{closure}}::g::{{closure}}", "a::f::g"),
        ("<a::S as a::T>::m::{{closure}}", "<a::S as a::T>::m"),
        (
            "<a::f::{{closure}} as core::ops::Fn<()>>::call",
            "<a::f as core::ops::Fn<()>>::call",
        ),
        (
            "<a::S as a::T<()>>::m::<u8>::{closure#2}",
            "closure in <a::S as a::T<()>>::m::<u8>",
        ),
        (
            "futures::future::map::Map<app::handler::{{closure}}, app::main::{{closure}}::{{closure}}>",
            "futures::future::map::Map<app::handler, closure in app::main>",
        ),
        (
            "core::pin::Pin<&mut (dyn core::future::Future<Output = ()> + Send)>::{{closure}}",
            "core::pin::Pin<&mut (dyn core::future::Future<Output = ()> + Send)>",
        ),
        (
            "a::b<fn(u8) -> a::f::{{closure}}, [u8; 3]>",
            "a::b<fn(u8) -> a::f, [u8; 3]>",
        ),
        (
            "core::ops::FnOnce::call_once{{vtable.shim}}",
            "core::ops::FnOnce::call_once",
        ),
        (
            "<a::f::{closure#1} as Fn<()>>::call::{shim:vtable#0}",
            "<closure in a::f as Fn<()>>::call",
        ),
        ("a::{impl#3}::m", "a::{impl#3}::m"),
        ("<a::S>::m::{closure#0}", "a::S::m"),
        ("<a::Q<u8>>::m", "a::Q<u8>::m"),
        ("<[u8]>::len", "<[u8]>::len"),
        ("a::Q<u8>::m", "a::Q<u8>::m"),
        ("{async_fn#0}", "async fn"),
        ("{async_fn#0}<u32, a::f::{closure_env#0}>", "async fn"),
        ("{async_block#1}<u8>", "async block"),
        ("{closure#0}", "closure"),
        ("{impl#0}::m::{closure#0}", "{impl#0}::m"),
        ("a::b<{closure#0}<u8>>", "a::b<closure>"),
        ("{closure_env#0}", "closure"),
        ("größe::{{closure}}", "größe"),
        // Already tidy, or not understood: unchanged.
        ("a::f", "a::f"),
        (
            "operator<<(std::ostream&, {unnamed})",
            "operator<<(std::ostream&, {unnamed})",
        ),
        ("a::f::{{closure}", "a::f::{{closure}"),
        ("a}::{{closure}}", "a}::{{closure}}"),
        ("{", "{"),
        ("}{", "}{"),
    ];

    #[test]
    fn names_as_written() {
        for (name, tidied) in CASES {
            assert_eq!(tidy(name), *tidied, "{name}");
        }
    }

    #[test]
    fn deep_nesting_is_left_alone() {
        let deep = format!("{}{{{{closure}}}}", "a<".repeat(100_000));
        assert_eq!(tidy(&deep), deep);
    }
}
