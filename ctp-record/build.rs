//! Tells the recorder whether it is compiled without optimization (`cfg(unoptimized)`).

fn main() {
    println!("cargo::rustc-check-cfg=cfg(unoptimized)");
    if std::env::var("OPT_LEVEL").is_ok_and(|level| level == "0") {
        println!("cargo::rustc-cfg=unoptimized");
    }
    println!("cargo::rerun-if-changed=build.rs");
}
