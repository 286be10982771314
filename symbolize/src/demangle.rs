//! Demangles the symbol names of the linker: Rust (both manglings), C++ and its coroutines.

use std::fmt::Write as _;

use crate::tidy::tidy;

/// The readable name for a symbol name of the linker. A name that is not mangled is only tidied.
///
/// ```
/// let legacy = "_ZN1a10read_frame28_$u7b$$u7b$closure$u7d$$u7d$17h762df075a0f448f8E";
/// assert_eq!(symbolize::demangle(legacy), "a::read_frame");
/// assert_eq!(symbolize::demangle("_RNCNvCs6xxl1lAjzDf_1a10read_frame0B3_"), "a::read_frame");
/// assert_eq!(symbolize::demangle("_ZN4pool4growEi"), "pool::grow(int)");
/// ```
pub fn demangle(name: &str) -> String {
    tidy(&unmangled(name))
}

/// Demangles a symbol name, and leaves closures as the compiler spells them.
pub(crate) fn unmangled(name: &str) -> String {
    let name = without_clone_suffix(bounded(name));
    if let Ok(rust) = rustc_demangle::try_demangle(name) {
        let mut text = Bounded(String::new());
        return match write!(text, "{rust:#}") {
            Ok(()) => text.0,
            Err(_) => name.to_owned(),
        };
    }
    cpp_coroutine(name)
        .or_else(|| cpp(name))
        .unwrap_or_else(|| name.to_owned())
}

/// Removes what optimizers append to a function that they split or copied: `.llvm.123`, `.cold`, `.constprop.0`.
fn without_clone_suffix(name: &str) -> &str {
    let mut name = name;
    while let Some((head, last)) = name.rsplit_once('.') {
        let is_number = !last.is_empty() && last.bytes().all(|b| b.is_ascii_digit());
        let is_known = ["llvm", "cold", "part", "isra", "constprop", "lto_priv"].contains(&last);
        if head.is_empty() || !(is_number || is_known) {
            break;
        }
        name = head;
    }
    name
}

/// Demangles the body of a C++ coroutine: a separate function, named after the function in the source. The result is
/// the name of the function in the source. `None` for other names.
///
/// gcc: `_Z4leafiPZ4leafiE12_Z4leafi.Frame.actor`; clang: `_Z4leafi.resume`.
fn cpp_coroutine(name: &str) -> Option<String> {
    let parts = ["actor", "destroy", "resume", "cleanup"];
    let (whole, part) = name.rsplit_once('.')?;
    if !parts.contains(&part) {
        return None;
    }
    let written = match whole.strip_suffix(".Frame") {
        Some(frame) => &frame[frame.rfind("_Z")?..],
        None => whole,
    };
    cpp(written)
}

fn cpp(name: &str) -> Option<String> {
    if !name.starts_with("_Z") && !name.starts_with("__Z") {
        return None;
    }
    let symbol = cpp_demangle::Symbol::new(name).ok()?;
    let mut text = Bounded(String::new());
    let options = cpp_demangle::DemangleOptions::new().no_return_type();
    symbol.structured_demangle(&mut text, &options).ok()?;
    Some(outside_lambda(&text.0).unwrap_or(text.0))
}

/// The name for code of a lambda: `f()::{lambda(int)#1}::operator()(int) const` becomes `lambda in f()`.
/// `None` for other names.
fn outside_lambda(name: &str) -> Option<String> {
    let (outer, rest) = name.split_once("::{lambda(")?;
    let (_, member) = rest.split_once("}::")?;
    let is_call = ["operator()", "_FUN", "__invoke"]
        .iter()
        .any(|call| member.starts_with(call));
    let is_whole = outer.matches('<').count() == outer.matches('>').count();
    (is_call && is_whole).then(|| format!("lambda in {outer}"))
}

/// Text with a maximum length: a few bytes of a mangled name can stand for gigabytes.
struct Bounded(String);

/// Longest name that is shown, in bytes; longer names are cut.
pub(crate) const MAX_NAME_BYTES: usize = 16 * 1024;

/// The part of a name that is shown.
pub(crate) fn bounded(name: &str) -> &str {
    let mut end = name.len().min(MAX_NAME_BYTES);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    &name[..end]
}

impl std::fmt::Write for Bounded {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        if MAX_NAME_BYTES < self.0.len() + text.len() {
            return Err(std::fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CASES: &[(&str, &str)] = &[
        // Not mangled.
        ("main", "main"),
        ("__libc_start_main", "__libc_start_main"),
        ("", ""),
        // Rust, legacy.
        ("_ZN1a4main17h1854dee5fd9945b4E", "a::main"),
        (
            "_ZN1a10read_frame28_$u7b$$u7b$closure$u7d$$u7d$17h762df075a0f448f8E",
            "a::read_frame",
        ),
        (
            "_ZN1a4main28_$u7b$$u7b$closure$u7d$$u7d$28_$u7b$$u7b$closure$u7d$$u7d$17h85ef306454930d26E",
            "closure in a::main",
        ),
        (
            "_ZN4core3ptr63drop_in_place$LT$a..read_frame..$u7b$$u7b$closure$u7d$$u7d$$GT$17hf876485dc52a4de4E",
            "core::ptr::drop_in_place<a::read_frame>",
        ),
        (
            "_ZN45_$LT$a..S$u20$as$u20$core..future..Future$GT$4poll17h1854dee5fd9945b4E.llvm.123",
            "<a::S as core::future::Future>::poll",
        ),
        // Rust, v0.
        ("_RNvCs6xxl1lAjzDf_1a10read_frame", "a::read_frame"),
        ("_RNCNvCs6xxl1lAjzDf_1a10read_frame0B3_", "a::read_frame"),
        ("_RNCNvCs6xxl1lAjzDf_1a4mains_0B5_", "closure in a::main"),
        ("_RNCNCNvCs6xxl1lAjzDf_1a4mains_00B5_", "closure in a::main"),
        (
            "_RINvCs6xxl1lAjzDf_1a5applyNCNvB2_4mains_0EB2_",
            "a::apply::<closure in a::main>",
        ),
        ("_RNvCs6xxl1lAjzDf_1a4main.llvm.9", "a::main"),
        // C++.
        ("_ZN4pool4growEi", "pool::grow(int)"),
        ("_ZN4pool4growEi.constprop.0", "pool::grow(int)"),
        ("_ZN4pool4growEi.part.0.cold", "pool::grow(int)"),
        ("_Z5twiceIiET_S0_", "twice<int>(int)"),
        ("_ZZ4mainENKUliE_clEi", "lambda in main"),
        ("_ZZ4mainENUliE_4_FUNEi", "lambda in main"),
        ("_Z4leafiPZ4leafiE12_Z4leafi.Frame.actor", "leaf(int)"),
        ("_Z4leafi.resume", "leaf(int)"),
        // Not valid.
        ("_ZN9", "_ZN9"),
        ("_R", "_R"),
        ("_Z.Frame.actor", "_Z.Frame.actor"),
        (".cold", ".cold"),
    ];

    #[test]
    fn names_for_people() {
        for (mangled, name) in CASES {
            assert_eq!(demangle(mangled), *name, "{mangled}");
        }
    }

    #[test]
    fn an_exploding_name_is_left_alone() {
        let mut bomb = String::from("_Z1fI1aE");
        for _ in 0..60 {
            bomb = bomb.replace("1aE", "St4pairI1aS_EE");
        }
        assert!(demangle(&bomb).len() <= MAX_NAME_BYTES + bomb.len());
    }

    /// The name of a tuple of two copies of the tuple before, 40 levels deep.
    #[test]
    fn a_few_bytes_of_rust_mangling_stay_short() {
        let mut bomb = "INvC1a1fTllllllllE".to_owned();
        let mut before = 8;
        for _ in 0..40 {
            let place = base_62(before);
            before = bomb.len();
            bomb += &format!("TB{place}B{place}E");
        }
        bomb.push('E');
        let name = demangle(&format!("_R{bomb}"));
        assert!(name.len() <= MAX_NAME_BYTES, "{}", name.len());
        assert!(demangle(&"n".repeat(3 * MAX_NAME_BYTES)).len() <= MAX_NAME_BYTES);
    }

    /// A position in the name, as Rust's v0 mangling encodes it (RFC 2603).
    fn base_62(place: usize) -> String {
        let digits = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
        let mut text = "_".to_owned();
        let mut rest = place.checked_sub(1);
        while let Some(number) = rest {
            text.insert(0, char::from(digits[number % 62]));
            rest = (62 <= number).then_some(number / 62);
        }
        text
    }
}
