//! Which values a reader shows, and when it may stop.
//!
//! The reader asks once for each key, after its name and before its value. What is not wanted
//! is walked over: by arithmetic where elements have a fixed size, string by string in one
//! tight loop where they have not.
//!
//! [`Wanted`] reads a few keys and stops when it has them. A name that begins with `{arch}.`
//! belongs to the architecture that `general.architecture` names, which may come after the
//! keys: until it is known, every key of that ending is shown, and
//! [`Key::of`](super::Key::of) tells afterwards which one counts.
//!
//! ```
//! use rocload_core::gguf::{Item, Options, Reader, Scalar, Wanted};
//! use rocload_core::{Machine, Need, visit};
//! # let file: &[u8] = rocload_core::gguf::EXAMPLE;
//!
//! let wanted = Wanted::new(&["general.architecture", "{arch}.context_length"]);
//! let mut reader = Reader::new(Some(file.len() as u64), Options::default(), [0u8; 64], wanted);
//! let mut context = None;
//! while let Need::At { offset, .. } = reader.need() {
//!     visit(&mut reader, offset, &file[offset as usize..], |item| {
//!         if let Item::Value(value) = item {
//!             context = Some(value);
//!         }
//!     })?;
//! }
//! assert_eq!(reader.architecture(), Some(&b"llama"[..]));
//! assert_eq!(context, Some(Scalar::U32(2048)));
//! # Ok::<(), rocload_core::Error>(())
//! ```

use super::reader::Key;
use super::table::hash;

/// What a reader does with a key and its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Want {
    /// Passes over both.
    Nothing,
    /// Shows the key and passes over its value.
    Key,
    /// Shows the key and all of its value.
    Value,
}

/// Chooses what a reader shows. Implemented for a [`Want`], which holds for every key, for
/// closures `FnMut(&Key) -> Want`, and for [`Wanted`].
pub trait Interest {
    /// What to do with this key. `architecture` is the value of `general.architecture`, once it
    /// has been read.
    fn want(&mut self, key: &Key<'_>, architecture: Option<&[u8]>) -> Want;

    /// Asked after each key: true = nothing more is wanted, and the reader is done.
    fn satisfied(&mut self, architecture: Option<&[u8]>) -> bool {
        let _ = architecture;
        false
    }

    /// Whether tensors are wanted; if not, the reader is done after the last key.
    fn tensors(&self) -> bool {
        true
    }
}

impl Interest for Want {
    fn want(&mut self, _: &Key<'_>, _: Option<&[u8]>) -> Want {
        *self
    }
}

impl<F: FnMut(&Key<'_>) -> Want> Interest for F {
    fn want(&mut self, key: &Key<'_>, _: Option<&[u8]>) -> Want {
        self(key)
    }
}

/// A key whose prefix may turn out to be the architecture.
#[derive(Debug, Clone, Copy, Default)]
struct Candidate {
    name: u8,
    prefix: u64,
}

const CANDIDATES: usize = 32;

/// The [`Interest`] in a list of keys: shows their values and nothing else, and is satisfied
/// when it has seen them all.
///
/// Of a list of more than 64 names all are shown, but the reader goes on to the last key; so it
/// does when more than 32 keys come before the architecture that might be among the wanted.
#[derive(Debug, Clone)]
pub struct Wanted<'w> {
    names: &'w [&'w str],
    found: u64,
    candidates: [Candidate; CANDIDATES],
    count: usize,
}

impl<'w> Wanted<'w> {
    /// An interest in the keys of these names; `{arch}.` in front stands for the architecture.
    pub const fn new(names: &'w [&'w str]) -> Self {
        let none = Candidate { name: 0, prefix: 0 };
        Wanted { names, found: 0, candidates: [none; CANDIDATES], count: 0 }
    }

    /// The names.
    pub const fn names(&self) -> &'w [&'w str] {
        self.names
    }

    fn found(&mut self, name: usize) {
        if name < 64 {
            self.found |= 1 << name;
        }
    }
}

/// The rest of a name that begins with `{arch}.`.
fn of_architecture(name: &str) -> Option<&[u8]> {
    name.strip_prefix("{arch}.").map(str::as_bytes)
}

impl Interest for Wanted<'_> {
    fn want(&mut self, key: &Key<'_>, architecture: Option<&[u8]>) -> Want {
        let mut want = Want::Nothing;
        for (at, name) in self.names.iter().enumerate() {
            let Some(rest) = of_architecture(name) else {
                if key.name == name.as_bytes() {
                    self.found(at);
                    want = Want::Value;
                }
                continue;
            };
            if let Some(architecture) = architecture {
                if key.of(architecture) == Some(rest) {
                    self.found(at);
                    want = Want::Value;
                }
            } else if let Some(prefix) = key.prefix(rest) {
                want = Want::Value;
                if let (Some(slot), Ok(name)) =
                    (self.candidates.get_mut(self.count), u8::try_from(at))
                {
                    *slot = Candidate { name, prefix: hash(prefix) };
                    self.count += 1;
                }
            }
        }
        want
    }

    fn satisfied(&mut self, architecture: Option<&[u8]>) -> bool {
        if let (Some(architecture), 1..) = (architecture, self.count) {
            let prefix = hash(architecture);
            for at in 0..core::mem::take(&mut self.count) {
                if self.candidates[at].prefix == prefix {
                    self.found(self.candidates[at].name.into());
                }
            }
        }
        let all = match self.names.len() {
            len @ 0..64 => (1 << len) - 1,
            64 => u64::MAX,
            _ => return false,
        };
        self.found == all
    }

    fn tensors(&self) -> bool {
        false
    }
}
