//! [`read_parts`]: reads memory that lies in several parts.

/// Fills the buffer from `address` on. `read` copies from a single part and returns how many bytes it copied;
/// 0 ends the reading. Returns how many bytes were copied in all.
pub fn read_parts(
    address: u64,
    buffer: &mut [u8],
    read: impl Fn(u64, &mut [u8]) -> usize,
) -> usize {
    let mut done = 0;
    while done < buffer.len() {
        let Some(next) = address.checked_add(done as u64) else {
            break;
        };
        match read(next, &mut buffer[done..]) {
            0 => break,
            bytes => done += bytes,
        }
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_joined_up_to_a_hole() {
        let by_threes = |address: u64, buffer: &mut [u8]| {
            let bytes = if address < 9 { buffer.len().min(3) } else { 0 };
            buffer[..bytes].fill(address as u8);
            bytes
        };
        let mut buffer = [0xff; 8];
        assert_eq!(read_parts(3, &mut buffer, by_threes), 6);
        assert_eq!(buffer, [3, 3, 3, 6, 6, 6, 0xff, 0xff]);
        assert_eq!(read_parts(u64::MAX, &mut buffer, |_, _| 1), 1);
    }
}
