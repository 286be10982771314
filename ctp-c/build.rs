//! Names the shared library, so that a program refers to it by this name and not by a path.

fn main() {
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libctp.so");
    println!("cargo::rerun-if-changed=build.rs");
}
