//! Encodes small numbers in the hybrid of runs and packed bits (`RLE`) of Parquet.

/// Numbers are packed in groups of eight, which take as many bytes as a number has bits.
const GROUP: usize = 8;

/// Appends numbers that have at most `bits` bits each, of which there are one to eight.
pub fn encode(numbers: &[u32], bits: u8, encoded: &mut Vec<u8>) {
    let mut rest = numbers;
    while let Some(first) = rest.first() {
        let run = rest.iter().take_while(|number| *number == first).count();
        rest = if GROUP <= run || run == rest.len() {
            length((run as u64) << 1, encoded);
            // A number of up to eight bits takes one byte.
            encoded.push(*first as u8);
            &rest[run..]
        } else {
            pack(rest, bits, encoded)
        };
    }
}

/// Appends the groups up to the next group of equal numbers. Returns the numbers after these groups. Only the last
/// group may be incomplete.
fn pack<'n>(numbers: &'n [u32], bits: u8, encoded: &mut Vec<u8>) -> &'n [u32] {
    let groups = numbers.chunks(GROUP);
    let groups = groups.take_while(|group| !is_run(group)).count();
    let (packed, rest) = numbers.split_at(numbers.len().min(groups * GROUP));
    length((groups as u64) << 1 | 1, encoded);
    for group in packed.chunks(GROUP) {
        let place =
            |(index, number): (usize, &u32)| u64::from(*number) << (index * usize::from(bits));
        let word = group
            .iter()
            .enumerate()
            .map(place)
            .fold(0, |word, bits| word | bits);
        encoded.extend_from_slice(&word.to_le_bytes()[..usize::from(bits)]);
    }
    rest
}

fn is_run(group: &[u32]) -> bool {
    group.iter().all(|number| *number == group[0])
}

/// Appends a number in seven bits a byte, lowest first (`LEB128`).
fn length(mut number: u64, encoded: &mut Vec<u8>) {
    while 0x7f < number {
        encoded.push((number as u8 & 0x7f) | 0x80);
        number >>= 7;
    }
    encoded.push(number as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(numbers: &[u32], bits: u8) -> Vec<u8> {
        let mut bytes = Vec::new();
        encode(numbers, bits, &mut bytes);
        bytes
    }

    // The second example is that of the specification of the format.
    #[test]
    fn numbers_are_packed_lowest_bits_first() {
        assert_eq!(encoded(&[1, 0, 1, 1, 0, 0, 0, 1], 1), [3, 0b1000_1101]);
        let numbers = [0, 1, 2, 3, 4, 5, 6, 7];
        assert_eq!(
            encoded(&numbers, 3),
            [3, 0b1000_1000, 0b1100_0110, 0b1111_1010]
        );
    }

    #[test]
    fn equal_numbers_are_a_run() {
        assert_eq!(encoded(&[5; 100], 3), [0b1100_1000, 1, 5]);
        assert!(encoded(&[], 3).is_empty());
        let mut numbers = vec![0, 1, 0, 1, 0, 1, 0, 1];
        numbers.extend([1; 9]);
        numbers.extend([0, 1]);
        assert_eq!(encoded(&numbers, 1), [3, 0b1010_1010, 9 << 1, 1, 3, 0b10]);
    }
}
