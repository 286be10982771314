//! Memory as programs have it: blocks of several sizes, half of whose words are addresses of others.

const BYTES: usize = 64 << 20;
/// Words of the blocks, in turn.
const SIZES: [usize; 6] = [6, 12, 30, 62, 126, 510];

/// Allocates and fills the blocks.
pub fn fill() -> Vec<Box<[u64]>> {
    let mut blocks: Vec<Box<[u64]>> = Vec::new();
    let mut bytes = 0;
    let mut random: u64 = 1;
    for words in SIZES.into_iter().cycle() {
        if BYTES <= bytes {
            break;
        }
        let mut block = vec![0; words].into_boxed_slice();
        for word in &mut block {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            *word = word_of(random, &blocks);
        }
        bytes += 8 * words;
        blocks.push(block);
    }
    blocks
}

fn word_of(random: u64, blocks: &[Box<[u64]>]) -> u64 {
    let index = (random >> 33) as usize;
    let other = index.checked_rem(blocks.len()).map(|index| &blocks[index]);
    match other {
        Some(block) if random & (1 << 32) == 0 => block.as_ptr() as u64,
        _ => random >> 16,
    }
}
