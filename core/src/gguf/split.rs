//! Split sets: a model in several files, named `PREFIX-00001-of-00003.gguf`.
//!
//! The number in a name counts from 1, the key `split.no` from 0; `split.count` and
//! `split.tensors.count` (over all files) stand in every shard, the model's own keys in the first
//! alone. [`Set`] takes the shards in any order, each with its name and keys, and tells what does
//! not agree and which are missing.
//!
//! ```
//! use rocload_core::gguf::split::{Key, Set, Shard, ShardName};
//!
//! let name = ShardName::parse(b"tiny-00002-of-00003.gguf").unwrap();
//! assert_eq!((name.prefix, name.number, name.count), (&b"tiny"[..], 2, 3));
//!
//! let mut set = Set::new(name, [0u8; 16])?;
//! let keys = |no| Shard { no: Key::Is(no), count: Key::Is(3), all_tensors: Key::Is(21), tensors: 7 };
//! set.add(name, &keys(1))?;
//! set.add(name.sibling(3), &keys(2))?;
//! assert_eq!(set.missing().collect::<Vec<_>>(), [1]);
//! assert_eq!(name.sibling(1).to_string(), "tiny-00001-of-00003.gguf");
//! # Ok::<(), rocload_core::gguf::split::Fault>(())
//! ```
//!
//! Source: llama.cpp's build 11434 (`llama.cpp`, `llama-model-loader.cpp`, `tools/gguf-split`).

use core::fmt;

use crate::need::Storage;

/// The most shards in a set: `split.count` is a 16-bit number.
pub const MAX_SHARDS: u32 = 65_535;

/// A shard's file name, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ShardName<'a> {
    /// What stands before the number.
    pub prefix: &'a [u8],
    /// From 1 to `count`.
    pub number: u32,
    /// How many shards there are; at least 1.
    pub count: u32,
}

impl<'a> ShardName<'a> {
    /// Takes a file name apart; `None` = it is no shard's. The numbers have five digits, or more
    /// where they need them; the suffix must be last.
    pub fn parse(file_name: &'a [u8]) -> Option<Self> {
        let stem = file_name.strip_suffix(b".gguf")?;
        let (stem, count) = number_at_end(stem)?;
        let (prefix, number) = number_at_end(stem.strip_suffix(b"-of-")?)?;
        let prefix = prefix.strip_suffix(b"-")?;
        let fits = !prefix.is_empty() && (1..=count).contains(&number) && count <= MAX_SHARDS;
        fits.then_some(ShardName { prefix, number, count })
    }

    /// The name of another shard of the set.
    #[must_use]
    pub const fn sibling(self, number: u32) -> Self {
        ShardName { number, ..self }
    }

    /// What follows the prefix, in memory of its own: `-00002-of-00003.gguf`.
    pub fn suffix(self) -> Suffix {
        Suffix { number: self.number, count: self.count }
    }

    /// Both are shards of one set.
    pub fn same_set(self, other: ShardName<'_>) -> bool {
        self.prefix == other.prefix && self.count == other.count
    }
}

impl fmt::Display for ShardName<'_> {
    /// The file name; bytes of the prefix that are not UTF-8 as U+FFFD.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.prefix.utf8_chunks() {
            f.write_str(chunk.valid())?;
            if !chunk.invalid().is_empty() {
                f.write_str("\u{fffd}")?;
            }
        }
        self.suffix().fmt(f)
    }
}

/// The end of a shard's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Suffix {
    number: u32,
    count: u32,
}

impl fmt::Display for Suffix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "-{:05}-of-{:05}.gguf", self.number, self.count)
    }
}

/// Splits off a number as `%05d` prints it: five digits, or more without leading zeros.
fn number_at_end(text: &[u8]) -> Option<(&[u8], u32)> {
    let digits = text.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let (rest, number) = text.split_at(text.len() - digits);
    // A prefix that ends in digits is parted from the number by a sign.
    if digits < 5 || (digits > 5 && number[0] == b'0') || digits > 9 {
        return None;
    }
    let number = number.iter().fold(0, |sum, digit| sum * 10 + u32::from(digit - b'0'));
    Some((rest, number))
}

/// What a file has under a key that should hold a whole number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Key {
    /// Nothing.
    #[default]
    Absent,
    /// A number, stored as any integer type.
    Is(u64),
    /// A negative number, or no number at all.
    Wrong,
}

/// The keys of one file that concern its set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Shard {
    /// `split.no`, from 0.
    pub no: Key,
    /// `split.count`.
    pub count: Key,
    /// `split.tensors.count`, over all shards.
    pub all_tensors: Key,
    /// The tensors in this file.
    pub tensors: u64,
}

impl Shard {
    /// How many files the set has by the keys of this one, whatever its name: 1 when the file
    /// stands alone.
    ///
    /// # Errors
    /// A key of the wrong type, a count of 0, or a number beyond the count.
    pub fn files(&self) -> Result<u32, Fault> {
        let (no, all) = match (self.no, self.count, self.all_tensors) {
            (Key::Absent, Key::Absent, Key::Absent) => return Ok(1),
            (Key::Wrong, ..) => return Err(Fault::WrongType("split.no")),
            (_, Key::Wrong, _) => return Err(Fault::WrongType("split.count")),
            (.., Key::Wrong) => return Err(Fault::WrongType("split.tensors.count")),
            (no, _, all) => (no, all),
        };
        let Key::Is(count) = self.count else { return Err(Fault::NoKey("split.count")) };
        if count == 0 {
            return Err(Fault::CountZero);
        }
        let count = match u32::try_from(count) {
            Ok(count) if count <= MAX_SHARDS => count,
            _ => return Err(Fault::TooMany { count }),
        };
        if count == 1 {
            // A set of one: what it has of tensors is all there are.
            if let Key::Is(all) = all
                && all != self.tensors
            {
                return Err(Fault::Tensors { said: all, found: self.tensors });
            }
        }
        match no {
            Key::Is(no) if no >= u64::from(count) => Err(Fault::NumberBeyond { no, count }),
            Key::Absent if count > 1 => Err(Fault::NoKey("split.no")),
            _ => Ok(count),
        }
    }
}

/// What is wrong with a set or with one shard of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// A key holds something that is no whole number.
    WrongType(&'static str),
    /// A key is absent.
    NoKey(&'static str),
    /// `split.count` is 0: the placeholder that a writer fills in at the end.
    CountZero,
    /// More shards than [`MAX_SHARDS`].
    TooMany {
        /// `split.count`.
        count: u64,
    },
    /// `split.no` is no number of this set.
    NumberBeyond {
        /// `split.no`.
        no: u64,
        /// `split.count`.
        count: u32,
    },
    /// The keys say that there are several files, and the name is no shard's.
    Name {
        /// `split.count`.
        count: u32,
    },
    /// The name has one number and the key another.
    NumberDiffers {
        /// By the name, from 1.
        name: u32,
        /// By the key, from 1.
        key: u64,
    },
    /// The name says one count and the key another.
    CountDiffers {
        /// By the name.
        name: u32,
        /// By the key.
        key: u32,
    },
    /// The file belongs to another set by its name.
    OtherSet,
    /// This number was there already.
    Twice {
        /// From 1.
        number: u32,
    },
    /// Two shards say different things of `split.tensors.count`.
    AllTensorsDiffer {
        /// What the first one says.
        first: u64,
        /// What this one says.
        this: u64,
    },
    /// The shards have another number of tensors than `split.tensors.count` says.
    Tensors {
        /// By the key.
        said: u64,
        /// In the files.
        found: u64,
    },
    /// A tensor's name stands in another shard too.
    TensorTwice {
        /// Its place in the table of this shard, from 0.
        tensor: u32,
        /// The other shard, from 1.
        shard: u32,
    },
    /// The shards have more tensors than are looked at.
    TooManyTensors {
        /// How many at most.
        limit: u32,
    },
    /// The caller's memory is too small for so many shards.
    Full {
        /// Bytes that would do.
        need: usize,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::WrongType(key) => write!(f, "{key} is not a whole number"),
            Fault::NoKey(key) => write!(f, "{key} is absent in a shard"),
            Fault::CountZero => f.write_str("split.count is 0: its writer did not finish"),
            Fault::TooMany { count } => {
                write!(f, "split.count is {count}, over the limit of {MAX_SHARDS}")
            }
            Fault::NumberBeyond { no, count } => {
                write!(f, "split.no is {no} (from 0), and split.count only {count}")
            }
            Fault::Name { count } => {
                write!(
                    f,
                    "it is one of {count} shards, and its name does not end in -NNNNN-of-{count:05}.gguf"
                )
            }
            Fault::NumberDiffers { name, key } => {
                write!(f, "it is named shard {name} and is shard {key} by split.no")
            }
            Fault::CountDiffers { name, key } => {
                write!(f, "its name says {name} shards and split.count {key}")
            }
            Fault::OtherSet => f.write_str("it belongs to another set of shards"),
            Fault::Twice { number } => write!(f, "shard {number} is there twice"),
            Fault::AllTensorsDiffer { first, this } => {
                write!(f, "split.tensors.count is {this} here and {first} in another shard")
            }
            Fault::Tensors { said, found } => {
                write!(f, "split.tensors.count is {said}, and there are {found} tensors")
            }
            Fault::TensorTwice { tensor, shard } => {
                write!(f, "its tensor {tensor} has the name of one in shard {shard}")
            }
            Fault::TooManyTensors { limit } => {
                write!(f, "the shards up to this one have over {limit} tensors, the limit")
            }
            Fault::Full { need } => {
                write!(f, "memory of {need} bytes is needed for so many shards")
            }
        }
    }
}

impl core::error::Error for Fault {}

/// Checks the name of a file against its keys; `None` as name = it is no shard's. Returns the
/// number of files in its set.
///
/// # Errors
/// Those of [`Shard::files`], and a name that the keys do not agree with.
pub fn check_one(name: Option<ShardName<'_>>, shard: &Shard) -> Result<u32, Fault> {
    let files = shard.files()?;
    let Some(name) = name else {
        return if files > 1 { Err(Fault::Name { count: files }) } else { Ok(1) };
    };
    if shard.count == Key::Absent {
        // Named as a shard without being one.
        return if name.count > 1 { Err(Fault::NoKey("split.count")) } else { Ok(1) };
    }
    if name.count != files {
        return Err(Fault::CountDiffers { name: name.count, key: files });
    }
    match shard.no {
        Key::Is(no) if no + 1 != u64::from(name.number) => {
            Err(Fault::NumberDiffers { name: name.number, key: no + 1 })
        }
        _ => Ok(files),
    }
}

/// A set of shards as it is gathered: one bit for each in memory that the caller lends.
#[derive(Debug, Clone)]
pub struct Set<'a, S> {
    name: ShardName<'a>,
    seen: S,
    found: u32,
    tensors: u64,
    all_tensors: Option<u64>,
}

impl<'a, S: Storage> Set<'a, S> {
    /// An empty set, by the name of any shard of it. `seen` must have or grow to one bit a shard:
    /// 8 KiB do for every set.
    ///
    /// # Errors
    /// [`Fault::TooMany`], and [`Fault::Full`] when the memory is too small.
    pub fn new(name: ShardName<'a>, mut seen: S) -> Result<Self, Fault> {
        if name.count > MAX_SHARDS {
            return Err(Fault::TooMany { count: name.count.into() });
        }
        // 65,535 bits are 8,192 bytes.
        let need = name.count.div_ceil(8) as usize;
        if !seen.grow(need) {
            return Err(Fault::Full { need });
        }
        seen.slots_mut()[..need].fill(0);
        Ok(Set { name, seen, found: 0, tensors: 0, all_tensors: None })
    }

    /// Takes a shard in. One that is at fault is not counted, and the set can go on.
    ///
    /// # Errors
    /// What does not agree, as in [`check_one`] and with the shards before.
    pub fn add(&mut self, name: ShardName<'_>, shard: &Shard) -> Result<(), Fault> {
        if !self.name.same_set(name) || !(1..=self.name.count).contains(&name.number) {
            return Err(Fault::OtherSet);
        }
        check_one(Some(name), shard)?;
        if self.has(name.number) {
            return Err(Fault::Twice { number: name.number });
        }
        if let Key::Is(this) = shard.all_tensors {
            match self.all_tensors {
                Some(first) if first != this => {
                    return Err(Fault::AllTensorsDiffer { first, this });
                }
                _ => self.all_tensors = Some(this),
            }
        }
        let bit = name.number - 1;
        self.seen.slots_mut()[(bit / 8) as usize] |= 1 << (bit % 8);
        self.found += 1;
        self.tensors = self.tensors.saturating_add(shard.tensors);
        Ok(())
    }

    /// The shard of this number, from 1, was taken in.
    pub fn has(&self, number: u32) -> bool {
        let bit = number.wrapping_sub(1);
        bit < self.name.count && self.seen.slots()[(bit / 8) as usize] >> (bit % 8) & 1 == 1
    }

    /// Numbers, from 1, of the shards that were not taken in.
    pub fn missing(&self) -> impl Iterator<Item = u32> {
        (1..=self.name.count).filter(|&number| !self.has(number))
    }

    /// All shards were taken in.
    pub fn is_complete(&self) -> bool {
        self.found == self.name.count
    }

    /// Checks the whole of a complete set.
    ///
    /// # Errors
    /// [`Fault::Tensors`] when the shards have more or fewer tensors than they say. Of a set that
    /// is not complete nothing can be said.
    pub fn finish(&self) -> Result<(), Fault> {
        match self.all_tensors {
            Some(said) if self.is_complete() && said != self.tensors => {
                Err(Fault::Tensors { said, found: self.tensors })
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use alloc::vec::Vec;

    fn parsed(name: &str) -> Option<(Vec<u8>, u32, u32)> {
        ShardName::parse(name.as_bytes()).map(|n| (n.prefix.to_vec(), n.number, n.count))
    }

    #[test]
    fn names() {
        assert_eq!(parsed("a-00001-of-00002.gguf"), Some((b"a".to_vec(), 1, 2)));
        assert_eq!(parsed("a-1-00002-of-00002.gguf"), Some((b"a-1".to_vec(), 2, 2)));
        assert_eq!(parsed("a-00001-of-00001.gguf"), Some((b"a".to_vec(), 1, 1)));
        for wrong in [
            "a.gguf",
            "-00001-of-00002.gguf",
            "a-00000-of-00002.gguf",
            "a-00003-of-00002.gguf",
            "a-1-of-2.gguf",
            "a-000001-of-00002.gguf",
            "a-00001-of-99999.gguf",
            "a-00001-of-4294967297.gguf",
            "a-00001-of-00002.gguf.part",
            "a-00001-of-00002-Q4.gguf",
            "a-00001-of-00002.GGUF",
            "a00001-of-00002.gguf",
            "a-00001of-00002.gguf",
            "",
        ] {
            assert_eq!(parsed(wrong), None, "{wrong}");
        }
    }

    const NAME: ShardName<'_> = ShardName { prefix: b"a", number: 1, count: 3 };

    fn keys(no: u64) -> Shard {
        Shard { no: Key::Is(no), count: Key::Is(3), all_tensors: Key::Is(9), tensors: 3 }
    }

    #[test]
    fn a_set_in_any_order() {
        let mut set = Set::new(NAME, [0xff; 1]).unwrap();
        assert_eq!(set.missing().collect::<Vec<_>>(), [1, 2, 3]);
        set.add(NAME.sibling(3), &keys(2)).unwrap();
        set.add(NAME.sibling(1), &keys(0)).unwrap();
        assert_eq!(set.add(NAME.sibling(1), &keys(0)), Err(Fault::Twice { number: 1 }));
        assert_eq!(set.missing().collect::<Vec<_>>(), [2]);
        assert_eq!(set.finish(), Ok(()), "not complete");
        let other = Shard { all_tensors: Key::Is(8), ..keys(1) };
        assert_eq!(
            set.add(NAME.sibling(2), &other),
            Err(Fault::AllTensorsDiffer { first: 9, this: 8 })
        );
        set.add(NAME.sibling(2), &keys(1)).unwrap();
        assert!(set.is_complete());
        assert_eq!(set.finish(), Ok(()));
    }

    #[test]
    fn what_does_not_agree() {
        let mut set = Set::new(NAME, [0; 1]).unwrap();
        let other = ShardName { prefix: b"b", ..NAME };
        assert_eq!(set.add(other, &keys(0)), Err(Fault::OtherSet));
        assert_eq!(set.add(NAME.sibling(4), &keys(0)), Err(Fault::OtherSet));
        let cases = [
            (keys(1), Fault::NumberDiffers { name: 1, key: 2 }),
            (keys(3), Fault::NumberBeyond { no: 3, count: 3 }),
            (Shard { no: Key::Wrong, ..keys(0) }, Fault::WrongType("split.no")),
            (Shard { no: Key::Absent, ..keys(0) }, Fault::NoKey("split.no")),
            (Shard { count: Key::Is(0), ..keys(0) }, Fault::CountZero),
            (Shard { count: Key::Is(4), ..keys(0) }, Fault::CountDiffers { name: 3, key: 4 }),
            (Shard { count: Key::Is(1 << 40), ..keys(0) }, Fault::TooMany { count: 1 << 40 }),
            (Shard { count: Key::Absent, ..keys(0) }, Fault::NoKey("split.count")),
            (Shard { tensors: 3, ..Shard::default() }, Fault::NoKey("split.count")),
        ];
        for (shard, fault) in cases {
            assert_eq!(set.add(NAME, &shard), Err(fault), "{shard:?}");
        }
        assert_eq!(set.missing().count(), 3);
        assert_eq!(check_one(None, &keys(0)), Err(Fault::Name { count: 3 }));
        assert_eq!(check_one(None, &Shard::default()), Ok(1));
        let alone =
            Shard { count: Key::Is(1), all_tensors: Key::Is(2), no: Key::Is(0), tensors: 1 };
        assert_eq!(check_one(None, &alone), Err(Fault::Tensors { said: 2, found: 1 }));
        let mut set = Set::new(NAME.sibling(1), [0; 1]).unwrap();
        for number in 1..=3 {
            set.add(NAME.sibling(number), &Shard { tensors: 2, ..keys(u64::from(number) - 1) })
                .unwrap();
        }
        assert_eq!(set.finish(), Err(Fault::Tensors { said: 9, found: 6 }));
        let many = ShardName { count: 9, ..NAME };
        assert_eq!(Set::new(many, [0; 1]).unwrap_err(), Fault::Full { need: 2 });
    }

    #[test]
    fn names_are_printed_as_they_are_parsed() {
        let name = ShardName { prefix: b"a\xff", number: 12, count: 65_535 };
        assert_eq!(name.to_string(), "a\u{fffd}-00012-of-65535.gguf");
        assert_eq!(name.suffix().to_string(), "-00012-of-65535.gguf");
    }
}
