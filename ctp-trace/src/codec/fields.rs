//! The encoding of values, described once for both directions.
//!
//! The macros turn a list of fields or variants into an implementation of [`Codec`]. Numbers, text and
//! ids are encoded by [`Plain`](super::plain::Plain), unless the list names another codec after `as`.

use super::varint::Input;
use crate::error::Malformed;

/// Encodes and decodes values of type `T`.
pub(crate) trait Codec<T> {
    fn put(&self, value: &T, out: &mut Vec<u8>);
    fn get(&self, input: &mut Input) -> Result<T, Malformed>;
}

/// Implements [`Codec`] for a struct, by its fields in the order of the file.
///
/// - `field as codec` uses another codec than `Plain`. The codec may refer to earlier fields.
/// - `[a, b, c]` packs flags into a byte, the first in the lowest bit.
/// - `later { … }` lists fields that earlier versions did not write. Trailing fields with their default
///   value are left out.
/// - `by Type as name` implements another codec than `Plain`; the list refers to it as `name`.
macro_rules! fields {
    ($type:ident $fields:tt $(later $later:tt)?) => {
        fields!($type by Plain as _plain $fields $(later $later)?);
    };
    (
        $type:ident by $codec:ty as $this:ident {
            $($([$($flag:ident),+])? $($field:ident $(as $of_field:expr)?)?),*
        }
        $(later { $($later:ident $(as $of_later:expr)?),* $(,)? })?
    ) => {
        impl Codec<$type> for $codec {
            fn put(&self, value: &$type, out: &mut Vec<u8>) {
                let $this = self;
                let $type { $($($($flag,)+)? $($field,)?)* $($($later,)*)? } = value;
                $(
                    $(put_flags([$(*$flag),+], out);)?
                    $(codec_of!($($of_field)?).put($field, out);)?
                )*
                $(
                    let mut needed_bytes = out.len();
                    $(
                        codec_of!($($of_later)?).put($later, out);
                        if *$later != default_like($later) {
                            needed_bytes = out.len();
                        }
                    )*
                    out.truncate(needed_bytes);
                )?
            }

            fn get(&self, input: &mut Input) -> Result<$type, Malformed> {
                let $this = self;
                $(
                    $(let [$($flag),+] = get_flags(input)?;)?
                    $(let $field = codec_of!($($of_field)?).get(input)?;)?
                )*
                $($(let $later = Added(codec_of!($($of_later)?)).get(input)?;)*)?
                Ok($type { $($($($flag,)+)? $($field,)?)* $($($later,)*)? })
            }
        }
    };
}

macro_rules! codec_of {
    () => {
        Plain
    };
    ($codec:expr) => {
        $codec
    };
}

/// Implements [`Codec`] for an enum, by the byte of each variant. `else` gives the result for other
/// bytes.
macro_rules! codes {
    ($type:ident { $($code:literal => $variant:ident),* $(,)? } else $unknown:expr) => {
        impl $type {
            /// The byte of the variant in the file.
            #[inline]
            pub(crate) fn code(self) -> u8 {
                match self { $($type::$variant => $code,)* }
            }

            /// The variant of this byte, if known.
            pub(crate) fn of_code(code: u8) -> Option<Self> {
                match code {
                    $($code => Some($type::$variant),)*
                    _ => None,
                }
            }
        }

        impl Codec<$type> for Plain {
            fn put(&self, value: &$type, out: &mut Vec<u8>) {
                out.push(value.code());
            }

            fn get(&self, input: &mut Input) -> Result<$type, Malformed> {
                $type::of_code(input.byte()?).ok_or(()).or_else(|()| $unknown)
            }
        }
    };
}

/// Like `codes`, with a number after the byte: 0 for a variant without a number.
macro_rules! numbered_codes {
    (
        $type:ident of $number:ty { $($code:literal => $variant:ident $(($name:ident))?),* $(,)? }
        else $unknown:expr
    ) => {
        impl Codec<$type> for Plain {
            fn put(&self, value: &$type, out: &mut Vec<u8>) {
                let (code, number): (u8, $number) = match *value {
                    $($type::$variant $(($name))? => ($code, 0 $(+ $name)?),)*
                };
                out.push(code);
                Plain.put(&number, out);
            }

            fn get(&self, input: &mut Input) -> Result<$type, Malformed> {
                let (code, number): (u8, $number) = (input.byte()?, Plain.get(input)?);
                match code {
                    $($code => Ok($type::$variant $(({ let $name = number; $name }))?),)*
                    _ => $unknown,
                }
            }
        }
    };
}

/// Implements [`Codec`] for an enum: a byte for the variant, then its fields.
macro_rules! variants {
    (
        $type:ident {
            $($code:literal => $variant:ident { $($field:tt: $name:ident),* }),* $(,)?
        }
        else $unknown:expr
    ) => {
        impl Codec<$type> for Plain {
            fn put(&self, value: &$type, out: &mut Vec<u8>) {
                match value {
                    $($type::$variant { $($field: $name),* } => {
                        out.push($code);
                        $(Plain.put($name, out);)*
                    })*
                }
            }

            fn get(&self, input: &mut Input) -> Result<$type, Malformed> {
                match input.byte()? {
                    $($code => Ok($type::$variant { $($field: Plain.get(input)?),* }),)*
                    _ => $unknown,
                }
            }
        }
    };
}

pub(super) use {codec_of, codes, fields, numbered_codes, variants};

/// The default value of the type of `_value`.
pub(super) fn default_like<T: Default>(_value: &T) -> T {
    T::default()
}

pub(super) fn put_flags<const N: usize>(flags: [bool; N], out: &mut Vec<u8>) {
    let bits = flags.iter().rev();
    out.push(bits.fold(0, |byte, flag| byte << 1 | u8::from(*flag)));
}

pub(super) fn get_flags<const N: usize>(input: &mut Input) -> Result<[bool; N], Malformed> {
    let byte = input.byte()?;
    Ok(std::array::from_fn(|bit| byte >> bit & 1 != 0))
}
