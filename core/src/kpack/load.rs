//! From an entry and its stored bytes to the code object, checked before memory is asked for.
//!
//! A loader goes through three gates, each before the next allocation: [`admit`] judges the
//! declared sizes against the limits before the stored bytes are read; [`check`] judges the
//! stored bytes against the declared size before room for the kernel is made; [`expand`] fills
//! that room exactly or fails.
//!
//! ```
//! use rocload_core::Limits;
//! use rocload_core::kpack::{Header, Strictness, Toc, load};
//! # let archive: &[u8] = rocload_core::kpack::EXAMPLE;
//!
//! let limits = Limits::default();
//! let total = archive.len() as u64;
//! let base = Header::parse(archive, total)?.toc_offset;
//! let toc = Toc::parse(&archive[base as usize..], base, total, &limits, Strictness::Strict)?;
//! let entry = toc.find(b"lib/libsmall.so#0", b"gfx90a")?.unwrap();
//! // Scheme none: the entry itself knows where. Otherwise `zstd::FrameIndex` does.
//! let (offset, stored_size) = (entry.offset.unwrap(), entry.stored_size.unwrap());
//! load::admit(&entry, offset, stored_size, &limits)?;
//! let stored = &archive[offset as usize..][..stored_size as usize];
//! load::check(&entry, offset, stored, &limits)?;
//! let mut kernel = [0; 12];
//! load::expand(&entry, offset, stored, None, &mut kernel[..entry.size as usize])?;
//! assert_eq!(&kernel, b"a code objec");
//! # Ok::<(), rocload_core::Error>(())
//! ```

use super::{Entry, Fault, Scheme};
use crate::error::{Error, ErrorKind, Full};
use crate::limits::{Cap, Limits};
use crate::zstd::{self, Decompress};

/// Judges an entry's size before its stored bytes, `stored_size` of them at `offset`, are read.
///
/// # Errors
/// [`Cap::KernelBytes`], and [`Cap::Expansion`] where the stored bytes are too few to mean so
/// much; under scheme none a size that differs from the stored one.
pub fn admit(
    entry: &Entry<'_>,
    offset: u64,
    stored_size: u64,
    limits: &Limits,
) -> Result<(), Error> {
    let refuse = |cap, value, limit| Error::new(ErrorKind::Limit { cap, value, limit }, offset);
    if entry.size > limits.kernel_bytes {
        return Err(refuse(Cap::KernelBytes, entry.size, limits.kernel_bytes));
    }
    match entry.scheme {
        Scheme::None if entry.size != stored_size => {
            let fault = Fault::SizeMismatch { declared: entry.size, stored: stored_size };
            Err(Error::new(ErrorKind::Kpack(fault), offset))
        }
        Scheme::None => Ok(()),
        Scheme::ZstdPerKernel => {
            let limit = u64::from(limits.expansion);
            if entry.size > stored_size.saturating_mul(limit) {
                let value = entry.size.div_ceil(stored_size.max(1));
                return Err(refuse(Cap::Expansion, value, limit));
            }
            Ok(())
        }
    }
}

/// Judges the stored bytes of an entry, which begin at absolute `offset`, before room for
/// [`Entry::size`] bytes is made: the frames must declare that size where they declare one, and
/// their block headers must be able to produce it.
///
/// # Errors
/// Those of [`admit`] and of [`zstd::precheck`], at absolute offsets.
pub fn check(entry: &Entry<'_>, offset: u64, stored: &[u8], limits: &Limits) -> Result<(), Error> {
    admit(entry, offset, stored.len() as u64, limits)?;
    match entry.scheme {
        Scheme::None => Ok(()),
        Scheme::ZstdPerKernel => zstd::precheck(stored, entry.size, limits)
            .map(|_| ())
            .map_err(|error| error.rebased(offset)),
    }
}

/// Fills `dst`, of exactly [`Entry::size`] bytes, from the stored bytes at absolute `offset`.
///
/// `decoder` is not used under scheme none. After an error the contents of `dst` are
/// unspecified.
///
/// # Errors
/// [`Full`] for a `dst` of another length; the decoder's verdict, at absolute offsets; without
/// a decoder where one is needed, [`Fault::NoDecoder`].
pub fn expand(
    entry: &Entry<'_>,
    offset: u64,
    stored: &[u8],
    decoder: Option<&mut dyn Decompress>,
    dst: &mut [u8],
) -> Result<(), Error> {
    if dst.len() as u64 != entry.size {
        return Err(Error::new(ErrorKind::Full(Full { need: entry.size }), offset));
    }
    match (entry.scheme, decoder) {
        (Scheme::None, _) => {
            if stored.len() != dst.len() {
                let (declared, stored) = (entry.size, stored.len() as u64);
                let fault = Fault::SizeMismatch { declared, stored };
                return Err(Error::new(ErrorKind::Kpack(fault), offset));
            }
            dst.copy_from_slice(stored);
            Ok(())
        }
        (Scheme::ZstdPerKernel, Some(decoder)) => {
            decoder.decode(stored, dst).map_err(|error| error.rebased(offset))
        }
        (Scheme::ZstdPerKernel, None) => {
            Err(Error::new(ErrorKind::Kpack(Fault::NoDecoder), offset))
        }
    }
}
