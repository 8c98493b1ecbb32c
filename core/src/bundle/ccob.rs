//! From a compressed offload bundle to the bundle inside, checked before memory is asked for.
//!
//! ```
//! use rocload_core::bundle::{Bundles, Part, ccob};
//! use rocload_core::zstd::Workspace;
//! use rocload_core::{Limits, Machine, Need, visit};
//!
//! // Version 2, by zstd: 39 bytes that stand for 6.
//! let mut region = b"CCOB\x02\0\x01\0\x27\0\0\0\x06\0\0\0hash8byt".to_vec();
//! region.extend_from_slice(b"\x28\xb5\x2f\xfd\x20\x06\x31\0\0abcabc");
//!
//! let limits = Limits::default();
//! let mut bundles = Bundles::new(0, region.len() as u64, &limits);
//! let mut found = None;
//! while let Need::At { offset, .. } = bundles.need() {
//!     visit(&mut bundles, offset, &region[offset as usize..], |part| {
//!         if let Part::Ccob(ccob) = part {
//!             found = Some(ccob);
//!         }
//!     })?;
//! }
//! let found = found.unwrap();
//! let body = &region[found.body() as usize..];
//! ccob::check(&found, body, &limits)?;
//! let mut bundle = [0; 6];
//! ccob::expand(&found, body, &mut Workspace::<0>::new(), &mut bundle)?;
//! assert_eq!(&bundle, b"abcabc");
//! # Ok::<(), rocload_core::Error>(())
//! ```

use core::iter;

use miniz_oxide::inflate::decompress_slice_iter_to_slice;

use super::fault::Fault;
use super::{Ccob, Method};
use crate::error::{Error, ErrorKind, Full};
use crate::limits::{Cap, Limits};
use crate::zstd::{self, Decompress};

/// Judges the compressed bytes, before room for [`Ccob::uncompressed`] bytes is made. The caps are
/// those of kernels: [`Limits::kernel_bytes`] and [`Limits::expansion`].
///
/// # Errors
/// A limit exceeded, a method that is not known, frames that cannot produce that size; at absolute
/// offsets.
pub fn check(ccob: &Ccob, body: &[u8], limits: &Limits) -> Result<(), Error> {
    let refuse =
        |cap, value, limit| Err(Error::new(ErrorKind::Limit { cap, value, limit }, ccob.offset));
    let (size, stored) = (ccob.uncompressed, body.len() as u64);
    if size > limits.kernel_bytes {
        return refuse(Cap::KernelBytes, size, limits.kernel_bytes);
    }
    let limit = u64::from(limits.expansion);
    if size > stored.saturating_mul(limit) {
        return refuse(Cap::Expansion, size.div_ceil(stored.max(1)), limit);
    }
    match ccob.method {
        Method::Zlib => Ok(()),
        Method::Zstd => zstd::precheck(body, size, limits)
            .map(|_| ())
            .map_err(|error| error.rebased(ccob.body())),
        Method::Other(found) => {
            let kind = ErrorKind::Bundle(Fault::CcobMethod { found });
            Err(Error::new(kind, ccob.offset))
        }
    }
}

/// Fills `dst`, of exactly [`Ccob::uncompressed`] bytes, from the compressed bytes.
///
/// After an error the contents of `dst` are unspecified.
///
/// # Errors
/// [`Full`] for a `dst` of another length; what is wrong with the compressed bytes.
pub fn expand(
    ccob: &Ccob,
    body: &[u8],
    decoder: &mut dyn Decompress,
    dst: &mut [u8],
) -> Result<(), Error> {
    let expected = ccob.uncompressed;
    if dst.len() as u64 != expected {
        return Err(Error::new(ErrorKind::Full(Full { need: expected }), ccob.offset));
    }
    let fault = |fault| Err(Error::new(ErrorKind::Bundle(fault), ccob.body()));
    match ccob.method {
        Method::Zstd => decoder.decode(body, dst).map_err(|error| error.rebased(ccob.body())),
        Method::Zlib => match decompress_slice_iter_to_slice(dst, iter::once(body), true, false) {
            Ok(made) if made as u64 == expected => Ok(()),
            _ => fault(Fault::Zlib { expected }),
        },
        Method::Other(found) => fault(Fault::CcobMethod { found }),
    }
}
