//! Splits and builds chunks according to `FORMAT.md`, independently of the code.

/// The offset of each chunk of an undamaged trace.
pub fn frames(bytes: &[u8]) -> Vec<usize> {
    let mut starts = vec![32];
    loop {
        let at = starts[starts.len() - 1];
        let stored = u32::from_le_bytes([8, 9, 10, 11].map(|i| bytes[at + i]));
        let next = at + 32 + stored as usize;
        if next == bytes.len() {
            return starts;
        }
        starts.push(next);
    }
}

/// The bytes of a chunk.
pub fn frame(kind: u16, flags: u16, number: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_le_bytes();
    let mut frame = b"\xC7tpk".to_vec();
    frame.extend(kind.to_le_bytes());
    frame.extend(flags.to_le_bytes());
    frame.extend(length);
    frame.extend(length);
    frame.extend(0u64.to_le_bytes());
    frame.extend([0; 8]);
    frame.extend(payload);
    renumbered(&frame, number)
}

pub fn renumbered(frame: &[u8], number: u32) -> Vec<u8> {
    let mut frame = frame.to_vec();
    frame[24..28].copy_from_slice(&number.to_le_bytes());
    let crc = crc32fast::hash(&[&frame[..28], &frame[32..]].concat());
    frame[28..32].copy_from_slice(&crc.to_le_bytes());
    frame
}
