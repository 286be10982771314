//! Packets of GDB's remote serial protocol: `$`, data, `#`, and a checksum of two hex digits.

/// The character that stands for an escaped one in the next byte.
const ESCAPE: u8 = b'}';
const ESCAPED_BY: u8 = 0x20;

/// Repeats the byte before it; the next byte has the count.
const REPEAT: u8 = b'*';
/// Added to a count.
const REPEAT_BASE: u8 = 29;

/// The largest packet that is accepted, after repetitions are expanded.
pub const MAX_BYTES: usize = 1 << 18;

/// Why data of a packet is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadPacket {
    /// The checksum is another one.
    Checksum,
    /// The data is no valid encoding, or longer than [`MAX_BYTES`].
    Encoding,
}

/// The packet with these characters, none of which needs to be escaped.
pub fn encode(data: &str) -> Vec<u8> {
    format!("${data}#{:02x}", checksum(data.as_bytes())).into_bytes()
}

/// The data of a packet, from what is between `$` and `#`, and the checksum.
///
/// # Errors
/// [`BadPacket`].
pub fn decode(raw: &[u8], sum: [u8; 2]) -> Result<Vec<u8>, BadPacket> {
    if byte_of(sum) != Some(checksum(raw)) {
        return Err(BadPacket::Checksum);
    }
    let mut data = Vec::new();
    let mut bytes = raw.iter().copied();
    while let Some(byte) = bytes.next() {
        match byte {
            ESCAPE => data.push(bytes.next().ok_or(BadPacket::Encoding)? ^ ESCAPED_BY),
            REPEAT => repeat(&mut data, bytes.next())?,
            _ => data.push(byte),
        }
        if MAX_BYTES < data.len() {
            return Err(BadPacket::Encoding);
        }
    }
    Ok(data)
}

fn repeat(data: &mut Vec<u8>, count: Option<u8>) -> Result<(), BadPacket> {
    let last = *data.last().ok_or(BadPacket::Encoding)?;
    let count = count.and_then(|count| count.checked_sub(REPEAT_BASE));
    let count = count.ok_or(BadPacket::Encoding)?;
    data.extend(std::iter::repeat_n(last, count.into()));
    Ok(())
}

fn checksum(bytes: &[u8]) -> u8 {
    bytes.iter().fold(0, |sum, byte| sum.wrapping_add(*byte))
}

/// The bytes that these pairs of hex digits stand for. `None` if they are no pairs of hex digits.
pub fn bytes_of_hex(digits: &[u8]) -> Option<Vec<u8>> {
    let pairs = digits.chunks(2).map(|pair| byte_of(pair.try_into().ok()?));
    pairs.collect()
}

fn byte_of(pair: [u8; 2]) -> Option<u8> {
    let digits = pair.map(|digit| (digit as char).to_digit(16));
    Some((digits[0]? << 4 | digits[1]?) as u8)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decoded(raw: &[u8]) -> Result<Vec<u8>, BadPacket> {
        let sum = format!("{:02X}", checksum(raw));
        decode(raw, sum.into_bytes().try_into().expect("two digits"))
    }

    #[test]
    fn packets_are_framed_and_summed_up() {
        assert_eq!(encode("m20000000,4"), b"$m20000000,4#4f");
        assert_eq!(decode(b"OK", *b"9a"), Ok(b"OK".to_vec()));
        assert_eq!(decode(b"OK", *b"9b"), Err(BadPacket::Checksum));
        assert_eq!(decode(b"OK", *b"zz"), Err(BadPacket::Checksum));
    }

    #[test]
    fn repetitions_and_escapes_are_expanded() {
        assert_eq!(decoded(b"0* "), Ok(b"0000".to_vec()));
        assert_eq!(decoded(b"}\x03a"), Ok(b"#a".to_vec()));
        for wrong in [&b"*!"[..], b"0*", b"0*\x1c", b"}"] {
            assert_eq!(decoded(wrong), Err(BadPacket::Encoding));
        }
        let bomb = [b"0".to_vec(), b"*~".repeat(MAX_BYTES / 90)].concat();
        assert_eq!(decoded(&bomb), Err(BadPacket::Encoding));
    }

    #[test]
    fn hex_digits_are_pairs() {
        assert_eq!(bytes_of_hex(b"00fF7a"), Some(vec![0, 0xFF, 0x7A]));
        assert_eq!(bytes_of_hex(b"00f"), None);
        assert_eq!(bytes_of_hex(b"0g"), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_decoded_or_refused(raw in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = decoded(&raw);
            let _ = bytes_of_hex(&raw);
        }
    }
}
