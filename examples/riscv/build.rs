//! Links with the memory map of the board.

fn main() {
    println!("cargo::rerun-if-changed=memory.x");
    println!("cargo::rustc-link-search={}", env!("CARGO_MANIFEST_DIR"));
    println!("cargo::rustc-link-arg-bins=-Tmemory.x");
    println!("cargo::rustc-link-arg-bins=-Tlink.x");
}
