//! Names the shared library, so that a program refers to it by this name and not by a path.
//!
//! Before 1.0, each minor version may change the library, so the name has the major and the minor version.

fn main() {
    let major = env!("CARGO_PKG_VERSION_MAJOR");
    let version = match major {
        "0" => concat!("0.", env!("CARGO_PKG_VERSION_MINOR")),
        _ => major,
    };
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libctp.so.{version}");
    println!("cargo::rerun-if-changed=build.rs");
}
