//! Links the program alone: no C library, no start files, nothing loaded at run time.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    for argument in ["-nostdlib", "-nostartfiles", "-static", "-no-pie"] {
        println!("cargo::rustc-link-arg-bins={argument}");
    }
}
