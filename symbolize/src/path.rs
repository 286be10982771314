//! A path in a name: rewrites the compiler's words for closures, coroutines and shims.

/// A path that is being read.
#[derive(Default)]
pub(crate) struct Path {
    written: String,
    /// The text to write before the next part: `::`, or nothing. Not written if the next part is dropped.
    separator: &'static str,
    inner: Inner,
    /// The name is only that of a body, without the function around it, as debug info may give it.
    is_body_alone: bool,
}

/// Which code the name refers to: the function that the written path names, or a body inside that function.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Inner {
    /// No inner body: the function that the path names.
    #[default]
    Itself,
    /// The body of an `async fn`, or perhaps a closure.
    Body,
    /// A body of this kind, such as `closure`.
    Named(&'static str),
}

impl Path {
    /// Notes the `::` before the next part.
    pub(crate) fn separate(&mut self) {
        self.separator = "::";
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.written.is_empty() && self.separator.is_empty()
    }

    /// Writes the pending separator, and returns the text to which the caller appends the next part. A part after a
    /// body is an item inside that body (`f::{closure#0}::g`).
    pub(crate) fn written(&mut self) -> &mut String {
        if self.separator == "::" {
            self.inner = Inner::Itself;
            self.is_body_alone = false;
        }
        self.written.push_str(std::mem::take(&mut self.separator));
        &mut self.written
    }

    /// Adds a part in braces, such as `{closure#0}`.
    pub(crate) fn braces(&mut self, braces: &str) {
        let part = Braces::of(braces);
        self.is_body_alone |= self.is_empty() && part.is_body();
        match part {
            Braces::Shim => {}
            Braces::AsyncFn => self.inner = Inner::Body,
            Braces::Some(kind) => self.inner = Inner::Named(kind),
            // Only debug info gives such a part alone, and calls the body of an `async fn` by its kind.
            Braces::Unclear if self.is_body_alone => self.inner = Inner::Named("closure"),
            Braces::Unclear if self.inner == Inner::Itself => self.inner = Inner::Body,
            Braces::Unclear => self.inner = Inner::Named("closure"),
            Braces::Other => return self.written().push_str(braces),
        }
        self.separator = "";
    }

    /// Appends the rewritten path to `out`.
    pub(crate) fn finish(mut self, out: &mut String) {
        self.written.push_str(self.separator);
        match self.inner {
            // What was written, if anything, are type arguments of the body.
            Inner::Body if self.is_body_alone => return out.push_str("async fn"),
            Inner::Named(kind) if self.is_body_alone => return out.push_str(kind),
            Inner::Itself | Inner::Body => {}
            Inner::Named(kind) => out.extend([kind, " in "]),
        }
        out.push_str(&self.written);
    }
}

/// The meaning of a part in braces.
enum Braces {
    /// The code of an `async fn`.
    AsyncFn,
    /// A body of this kind.
    Some(&'static str),
    /// A closure, or the code of an `async fn`.
    Unclear,
    /// An adapter made by the compiler around the named function.
    Shim,
    /// Something else, which is kept unchanged.
    Other,
}

impl Braces {
    fn is_body(&self) -> bool {
        matches!(self, Self::AsyncFn | Self::Some(_) | Self::Unclear)
    }

    fn of(braces: &str) -> Self {
        let inside = braces.trim_matches(['{', '}']);
        let (kind, number) = inside.split_once('#').unwrap_or((inside, "0"));
        match kind.strip_suffix("_env").unwrap_or(kind) {
            "async_fn" | "gen_fn" | "async_gen_fn" => Self::AsyncFn,
            "async_block" => Self::Some("async block"),
            "gen_block" => Self::Some("gen block"),
            "async_gen_block" => Self::Some("async gen block"),
            "coroutine" => Self::Some("coroutine"),
            "async_closure" => Self::Some("async closure"),
            // Certainly a closure. The body of an `async fn` is `{closure#0}` in symbol names, and
            // `{async_fn_env#0}` in debug info.
            "closure" if kind.ends_with("_env") || number != "0" => Self::Some("closure"),
            "closure" => Self::Unclear,
            "vtable.shim" | "shim:vtable" | "shim:reify" | "reify.shim" => Self::Shim,
            _ => Self::Other,
        }
    }
}

/// The kinds of bodies, as `tidy` writes them before ` in `.
const KINDS: [&str; 6] = [
    "async block",
    "gen block",
    "async gen block",
    "coroutine",
    "async closure",
    "closure",
];

/// The function in a tidy name, without the kind of body. Type names ([`core::any::type_name`]) call every
/// body a `closure`, while debug info has the exact kind, so comparisons need this form.
///
/// ```
/// assert_eq!(symbolize::enclosing("async block in app::serve"), "app::serve");
/// assert_eq!(symbolize::enclosing("closure in app::serve"), "app::serve");
/// assert_eq!(symbolize::enclosing("app::serve"), "app::serve");
/// ```
pub fn enclosing(name: &str) -> &str {
    KINDS
        .into_iter()
        .find_map(|kind| name.strip_prefix(kind)?.strip_prefix(" in "))
        .unwrap_or(name)
}

/// Replaces the last `{..}` of a demangled name by what DWARF has: legacy names have only `{{closure}}`.
pub(crate) fn with_last_body(name: &str, from_dwarf: &str) -> String {
    // The demangled name has no generic arguments either.
    let from_dwarf = from_dwarf.split('<').next().unwrap_or(from_dwarf);
    let known = match from_dwarf.split_once('#') {
        // Only the `_env` form is unambiguous.
        Some(("{closure", number)) => format!("{{closure_env#{number}"),
        Some(_) if from_dwarf.starts_with('{') => from_dwarf.to_owned(),
        _ => return name.to_owned(),
    };
    match name.rfind("::{") {
        Some(at) if name.ends_with('}') => format!("{}::{known}", &name[..at]),
        _ => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tidy;

    #[test]
    fn dwarf_decides_the_kind_of_body() {
        let cases = [
            ("a::f::{{closure}}", "{async_fn#0}", "a::f"),
            ("a::f::{{closure}}", "{closure#0}", "closure in a::f"),
            (
                "a::f::{{closure}}",
                "{async_block#0}",
                "async block in a::f",
            ),
            ("a::f::{{closure}}", "{closure#0}<u8>", "closure in a::f"),
            ("a::f", "f<u8>", "a::f"),
            ("a::f", "{async_fn#0}", "a::f"),
        ];
        for (name, from_dwarf, tidied) in cases {
            assert_eq!(
                tidy(&with_last_body(name, from_dwarf)),
                tidied,
                "{name} {from_dwarf}"
            );
        }
    }
}
