//! ctp-record
fn main() {}
