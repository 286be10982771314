//! Codecs of optional values, pairs and lists.

use super::fields::Codec;
use super::plain::Plain;
use super::varint::{Input, put_bytes, put_uint};
use crate::error::Malformed;
use crate::format::{MAX_ENTRIES, MAX_IDS};

/// A list of entries, each preceded by its length, so that later versions can add fields to an entry.
pub(super) struct Entries;

/// A list of numbers or texts. Later versions cannot add fields to its entries.
pub(super) struct Ids;

/// A byte, 0 or 1, then the value in case of 1.
impl<T> Codec<Option<T>> for Plain
where
    Plain: Codec<T>,
{
    fn put(&self, value: &Option<T>, out: &mut Vec<u8>) {
        out.push(value.is_some().into());
        value.iter().for_each(|value| self.put(value, out));
    }

    fn get(&self, input: &mut Input) -> Result<Option<T>, Malformed> {
        let is_some = input.byte()? & 1 != 0;
        is_some.then(|| self.get(input)).transpose()
    }
}

impl<A, B> Codec<(A, B)> for Plain
where
    Plain: Codec<A> + Codec<B>,
{
    fn put(&self, (first, second): &(A, B), out: &mut Vec<u8>) {
        self.put(first, out);
        self.put(second, out);
    }

    fn get(&self, input: &mut Input) -> Result<(A, B), Malformed> {
        Ok((self.get(input)?, self.get(input)?))
    }
}

impl<T> Codec<Vec<T>> for Entries
where
    Plain: Codec<T>,
{
    fn put(&self, entries: &Vec<T>, out: &mut Vec<u8>) {
        put_uint(out, entries.len() as u64);
        let mut bytes = Vec::new();
        for entry in entries {
            bytes.clear();
            Plain.put(entry, &mut bytes);
            put_bytes(out, &bytes);
        }
    }

    fn get(&self, input: &mut Input) -> Result<Vec<T>, Malformed> {
        let count = count(input, MAX_ENTRIES)?;
        let entries = (0..count).map(|_| Plain.get(&mut Input::new(input.bytes()?)));
        entries.collect()
    }
}

impl<T> Codec<Vec<T>> for Ids
where
    Plain: Codec<T>,
{
    fn put(&self, ids: &Vec<T>, out: &mut Vec<u8>) {
        put_uint(out, ids.len() as u64);
        ids.iter().for_each(|id| Plain.put(id, out));
    }

    fn get(&self, input: &mut Input) -> Result<Vec<T>, Malformed> {
        let count = count(input, MAX_IDS)?;
        (0..count).map(|_| Plain.get(input)).collect()
    }
}

/// Reads the length of a list. Longer lists than `limit` are refused: an entry may be a single byte in
/// the file but takes many in memory.
fn count(input: &mut Input, limit: u64) -> Result<u64, Malformed> {
    let count = input.uint()?;
    if limit < count {
        return Err(Malformed("a list is too long"));
    }
    Ok(count)
}
