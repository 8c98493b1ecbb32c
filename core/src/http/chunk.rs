//! The chunked body: sizes, extensions and trailers, one state a place.
//!
//! ```text
//!  Size --;--> Extension
//!   | CR          | CR
//!   v             v
//!  SizeEnd <------+ LF, size > 0 --> Data --> DataCr --> DataEnd --> Size
//!   | LF, size 0
//!   v
//!  Trailer --CR--> TrailerEnd (LF: next line; a blank one: Done)
//! ```

use super::Fault;
use super::request::is_token;

/// Digits of a size; 16 are as many as 64 bits take.
const SIZE_DIGITS: u8 = 16;

/// Where in a chunked body the next byte stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// In a size, of which so many digits have come.
    Size { digits: u8 },
    /// Behind the digits of a size: blanks are allowed before an extension.
    Blank,
    /// In the extensions of a size.
    Extension,
    /// Behind the CR that ends a size's line.
    SizeEnd,
    /// In the data.
    Data,
    /// Behind the data.
    DataCr,
    /// Behind the CR that follows the data.
    DataEnd,
    /// In a trailer line: at its start, in its name, or behind the colon.
    Trailer(Trailer),
    /// Behind the CR that ends a trailer line.
    TrailerEnd { blank: bool },
    /// The body is over.
    Done,
}

/// Where in a trailer line the next byte stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trailer {
    Start,
    Name,
    Value,
}

/// The state of a chunked body.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chunked {
    pub(super) place: Place,
    /// The size, and in the data what is left of it.
    pub(super) left: u64,
    /// Bytes of the extensions of this chunk, or of the trailers.
    line: u32,
    /// The most that `line` may be.
    most: u32,
}

impl Chunked {
    pub(super) const fn new(most: u32) -> Self {
        Chunked { place: Place::Size { digits: 0 }, left: 0, line: 0, most }
    }

    /// Advances over one byte that is not data.
    pub(super) fn byte(&mut self, byte: u8) -> Result<(), Fault> {
        self.place = match (self.place, byte) {
            (Place::Size { digits }, _) if byte.is_ascii_hexdigit() => {
                if digits == SIZE_DIGITS {
                    return Err(Fault::ChunkSize);
                }
                let digit = char::from(byte).to_digit(16).map_or(0, u64::from);
                self.left = self.left << 4 | digit;
                Place::Size { digits: digits + 1 }
            }
            (Place::Size { digits: 0 }, _) => return Err(Fault::ChunkSize),
            (Place::Size { .. } | Place::Blank, b'\r') => Place::SizeEnd,
            (Place::Size { .. } | Place::Blank, b' ' | b'\t') => self.counted(Place::Blank)?,
            (Place::Size { .. } | Place::Blank, b';') => self.counted(Place::Extension)?,
            (Place::Size { .. } | Place::Blank, b'\n') => return Err(Fault::LineEnd),
            (Place::Size { .. } | Place::Blank, _) => return Err(Fault::ChunkSize),
            (Place::Extension, b'\r') => Place::SizeEnd,
            (Place::Extension, b'\n') => return Err(Fault::LineEnd),
            (Place::Extension, _) => self.counted(Place::Extension)?,
            (Place::SizeEnd, b'\n') => {
                self.line = 0;
                if self.left == 0 { Place::Trailer(Trailer::Start) } else { Place::Data }
            }
            (Place::DataCr, b'\r') => Place::DataEnd,
            (Place::DataEnd, b'\n') => Place::Size { digits: 0 },
            (Place::Trailer(Trailer::Start), b'\r') => Place::TrailerEnd { blank: true },
            (Place::Trailer(Trailer::Value), b'\r') => Place::TrailerEnd { blank: false },
            (Place::Trailer(Trailer::Start | Trailer::Value), b'\n') => return Err(Fault::LineEnd),
            (Place::Trailer(Trailer::Name), b':') => {
                self.counted(Place::Trailer(Trailer::Value))?
            }
            (Place::Trailer(Trailer::Start | Trailer::Name), _) if is_token(byte) => {
                self.counted(Place::Trailer(Trailer::Name))?
            }
            (Place::Trailer(Trailer::Start | Trailer::Name), _) => return Err(Fault::HeaderName),
            (Place::Trailer(Trailer::Value), 0..=8 | 11..=31 | 127) => {
                return Err(Fault::HeaderValue);
            }
            (Place::Trailer(Trailer::Value), _) => self.counted(Place::Trailer(Trailer::Value))?,
            (Place::TrailerEnd { blank: true }, b'\n') => Place::Done,
            (Place::TrailerEnd { blank: false }, b'\n') => {
                self.counted(Place::Trailer(Trailer::Start))?
            }
            (place @ (Place::Data | Place::Done), _) => place,
            (Place::SizeEnd | Place::DataCr | Place::DataEnd | Place::TrailerEnd { .. }, _) => {
                return Err(Fault::LineEnd);
            }
        };
        Ok(())
    }

    /// So many bytes of data have been taken.
    pub(super) fn taken(&mut self, bytes: u64) {
        self.left -= bytes;
        if self.left == 0 {
            self.place = Place::DataCr;
        }
    }

    fn counted(&mut self, place: Place) -> Result<Place, Fault> {
        self.line += 1;
        if self.line > self.most { Err(Fault::ChunkLine) } else { Ok(place) }
    }
}
