//! Splits the names of types and functions into their parts.

/// The generic parameters of a name such as `Cell<A, B>`: `A, B`.
pub(super) fn generics(name: &str) -> Option<&str> {
    let (_, rest) = name.split_once('<')?;
    rest.strip_suffix('>')
}

/// A name without its generic parameters: `app::Pool` of `app::Pool<u8>`. Names of references, tuples and
/// slices stay as they are.
pub(super) fn without_generics(name: &str) -> &str {
    if name.starts_with(['&', '*', '(', '[', '<']) {
        return name;
    }
    name.split_once('<').map_or(name, |(path, _)| path)
}

/// The path of the type that implements `Future` by the function with this mangled name. `None` for functions other
/// than `Future::poll`.
pub(super) fn future_path(mangled: &str) -> Option<String> {
    if !mangled.contains("6future6future6Future") && !mangled.contains("future..future..Future") {
        return None;
    }
    let name = symbolize::demangle(mangled);
    let (of, method) = name
        .strip_prefix('<')?
        .rsplit_once(" as core::future::future::Future>::")?;
    let is_path = method == "poll" && !of.starts_with(['&', '(', '*', '<']);
    is_path.then(|| without_generics(of).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_split_into_parts() {
        assert_eq!(
            generics("Cell<a::F<u8>, alloc::sync::Arc<S>>"),
            Some("a::F<u8>, alloc::sync::Arc<S>")
        );
        assert_eq!(generics("Cell"), None);
        assert_eq!(without_generics("app::Pool<u8>"), "app::Pool");
        assert_eq!(without_generics("&app::Pool<u8>"), "&app::Pool<u8>");
    }

    #[test]
    fn mangled_names_say_what_is_a_future() {
        let legacy = "_ZN87_$LT$core..future..poll_fn..PollFn$LT$F$GT$$u20$as$u20$core..future..future..Future$GT$4poll17h8bca0d6d9df04541E";
        assert_eq!(
            future_path(legacy).as_deref(),
            Some("core::future::poll_fn::PollFn")
        );
        assert_eq!(future_path("_ZN4prog4poll17h8bca0d6d9df04541E"), None);
    }
}
