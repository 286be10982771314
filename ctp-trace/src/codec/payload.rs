//! What a chunk holds until it is compressed, and how each part of that is.

use std::io;

use zstd::bulk::Compressor;
use zstd::zstd_safe::{CParameter, ParamSwitch};

/// On the streams of `tests/size.rs` level 3 saves less than 2 percent.
const LEVEL: i32 = 1;
/// The most that there is.
const MOST_AT_A_STEP: u32 = 1 << 17;
/// Smallest part of a payload that is compressed alone.
const PART_BYTES: usize = 512;

/// What a chunk is to hold, in parts that are unlike each other: each is compressed alone, for a
/// compressor that has to find one code for all of them does worse.
#[derive(Default)]
pub(crate) struct Payload {
    pub(crate) bytes: Vec<u8>,
    /// Where each part ends, but for the last one.
    cuts: Vec<(usize, Sort)>,
}

/// What a part is like, most often.
#[derive(Clone, Copy)]
pub(crate) enum Sort {
    /// In it much comes again.
    Text,
    /// Some bytes are more frequent than others, and that is all.
    Noise,
}

impl Payload {
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.cuts.clear();
    }

    /// Says that what comes is unlike what was, which is of this sort. Small parts stay together, for each
    /// costs a header.
    pub(crate) fn cut(&mut self, sort: Sort) {
        let before = self.cuts.last().map_or(0, |(end, _)| *end);
        if self.bytes.len() - before >= PART_BYTES {
            self.cuts.push((self.bytes.len(), sort));
        }
    }

    pub(crate) fn parts(&self) -> impl Iterator<Item = (&[u8], Sort)> {
        let last = (self.bytes.len(), Sort::Text);
        let mut begin = 0;
        let part = move |(end, sort)| (&self.bytes[std::mem::replace(&mut begin, end)..end], sort);
        let parts = self.cuts.iter().copied().chain([last]).map(part);
        parts.filter(|(part, _)| !part.is_empty())
    }
}

/// One for each sort of parts.
pub(crate) struct Compressors {
    text: Compressor<'static>,
    noise: Compressor<'static>,
    /// What should be noise, is it?
    is_noise: bool,
    /// Parts until that is asked again.
    until_trial: u32,
}

/// So often it is asked, in parts.
const A_TRIAL: u32 = 16;

impl Compressors {
    pub(crate) fn new() -> io::Result<Self> {
        let mut noise = Compressor::new(LEVEL)?;
        // To look for what comes again takes most of the time, and what it finds there is by chance. So it
        // looks at one place in so many bytes, and the rest has a Huffman code.
        noise.set_parameter(CParameter::TargetLength(MOST_AT_A_STEP))?;
        noise.set_parameter(CParameter::LiteralCompressionMode(ParamSwitch::Enable))?;
        Ok(Compressors {
            text: Compressor::new(LEVEL)?,
            noise,
            is_noise: true,
            until_trial: 0,
        })
    }

    /// Puts it at the beginning of `out`; gives how long it is there. Fails for want of room.
    pub(crate) fn compress(
        &mut self,
        part: &[u8],
        sort: Sort,
        out: &mut [u8],
    ) -> io::Result<usize> {
        match sort {
            Sort::Noise if self.is_noise(part, out) => self.noise.compress_to_buffer(part, out),
            _ => self.text.compress_to_buffer(part, out),
        }
    }

    /// Would a quarter of it at most be saved by a search for what comes again? It is tried now and then:
    /// a coarse clock, or nothing but timers, make times that are no noise.
    fn is_noise(&mut self, part: &[u8], out: &mut [u8]) -> bool {
        if self.until_trial == 0 {
            self.until_trial = A_TRIAL;
            let both = [&mut self.text, &mut self.noise];
            let [text, noise] = both.map(|compressor| compressor.compress_to_buffer(part, out));
            let [text, noise] = [text, noise].map(|length| length.unwrap_or(part.len()));
            self.is_noise = noise - noise / 4 <= text;
        }
        self.until_trial -= 1;
        self.is_noise
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: usize = 16_384;

    /// Steps of times in a program that does something else at each, and in one that goes round by timers.
    fn steps(is_noise: bool) -> Vec<u8> {
        let next = |random: &u64| Some(random.wrapping_mul(6364136223846793005).wrapping_add(1));
        let numbers = std::iter::successors(Some(1), next).take(BYTES);
        match is_noise {
            true => numbers.map(|random: u64| (random >> 61) as u8).collect(),
            false => (0..BYTES).map(|n| n as u8 % 7 * 30).collect(),
        }
    }

    #[test]
    fn what_is_no_noise_after_all_is_searched_for_what_comes_again() {
        let mut compressors = Compressors::new().expect("there is memory");
        let mut room = vec![0; BYTES];
        let mut length = |part: &[u8], sort| {
            compressors
                .compress(part, sort, &mut room)
                .expect("it shrinks")
        };
        let (noise, regular) = (steps(true), steps(false));
        let least = length(&regular, Sort::Text);
        assert_eq!(length(&regular, Sort::Noise), least);
        let of_noise: Vec<_> = (0..A_TRIAL).map(|_| length(&noise, Sort::Noise)).collect();
        let of_regular: Vec<_> = (0..A_TRIAL)
            .map(|_| length(&regular, Sort::Noise))
            .collect();
        let searched = length(&noise, Sort::Text);
        assert_eq!(of_noise[0], searched, "it goes by what was there before");
        assert!(of_noise.last().is_some_and(|length| *length < searched));
        assert_eq!(of_regular.last(), Some(&least));
    }
}
