//! Codecs of the numbers, texts, ids and lists in records.

use std::borrow::Borrow;

use super::fields::Codec;
use super::varint::{Input, put_bytes, put_int, put_uint};
use crate::error::Malformed;
use crate::format::{MAX_ADDRESSES, MAX_ARGUMENT_BYTES, MAX_ARGUMENTS};
use crate::record::{AwaitStackId, CoroutineId, Nanos, ProcessId, SiteId, TaskId};

/// The usual codec of a type.
pub(crate) struct Plain;

/// Encodes the difference from a number that the reader already knows.
pub(crate) struct Near<B>(pub(crate) B);

/// A field that earlier versions did not write. If a record ends before the field, the field has its default
/// value.
pub(crate) struct Added<C>(pub(crate) C);

/// A flag in a number, which leaves room for more flags.
pub(crate) struct FlagNumber;

/// A value after a byte with the type of the record.
pub(crate) struct Tagged(pub(crate) u8);

/// Implements [`Codec`] for a primitive type, by an expression for each direction.
macro_rules! primitive {
    ($($type:ty: |$value:ident, $out:ident| $put:expr, |$input:ident| $get:expr;)*) => {$(
        impl Codec<$type> for Plain {
            fn put(&self, $value: &$type, $out: &mut Vec<u8>) {
                $put;
            }

            fn get(&self, $input: &mut Input) -> Result<$type, Malformed> {
                $get
            }
        }
    )*};
}

primitive! {
    u8: |value, out| out.push(*value), |input| input.byte();
    bool: |value, out| out.push((*value).into()), |input| Ok(input.byte()? & 1 != 0);
    u32: |value, out| put_uint(out, (*value).into()), |input| input.small();
    u64: |value, out| put_uint(out, *value), |input| input.uint();
    i32: |value, out| put_int(out, (*value).into()), |input| signed(input);
    String: |value, out| put_bytes(out, value.as_bytes()), |input| input.string();
    Vec<u8>: |value, out| put_bytes(out, value), |input| Ok(input.name()?.to_vec());
    Vec<u64>: |value, out| put_addresses(value, out), |input| addresses(input);
    Vec<Vec<u8>>: |value, out| put_arguments(value, out), |input| arguments(input);
    [u8; 16]: |value, out| out.extend_from_slice(value), |input| bytes(input);
}

/// Ids and times are encoded as numbers.
macro_rules! newtype {
    ($($type:ident)*) => {$(
        impl Codec<$type> for Plain {
            fn put(&self, value: &$type, out: &mut Vec<u8>) {
                self.put(&value.0, out);
            }

            fn get(&self, input: &mut Input) -> Result<$type, Malformed> {
                self.get(input).map($type)
            }
        }

        impl Codec<$type> for Near<$type> {
            fn put(&self, value: &$type, out: &mut Vec<u8>) {
                Near(self.0.0).put(&value.0, out);
            }

            fn get(&self, input: &mut Input) -> Result<$type, Malformed> {
                Near(self.0.0).get(input).map($type)
            }
        }
    )*};
}

newtype!(Nanos CoroutineId ProcessId SiteId TaskId AwaitStackId);

impl<T> Codec<Box<T>> for Plain
where
    Plain: Codec<T>,
{
    fn put(&self, value: &Box<T>, out: &mut Vec<u8>) {
        self.put(&**value, out);
    }

    fn get(&self, input: &mut Input) -> Result<Box<T>, Malformed> {
        self.get(input).map(Box::new)
    }
}

impl Codec<u32> for Near<u32> {
    fn put(&self, value: &u32, out: &mut Vec<u8>) {
        put_int(out, i64::from(*value) - i64::from(self.0));
    }

    fn get(&self, input: &mut Input) -> Result<u32, Malformed> {
        let sum = i64::from(self.0).checked_add(input.int()?);
        sum.and_then(|sum| u32::try_from(sum).ok())
            .ok_or(Malformed("a number is too large"))
    }
}

impl<B: Borrow<u64>> Codec<u64> for Near<B> {
    fn put(&self, value: &u64, out: &mut Vec<u8>) {
        put_int(out, value.wrapping_sub(*self.0.borrow()) as i64);
    }

    fn get(&self, input: &mut Input) -> Result<u64, Malformed> {
        Ok(self.0.borrow().wrapping_add_signed(input.int()?))
    }
}

impl<T: Default, C: Codec<T>> Codec<T> for Added<C> {
    fn put(&self, value: &T, out: &mut Vec<u8>) {
        self.0.put(value, out);
    }

    fn get(&self, input: &mut Input) -> Result<T, Malformed> {
        if input.is_empty() {
            return Ok(T::default());
        }
        self.0.get(input)
    }
}

impl Codec<bool> for FlagNumber {
    fn put(&self, value: &bool, out: &mut Vec<u8>) {
        put_uint(out, (*value).into());
    }

    fn get(&self, input: &mut Input) -> Result<bool, Malformed> {
        Ok(input.uint()? & 1 != 0)
    }
}

impl<T> Codec<T> for Tagged
where
    Plain: Codec<T>,
{
    fn put(&self, value: &T, out: &mut Vec<u8>) {
        out.push(self.0);
        Plain.put(value, out);
    }

    /// The tag has been read already, to find the type of the record.
    fn get(&self, input: &mut Input) -> Result<T, Malformed> {
        Plain.get(input)
    }
}

fn signed(input: &mut Input) -> Result<i32, Malformed> {
    i32::try_from(input.int()?).map_err(|_| Malformed("a number is too large"))
}

fn bytes<const N: usize>(input: &mut Input) -> Result<[u8; N], Malformed> {
    let mut bytes = [0; N];
    bytes.copy_from_slice(input.take(N)?);
    Ok(bytes)
}

fn put_addresses(addresses: &[u64], out: &mut Vec<u8>) {
    put_uint(out, addresses.len() as u64);
    let mut before = 0u64;
    for address in addresses {
        Near(before).put(address, out);
        before = *address;
    }
}

/// Reads the addresses of a chain. Their number is limited: an address may be a single byte in the file but
/// takes eight in memory.
fn addresses(input: &mut Input) -> Result<Vec<u64>, Malformed> {
    let (mut addresses, mut before) = (Vec::new(), 0u64);
    let count = input.uint()?;
    if MAX_ADDRESSES < count {
        return Err(Malformed("a chain is too long"));
    }
    for _ in 0..count {
        before = Near(before).get(input)?;
        addresses.push(before);
    }
    Ok(addresses)
}

fn put_arguments(arguments: &[Vec<u8>], out: &mut Vec<u8>) {
    put_uint(out, arguments.len() as u64);
    for argument in arguments {
        put_bytes(out, argument);
    }
}

/// Reads the arguments of a command. Their number is limited: an argument may be a single byte in the file but
/// takes many in memory.
fn arguments(input: &mut Input) -> Result<Vec<Vec<u8>>, Malformed> {
    let mut argv = Vec::new();
    let count = input.uint()?;
    if MAX_ARGUMENTS < count {
        return Err(Malformed("it has too many arguments"));
    }
    let mut left_bytes = MAX_ARGUMENT_BYTES;
    for _ in 0..count {
        let argument = input.bytes()?;
        let left = left_bytes.checked_sub(argument.len());
        left_bytes = left.ok_or(Malformed("its arguments are too long"))?;
        argv.push(argument.to_vec());
    }
    Ok(argv)
}
