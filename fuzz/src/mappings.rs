//! Interprets the input as `/proc/<pid>/maps`, where a path may have any byte.

use ctp_record::maps::{Mapping, executable};

/// Checks that every parsed mapping is valid and has a path from the text.
pub fn parse_mappings(text: &[u8]) {
    let mappings = executable(text);
    let lines = text.split(|&byte| byte == b'\n').count();
    assert!(mappings.len() <= lines);
    for Mapping {
        start, end, path, ..
    } in mappings
    {
        assert!(start < end && !path.is_empty());
        assert!(text.windows(path.len()).any(|window| window == path));
    }
}
