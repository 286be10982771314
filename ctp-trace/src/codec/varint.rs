//! Numbers and byte strings in a payload: LEB128, zigzag, and length-prefixed bytes.
//!
//! Each `put_` function has a counterpart of the same name in [`Input`].

use crate::error::Malformed;
use crate::format::MAX_NAME_BYTES;

/// Appends `value`, seven bits a byte, lowest first.
#[inline]
pub(crate) fn put_uint(out: &mut Vec<u8>, value: u64) {
    match value {
        ..0x80 => out.push(value as u8),
        _ => put_long(out, value),
    }
}

#[inline(never)]
fn put_long(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends `value` in a form that is short for numbers near zero, positive or negative.
#[inline]
pub(crate) fn put_int(out: &mut Vec<u8>, value: i64) {
    put_uint(out, zigzag(value));
}

/// Appends the length of `bytes`, then `bytes`.
pub(crate) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_uint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

#[inline]
pub(crate) fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

pub(crate) fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// The rest of a payload that is still to be read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Input(bytes)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn byte(&mut self) -> Result<u8, Malformed> {
        let (&first, rest) = self.0.split_first().ok_or(Malformed("it ends too early"))?;
        self.0 = rest;
        Ok(first)
    }

    pub(crate) fn uint(&mut self) -> Result<u64, Malformed> {
        let first = self.byte()?;
        if first < 0x80 {
            Ok(first.into())
        } else {
            self.long_uint(first)
        }
    }

    fn long_uint(&mut self, first: u8) -> Result<u64, Malformed> {
        let mut value = u64::from(first & 0x7f);
        for shift in (7..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                return Err(Malformed("a number is too large"));
            }
            value |= bits << shift;
            if byte == 0 {
                return Err(Malformed("a number is longer than needed"));
            }
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Malformed("a number is too long"))
    }

    pub(crate) fn int(&mut self) -> Result<i64, Malformed> {
        self.uint().map(unzigzag)
    }

    /// A number that has to fit a smaller type.
    pub(crate) fn small<T: TryFrom<u64>>(&mut self) -> Result<T, Malformed> {
        T::try_from(self.uint()?).map_err(|_| Malformed("a number is too large"))
    }

    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let length = self.small()?;
        self.take(length)
    }

    /// Bytes of a name: of a path, a function or a coroutine.
    pub(crate) fn name(&mut self) -> Result<&'a [u8], Malformed> {
        let name = self.bytes()?;
        if MAX_NAME_BYTES < name.len() {
            return Err(Malformed("a name is too long"));
        }
        Ok(name)
    }

    pub(crate) fn string(&mut self) -> Result<String, Malformed> {
        let text = str::from_utf8(self.name()?).map_err(|_| Malformed("a text is not UTF-8"))?;
        Ok(text.to_owned())
    }

    pub(crate) fn take(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self
            .0
            .split_at_checked(length)
            .ok_or(Malformed("it ends too early"))?;
        self.0 = rest;
        Ok(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EDGES: [u64; 9] = [
        0,
        1,
        0x7f,
        0x80,
        0x3fff,
        0x4000,
        u32::MAX as u64,
        i64::MAX as u64,
        u64::MAX,
    ];

    #[test]
    fn every_length_survives() {
        for value in EDGES {
            let mut out = Vec::new();
            put_uint(&mut out, value);
            put_int(&mut out, value as i64);
            let mut input = Input::new(&out);
            assert_eq!(input.uint(), Ok(value));
            assert_eq!(input.int(), Ok(value as i64));
            assert!(input.is_empty());
        }
    }

    #[test]
    fn lengths_are_as_documented() {
        let length = |value| {
            let mut out = Vec::new();
            put_uint(&mut out, value);
            out.len()
        };
        assert_eq!(EDGES.map(length), [1, 1, 1, 2, 2, 3, 5, 9, 10]);
    }

    #[test]
    fn zigzag_puts_small_numbers_first() {
        assert_eq!(
            [0, -1, 1, -2, i64::MAX, i64::MIN].map(zigzag),
            [0, 1, 2, 3, u64::MAX - 1, u64::MAX]
        );
    }

    #[test]
    fn invalid_numbers_are_refused() {
        let refused = |bytes: &[u8]| Input::new(bytes).uint().is_err();
        assert!(refused(&[]));
        assert!(refused(&[0x80]));
        assert!(refused(&[0x80, 0]));
        assert!(refused(&[0xff; 10]));
        assert!(refused(&[
            0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2
        ]));
        assert!(Input::new(&[5, 1, 2]).bytes().is_err());
    }
}
