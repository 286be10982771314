//! Recognizes source files of dependencies by the folders in which cargo and rustup keep them.

/// Whether a source file belongs to a downloaded package or to the standard library.
pub fn is_dependency(file: &str) -> bool {
    is_standard_library(file) || path_in_packages(file).is_some()
}

/// Whether a source file belongs to the standard library: `/rustc/HASH/library/core/src/lib.rs` as the compiler
/// records the path, or the same file below `lib/rustlib/src/rust`, if its source is installed.
pub fn is_standard_library(file: &str) -> bool {
    file.starts_with("/rustc/") || file.contains("/rustlib/src/")
}

/// The path of a downloaded package's source file, from the package's folder on:
/// `tokio-1.54.1/src/sync/mutex.rs` for `…/registry/src/INDEX/tokio-1.54.1/src/sync/mutex.rs`.
/// For a checkout of a git repository, the first folder is the revision.
pub fn path_in_packages(file: &str) -> Option<&str> {
    in_registry(file).or_else(|| in_checkout(file))
}

/// The folder of a package ends with its version, which distinguishes cargo's registry from a program's own folder
/// called `registry`.
fn in_registry(file: &str) -> Option<&str> {
    let registries = file.match_indices(REGISTRY).map(|(at, _)| at);
    let mut paths = registries.filter_map(|at| {
        let (_index, path) = file[at + REGISTRY.len()..].split_once('/')?;
        let (package, _) = path.split_once('/')?;
        has_version(package).then_some(path)
    });
    paths.next()
}

const REGISTRY: &str = "/registry/src/";

fn in_checkout(file: &str) -> Option<&str> {
    let (_, below) = file.split_once("/git/checkouts/")?;
    let (_repository, path) = below.split_once('/')?;
    Some(path)
}

/// Whether the name of a folder ends with a version, such as `-1.54.1` or `-0.3.0-alpha.1`.
fn has_version(package: &str) -> bool {
    let mut hyphens = package.match_indices('-');
    hyphens.any(|(at, _)| {
        let mut parts = package[at + 1..].splitn(3, '.');
        let mut is_number = || parts.next().is_some_and(|part| part.parse::<u64>().is_ok());
        is_number() && is_number() && parts.next().is_some()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_and_the_standard_library_are_dependencies() {
        for dependency in [
            "/home/me/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/tokio-1.54.1/src/lib.rs",
            "/home/me/.cargo/git/checkouts/pool-1f2e/3d4c/src/lib.rs",
            "/w/registry/src/app/.cargo/registry/src/index/futures-0.3.0-alpha.1/src/lib.rs",
            "/rustc/5980/library/core/src/task/wake.rs",
            "/home/me/.rustup/toolchains/x/lib/rustlib/src/rust/library/core/src/lib.rs",
        ] {
            assert!(is_dependency(dependency), "{dependency}");
        }
    }

    // CT-14
    #[test]
    fn folders_called_registry_may_be_the_programs_own() {
        for own in [
            "/w/service-registry/src/main.rs",
            "/w/service-registry/src/net/http/server.rs",
            "/w/registry/src/lib.rs",
            "/w/registry/src/net/http/server.rs",
            "/w/registry/src/crates/proto-3/src/lib.rs",
            "src/main.rs",
        ] {
            assert!(!is_dependency(own), "{own}");
        }
    }

    #[test]
    fn package_paths_begin_with_the_package() {
        let file = "/c/registry/src/x/y-z-1.0.0/src/lib.rs";
        assert_eq!(path_in_packages(file), Some("y-z-1.0.0/src/lib.rs"));
        let checkout = "/c/git/checkouts/pool-1f2e/3d4c/src/lib.rs";
        assert_eq!(path_in_packages(checkout), Some("3d4c/src/lib.rs"));
    }
}
