#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ctp_fuzz::flight(bytes));
