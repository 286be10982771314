//! The payload of a chunk before compression, and how each of its parts is compressed.

use std::io;

use zstd::bulk::Compressor;
use zstd::zstd_safe::{CParameter, ParamSwitch};

/// The level of zstd compression. On the streams of `tests/size.rs`, level 3 would save less than 2 percent. Level -1
/// would take 7 fewer of 38 instructions an event, and make the file some 15 percent longer.
const LEVEL: i32 = 1;
/// The largest target length that zstd accepts: the step of its search for matches.
const MAX_TARGET_LENGTH: u32 = 1 << 17;
/// Smallest part of a payload that is compressed separately.
const PART_BYTES: usize = 512;

/// The payload of a chunk, in dissimilar parts. Each part is compressed separately, because a single
/// entropy code fits them all badly.
#[derive(Default)]
pub(crate) struct Payload {
    pub(crate) bytes: Vec<u8>,
    /// The end of each part except the last.
    cuts: Vec<(usize, PartKind)>,
}

/// The typical content of a part.
#[derive(Clone, Copy)]
pub(crate) enum PartKind {
    /// Contains many repeated sequences.
    Text,
    /// Some bytes are more frequent than others, but sequences do not repeat.
    Noise,
}

impl Payload {
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.cuts.clear();
    }

    /// Ends a part of this kind. Small parts are merged with the next, because each part costs a header.
    pub(crate) fn cut(&mut self, kind: PartKind) {
        let before = self.cuts.last().map_or(0, |(end, _)| *end);
        if self.bytes.len() - before >= PART_BYTES {
            self.cuts.push((self.bytes.len(), kind));
        }
    }

    pub(crate) fn parts(&self) -> impl Iterator<Item = (&[u8], PartKind)> {
        let last = (self.bytes.len(), PartKind::Text);
        let mut begin = 0;
        let ends = self.cuts.iter().copied().chain([last]);
        let parts = ends
            .map(move |(end, kind)| (&self.bytes[std::mem::replace(&mut begin, end)..end], kind));
        parts.filter(|(part, _)| !part.is_empty())
    }
}

/// Compresses the parts of payloads.
pub(crate) trait Compress: Send + Sync {
    /// Compresses a part into `out`. Returns its compressed length. Fails if `out` is too short.
    fn compress(&mut self, part: &[u8], kind: PartKind, out: &mut [u8]) -> io::Result<usize>;
}

/// A compressor for each kind of part.
pub(crate) struct Compressors {
    text: Compressor<'static>,
    noise: Compressor<'static>,
    /// Whether the latest trial confirmed that `Noise` parts are noise.
    is_noise: bool,
    /// Parts until the next trial.
    until_trial: u32,
}

/// Number of parts from one trial to the next.
const PARTS_PER_TRIAL: u32 = 16;

impl Compressors {
    pub(crate) fn new() -> io::Result<Self> {
        let mut noise = Compressor::new(LEVEL)?;
        // The search for matches dominates the time and finds only random matches in noise. A large target
        // length disables most of the search; the bytes still get a Huffman code.
        noise.set_parameter(CParameter::TargetLength(MAX_TARGET_LENGTH))?;
        noise.set_parameter(CParameter::LiteralCompressionMode(ParamSwitch::Enable))?;
        Ok(Compressors {
            text: Compressor::new(LEVEL)?,
            noise,
            is_noise: true,
            until_trial: 0,
        })
    }

    /// Whether a search for matches would save at most a quarter of the bytes. A trial decides this from
    /// time to time, because timestamps are not noise if the clock is coarse or the program only uses
    /// timers.
    fn is_noise(&mut self, part: &[u8], out: &mut [u8]) -> bool {
        if self.until_trial == 0 {
            self.until_trial = PARTS_PER_TRIAL;
            let both = [&mut self.text, &mut self.noise];
            let [text, noise] = both.map(|compressor| compressor.compress_to_buffer(part, out));
            let [text, noise] = [text, noise].map(|length| length.unwrap_or(part.len()));
            self.is_noise = noise - noise / 4 <= text;
        }
        self.until_trial -= 1;
        self.is_noise
    }
}

impl Compress for Compressors {
    fn compress(&mut self, part: &[u8], kind: PartKind, out: &mut [u8]) -> io::Result<usize> {
        match kind {
            PartKind::Noise if self.is_noise(part, out) => self.noise.compress_to_buffer(part, out),
            _ => self.text.compress_to_buffer(part, out),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: usize = 16_384;

    /// Steps between times: irregular, or of a program that is driven by timers.
    fn steps(is_noise: bool) -> Vec<u8> {
        let numbers = std::iter::successors(Some(1), |random: &u64| {
            Some(random.wrapping_mul(6364136223846793005).wrapping_add(1))
        })
        .take(BYTES);
        if is_noise {
            numbers.map(|random: u64| (random >> 61) as u8).collect()
        } else {
            (0..BYTES).map(|n| n as u8 % 7 * 30).collect()
        }
    }

    #[test]
    fn regular_data_is_not_compressed_as_noise() {
        let mut compressors = Compressors::new().expect("there is memory");
        let mut room = vec![0; BYTES];
        let mut length = |part: &[u8], sort| {
            compressors
                .compress(part, sort, &mut room)
                .expect("it shrinks")
        };
        let (noise, regular) = (steps(true), steps(false));
        let least = length(&regular, PartKind::Text);
        assert_eq!(length(&regular, PartKind::Noise), least);
        let of_noise: Vec<_> = (0..PARTS_PER_TRIAL)
            .map(|_| length(&noise, PartKind::Noise))
            .collect();
        let of_regular: Vec<_> = (0..PARTS_PER_TRIAL)
            .map(|_| length(&regular, PartKind::Noise))
            .collect();
        let searched = length(&noise, PartKind::Text);
        assert_eq!(of_noise[0], searched, "it goes by what was there before");
        assert!(of_noise.last().is_some_and(|length| *length < searched));
        assert_eq!(of_regular.last(), Some(&least));
    }
}
