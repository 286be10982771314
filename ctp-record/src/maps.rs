//! The text of `/proc/<pid>/maps`, read into mappings.

/// One mapping of a process that can be executed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Mapping {
    /// First address.
    pub start: u64,
    /// First address behind it.
    pub end: u64,
    /// Where in the file it begins.
    pub file_offset: u64,
    /// Path as the kernel prints it; `[vdso]` and the like for no file.
    pub path: Vec<u8>,
}

impl Mapping {
    /// Does this address lie in it?
    pub fn covers(&self, address: u64) -> bool {
        (self.start..self.end).contains(&address)
    }
}

/// The executable mappings that have a name. Lines that make no sense are left out.
pub fn executable(text: &[u8]) -> Vec<Mapping> {
    text.split(|&byte| byte == b'\n').filter_map(line).collect()
}

/// `start-end perms offset dev inode   path`
fn line(line: &[u8]) -> Option<Mapping> {
    let mut rest = line;
    let range = word(&mut rest)?;
    let permissions = word(&mut rest)?;
    let offset = word(&mut rest)?;
    let _device = word(&mut rest)?;
    let _inode = word(&mut rest)?;
    let path = rest.trim_ascii_start();
    let dash = range.iter().position(|&byte| byte == b'-')?;
    if permissions.get(2) != Some(&b'x') || path.is_empty() {
        return None;
    }
    let mapping = Mapping {
        start: hex(&range[..dash])?,
        end: hex(&range[dash + 1..])?,
        file_offset: hex(offset)?,
        path: path.to_vec(),
    };
    (mapping.start < mapping.end).then_some(mapping)
}

fn word<'l>(rest: &mut &'l [u8]) -> Option<&'l [u8]> {
    let end = rest.iter().position(|&byte| byte == b' ')?;
    let (word, tail) = rest.split_at(end);
    *rest = &tail[1..];
    Some(word)
}

fn hex(digits: &[u8]) -> Option<u64> {
    u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executable_mappings_with_a_name_are_kept_and_paths_may_have_spaces() {
        let text = b"\
00400000-00452000 r-xp 00001000 08:02 173521      /usr/bin/my app
00651000-00652000 r--p 00051000 08:02 173521      /usr/bin/my app
00e03000-00e24000 rw-p 00000000 00:00 0           [heap]
7ffd0000-7ffd2000 r-xp 00000000 00:00 0           [vdso]
7ffd4000-7ffd6000 r-xp 00000000 00:00 0 \n";
        let mappings = executable(text);
        assert_eq!(mappings.len(), 2);
        assert_eq!(mappings[0].path, b"/usr/bin/my app");
        assert_eq!((mappings[0].start, mappings[0].end), (0x40_0000, 0x45_2000));
        assert_eq!(mappings[0].file_offset, 0x1000);
        assert_eq!(mappings[1].path, b"[vdso]");
    }

    #[test]
    fn nonsense_is_left_out() {
        for text in [
            "",
            "-",
            "x-y r-xp z 0 0 /a",
            "2-1 r-xp 0 0 0 /a",
            "1-2 r-xp 0 0 0",
            "1-2 r",
        ] {
            assert_eq!(executable(text.as_bytes()), [], "{text}");
        }
    }
}
