//! ctp-report
fn main() {}
