//! The descriptors that a process watches by epoll, from `/proc/PID/fdinfo`.

use std::fs;

use crate::target::EpollInterest;

/// Maximum number of descriptors that are examined, so that a process with very many descriptors can be read quickly.
const MAX_DESCRIPTORS: usize = 1 << 16;

/// All interests of all epoll descriptors of the process. Empty if they cannot be read.
pub fn interests(pid: u32) -> Vec<EpollInterest> {
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/fd")) else {
        return Vec::new();
    };
    let entries = entries.flatten().take(MAX_DESCRIPTORS);
    let epolls = entries.filter(|entry| {
        let link = fs::read_link(entry.path());
        link.is_ok_and(|link| link.as_os_str() == "anon_inode:[eventpoll]")
    });
    let mut interests = Vec::new();
    for epoll in epolls {
        let name = epoll.file_name().to_string_lossy().into_owned();
        let text = fs::read_to_string(format!("/proc/{pid}/fdinfo/{name}")).unwrap_or_default();
        interests.extend(text.lines().filter_map(parse_line));
    }
    interests
}

/// `tfd:        5 events:       19 data:     7f3c08000b80  pos:0 ino:61 sdev:8`
fn parse_line(line: &str) -> Option<EpollInterest> {
    let mut words = line.strip_prefix("tfd:")?.split_ascii_whitespace();
    let fd = words.next()?.parse().ok()?;
    words.find(|word| *word == "data:")?;
    let data = u64::from_str_radix(words.next()?, 16).ok()?;
    Some(EpollInterest { fd, data })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_interests_are_parsed() {
        let line = "tfd:        5 events:       19 data:     7f3c08000b80  pos:0 ino:61 sdev:8";
        let expected = EpollInterest {
            fd: 5,
            data: 0x7f3c_0800_0b80,
        };
        assert_eq!(parse_line(line), Some(expected));
        for line in [
            "",
            "pos: 0",
            "tfd: x data: 1",
            "tfd: 1 events: 2",
            "tfd: 1 data: z",
        ] {
            assert_eq!(parse_line(line), None, "{line}");
        }
    }
}
