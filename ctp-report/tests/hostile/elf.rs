//! ELF files made by hand, whose headers may claim anything.

/// Of every file that is made here.
pub const BUILD_ID: [u8; 4] = [0xab, 0xcd, 0xef, 0x01];

/// Where all of a program is loaded.
pub const BASE: u64 = 0x1000;

const HEADER: usize = 64;
const SEGMENT: usize = 56;
const SECTION: usize = 64;

pub struct Section {
    pub name: &'static str,
    pub kind: u32,
    pub flags: u64,
    pub bytes: Vec<u8>,
    /// The number of the section that this one refers to.
    pub link: u32,
    /// What the header says instead of the length of the bytes.
    pub claimed: Option<u64>,
}

impl Section {
    pub fn plain(name: &'static str, bytes: Vec<u8>) -> Self {
        let (kind, flags, link, claimed) = (1, 0, 0, None);
        Section {
            link,
            name,
            kind,
            flags,
            bytes,
            claimed,
        }
    }

    /// Zeros, packed so well that a small file claims so many.
    pub fn of_zeros(name: &'static str, size: u64) -> Self {
        let mut bytes = Vec::new();
        for word in [1u32, 0] {
            bytes.extend(word.to_le_bytes());
        }
        for word in [size, 1] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(packed_zeros(size));
        Section {
            flags: 0x800,
            ..Section::plain(name, bytes)
        }
    }
}

/// A program of these sections, and of a build id.
pub fn file(mut sections: Vec<Section>) -> Vec<u8> {
    let mut note = Vec::new();
    for word in [4u32, 4, 3] {
        note.extend(word.to_le_bytes());
    }
    note.extend(b"GNU\0");
    note.extend(BUILD_ID);
    sections.push(Section {
        kind: 7,
        ..Section::plain(".note.gnu.build-id", note)
    });
    let mut names = vec![0];
    let mut starts = Vec::new();
    for section in &sections {
        starts.push(names.len());
        names.extend(section.name.bytes());
        names.push(0);
    }
    starts.push(names.len());
    names.extend(b".shstrtab\0");
    sections.push(Section {
        kind: 3,
        ..Section::plain(".shstrtab", names)
    });
    put_together(&sections, &starts)
}

fn put_together(sections: &[Section], names: &[usize]) -> Vec<u8> {
    let mut file = vec![0; HEADER];
    for half in [1u32, 5] {
        file.extend(half.to_le_bytes());
    }
    for word in [0, BASE, BASE, 0x8000, 0x8000, 0x1000u64] {
        file.extend(word.to_le_bytes());
    }
    let mut table = vec![0; SECTION];
    for (section, name) in sections.iter().zip(names) {
        let mut header = Vec::new();
        header.extend((*name as u32).to_le_bytes());
        header.extend(section.kind.to_le_bytes());
        let size = section.claimed.unwrap_or(section.bytes.len() as u64);
        for word in [section.flags, 0, file.len() as u64, size] {
            header.extend(word.to_le_bytes());
        }
        header.extend(section.link.to_le_bytes());
        header.resize(SECTION - 16, 0);
        let entry_size = if section.kind == 2 { 24 } else { 0u64 };
        for word in [1, entry_size] {
            header.extend(word.to_le_bytes());
        }
        table.extend(header);
        file.extend(&section.bytes);
    }
    let place = file.len() as u64;
    file.extend(table);
    file[..16].copy_from_slice(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
    let mut put = |at: usize, bytes: &[u8]| file[at..at + bytes.len()].copy_from_slice(bytes);
    put(16, &3u16.to_le_bytes());
    put(18, &62u16.to_le_bytes());
    put(20, &1u32.to_le_bytes());
    put(32, &(HEADER as u64).to_le_bytes());
    put(54, &(SEGMENT as u16).to_le_bytes());
    put(56, &1u16.to_le_bytes());
    put(40, &place.to_le_bytes());
    put(52, &(HEADER as u16).to_le_bytes());
    put(58, &(SECTION as u16).to_le_bytes());
    put(60, &(sections.len() as u16 + 1).to_le_bytes());
    put(62, &(sections.len() as u16).to_le_bytes());
    file
}

/// A zlib stream of one block with fixed codes: a zero, then copies of 258 bytes from one byte before.
fn packed_zeros(size: u64) -> Vec<u8> {
    let mut bits = Bits::default();
    bits.put(0b011, 3);
    bits.put(0b0000_1100, 8);
    let copies = (size - 1) / 258;
    for _ in 0..copies {
        bits.put(0b1010_0011, 8);
        bits.put(0, 5);
    }
    for _ in 0..(size - 1) % 258 {
        bits.put(0b0000_1100, 8);
    }
    bits.put(0, 7);
    let mut stream = vec![0x78, 0x01];
    stream.extend(bits.finish());
    let sum = (size % 65_521) << 16 | 1;
    stream.extend((sum as u32).to_be_bytes());
    stream
}

#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    word: u64,
    length: u32,
}

impl Bits {
    /// The lowest bit first.
    fn put(&mut self, bits: u64, length: u32) {
        self.word |= bits << self.length;
        self.length += length;
        while 8 <= self.length {
            self.bytes.push(self.word as u8);
            self.word >>= 8;
            self.length -= 8;
        }
    }

    fn finish(mut self) -> Vec<u8> {
        self.put(0, 7);
        self.bytes
    }
}
