//! What every loader here does: it reads an archive, a model and an answer of a server, good ones
//! and broken ones, and checks what it finds.
//!
//! A loader brings three things, which is all that the core needs of a machine: a way to read
//! ([`Files`]), memory ([`Kit`]) and a way to tell ([`Out`]).
//!
//! ```text
//!   kernels::into_ram  open, find by target, frame index, check, decode into a slice; sha256
//!   kernels::streamed  the same for a kernel larger than RAM: decoded piecewise
//!   kernels::refused   broken archives: each has its own error
//!   model::header      a GGUF header; a broken one
//!   answer::events     server-sent events as they come from a wire
//!   model::summary     (more) the header, checked and summed up
//!   answer::overflow   (more) an event that is too large
//!   answer::chat       (more) events within HTTP, and the JSON in them
//!   owned::all         (alloc) the owned index, growing buffers, the writer
//! ```
//!
//! What is right comes from elsewhere: sums and sizes from the manifest that the fixtures'
//! generator wrote, numbers of the model and the answer from what made them.
#![no_std]
#![forbid(unsafe_code)]

#[cfg(feature = "alloc")]
extern crate alloc;

use core::fmt;

#[cfg(not(feature = "texts"))]
use rocload_core::Class;
use rocload_core::zstd::Workspace;
use rocload_core::{Error, Limits, Storage};

pub mod answer;
pub mod files;
pub mod kernels;
pub mod model;
#[cfg(feature = "alloc")]
pub mod owned;

pub use files::{File, Files, drive};

/// Bytes of the buffer that files are read through.
pub const BUFFER: usize = 4 << 10;

/// A loader's means.
pub struct Kit<'k> {
    /// Where bytes come from.
    pub files: &'k mut dyn Files,
    /// The decoder's memory, in its small layout: under 16 KiB.
    pub workspace: &'k mut Workspace<0>,
    /// What is read at once.
    pub buffer: &'k mut [u8; BUFFER],
    /// Where results are told, a line each.
    pub out: &'k mut dyn Out,
}

impl fmt::Debug for Kit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kit").finish_non_exhaustive()
    }
}

/// What the smallest board has room for.
///
/// # Errors
/// The first thing that is not as it should be.
pub fn all(kit: &mut Kit<'_>) -> Result<(), Wrong> {
    kernels::into_ram(kit)?;
    kernels::streamed(kit)?;
    kernels::refused(kit)?;
    model::header(kit)?;
    answer::events(kit)
}

/// What takes more code or RAM, still without an allocator. `storage` makes memory of so many bytes.
///
/// # Errors
/// The first thing that is not as it should be.
pub fn more<S: Storage>(kit: &mut Kit<'_>, storage: impl Fn(usize) -> S) -> Result<(), Wrong> {
    model::summary(kit)?;
    answer::overflow(kit)?;
    answer::chat(kit, storage)
}

/// The caps: those of a microcontroller, and of frames made for one.
pub static LIMITS: Limits = {
    let mut limits = Limits::embedded();
    limits.window_bytes = kernels::WINDOW as u64;
    limits.block_bytes = kernels::BLOCK as u32;
    limits
};

/// A kernel as the manifest beside the archive has it.
#[derive(Debug)]
pub struct Row {
    /// The binary.
    pub binary: &'static str,
    /// The architecture.
    pub arch: &'static str,
    /// Its size in bytes.
    pub size: usize,
    /// Its SHA-256.
    pub sha256: [u8; 32],
}

impl Row {
    /// Whether a kernel is this one.
    ///
    /// # Errors
    /// When it is not.
    pub fn check(&self, size: usize, sha256: &[u8]) -> Result<(), Wrong> {
        expect(size == self.size, "a kernel of another size")?;
        expect(sha256 == self.sha256, "a kernel with another sha256")
    }
}

/// The kernels of the archive.
pub static ROWS: &[Row] = include!(concat!(env!("OUT_DIR"), "/rows.rs"));

/// What went wrong.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Wrong {
    /// The core refused what it should have taken.
    Refused(Error),
    /// What was found is not what should have been.
    Found(&'static str),
    /// It could not be told.
    Told,
}

impl Wrong {
    /// Tells it behind `lead`.
    ///
    /// # Errors
    /// [`Wrong::Told`].
    #[inline(never)]
    pub fn tell(&self, out: &mut dyn Out, lead: &str) -> Result<(), Wrong> {
        match self {
            #[cfg(feature = "texts")]
            Wrong::Refused(error) => {
                use fmt::Write;
                writeln!(Formatted(out), "{lead}{error}").map_err(|_| Wrong::Told)
            }
            // The texts of all errors and what makes them take 20 KiB of code; a class and a place
            // do as well.
            #[cfg(not(feature = "texts"))]
            Wrong::Refused(error) => {
                let class = match error.class() {
                    Class::Malformed => "malformed",
                    Class::Limit => "over a limit",
                    Class::Full => "too little memory",
                    Class::NotFound => "not found",
                    _ => "refused",
                };
                tell!(out, lead, class, " (at offset ", error.offset, ")")
            }
            Wrong::Found(what) => tell!(out, lead, *what),
            Wrong::Told => tell!(out, lead, "the output failed"),
        }
    }
}

/// Where results are told: of [`fmt::Write`] the one function that is no formatting, since a table
/// of all its functions takes 600 bytes of code.
pub trait Out {
    /// Tells a part of a line.
    ///
    /// # Errors
    /// [`Wrong::Told`].
    fn text(&mut self, text: &str) -> Result<(), Wrong>;
}

impl<W: fmt::Write> Out for W {
    fn text(&mut self, text: &str) -> Result<(), Wrong> {
        self.write_str(text).map_err(|_| Wrong::Told)
    }
}

/// What is formatted, told.
#[cfg(feature = "texts")]
struct Formatted<'o>(&'o mut dyn Out);

#[cfg(feature = "texts")]
impl fmt::Write for Formatted<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.text(text).map_err(|_| fmt::Error)
    }
}

/// A part of a line.
#[derive(Debug, Clone, Copy)]
pub enum Word<'w> {
    /// As it is.
    Text(&'w str),
    /// In decimal digits.
    Number(u64),
}

impl<'w> From<&'w str> for Word<'w> {
    fn from(text: &'w str) -> Word<'w> {
        Word::Text(text)
    }
}

impl From<u64> for Word<'_> {
    fn from(number: u64) -> Self {
        Word::Number(number)
    }
}

impl From<usize> for Word<'_> {
    fn from(number: usize) -> Self {
        Word::Number(number as u64)
    }
}

/// Tells a line, without the 4 KiB of code that formatting takes.
///
/// # Errors
/// [`Wrong::Told`].
#[inline(never)]
pub fn tell(out: &mut dyn Out, words: &[Word<'_>]) -> Result<(), Wrong> {
    for word in words {
        match *word {
            Word::Text(text) => out.text(text)?,
            Word::Number(mut number) => {
                let mut digits = [b'0'; 20];
                let mut at = digits.len();
                while number > 0 || at == digits.len() {
                    at -= 1;
                    digits[at] += (number % 10) as u8;
                    number /= 10;
                }
                out.text(str::from_utf8(&digits[at..]).unwrap_or("?"))?;
            }
        }
    }
    out.text("\n")
}

/// Tells a line of texts and numbers, by [`tell`](fn@tell).
#[macro_export]
macro_rules! tell {
    ($out:expr, $($word:expr),+) => {
        $crate::tell($out, &[$($crate::Word::from($word)),+])
    };
}

impl From<Error> for Wrong {
    fn from(error: Error) -> Wrong {
        Wrong::Refused(error)
    }
}

/// An expectation: `what` is told when it does not hold.
///
/// # Errors
/// When it does not.
pub fn expect(holds: bool, what: &'static str) -> Result<(), Wrong> {
    if holds { Ok(()) } else { Err(Wrong::Found(what)) }
}
