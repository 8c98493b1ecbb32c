//! Reference metadata: the view and the measuring against the crate `rmpv` and each other.

use rmpv::Value;
use rocload_core::kpack::{Fault as KpackFault, Measure, Reference};
use rocload_core::msgpack::Fault;
use rocload_core::{Cap, Error, ErrorKind, Limits};

use crate::split::{self, Ending, Feeding, Rules};
use crate::{Verdict, require, same};

/// Paths, name and length.
type Told = (Vec<Vec<u8>>, Vec<u8>, usize);

fn told(reference: &Reference<'_>) -> Told {
    let paths = reference.paths().map(<[u8]>::to_vec).collect();
    (paths, reference.kernel_name().to_vec(), reference.len())
}

/// Any bytes as metadata: what is read is what the oracle reads; a map that is measured is the
/// one that is read, and measuring looks at none of the bytes behind it.
///
/// # Errors
/// [`Broken`](crate::Broken).
pub fn reads_and_measures(bytes: &[u8], seed: u64) -> Verdict {
    let limits = Limits::default();
    let parsed = Reference::parse(bytes, &limits);
    match (&parsed, naive(bytes)) {
        (Ok(reference), twin) => same("metadata is the oracle's", &Some(told(reference)), &twin)?,
        (Err(error), Some(twin)) => {
            require(excused(error), "what the oracle reads is read, within the caps", || {
                format!("{error} for {twin:?}")
            })?;
        }
        (Err(_), None) => {}
    }

    let rules = Rules::new();
    let make = || Measure::new(&limits);
    let measured = split::sample(make, |len| len, bytes, &rules, seed)?;
    match &parsed {
        Ok(reference) => {
            let len = reference.len() as u64;
            same("a map is measured to its end", &measured.items, &vec![len])?;
            let own = &bytes[..reference.len()];
            let least = split::run(&mut make(), &|len| len, own, &rules, Feeding::Least)?;
            same("measuring stays within the map", &least.ending, &Ending::Complete)?;
        }
        Err(error) => {
            let [len] = measured.items[..] else { return Ok(()) };
            let Some(own) = usize::try_from(len).ok().and_then(|len| bytes.get(..len)) else {
                return Ok(());
            };
            let alone = Reference::parse(own, &limits).map(|it| told(&it));
            same("what follows a map changes nothing", &alone, &Err(*error))?;
        }
    }
    capped(bytes, &parsed.map(|it| told(&it)))
}

/// A lower cap gives the same, or says that it is too low.
fn capped(bytes: &[u8], whole: &Result<Told, Error>) -> Verdict {
    let mut limits = Limits::default();
    limits.reference_bytes = 64;
    let parsed = Reference::parse(bytes, &limits).map(|it| told(&it));
    let over = matches!(
        parsed,
        Err(Error { kind: ErrorKind::Limit { cap: Cap::ReferenceBytes, .. }, .. })
    );
    if over {
        require(bytes.len() > 64, "only what is longer is too long", || format!("{parsed:?}"))?;
        return require(
            whole.as_ref().map_or(true, |(.., len)| *len > 64),
            "only a longer map is too long",
            || format!("{whole:?}"),
        );
    }
    if whole.is_ok() || bytes.len() <= 64 {
        return same("a cap that is not reached changes nothing", &parsed, whole);
    }
    require(parsed.is_err(), "a cap makes nothing sound", || format!("{parsed:?}"))
}

/// What the oracle takes and is refused here: the byte 0xc1, and what exceeds a cap.
fn excused(error: &Error) -> bool {
    matches!(
        error.kind,
        ErrorKind::Limit { .. }
            | ErrorKind::Msgpack(Fault::Reserved)
            | ErrorKind::Kpack(KpackFault::Value { fault: Fault::Reserved, .. })
    )
}

fn naive(bytes: &[u8]) -> Option<Told> {
    let mut left = bytes;
    let value = rmpv::decode::read_value_with_max_depth(&mut left, 200).ok()?;
    let Value::Map(pairs) = value else { return None };
    let (mut paths, mut name) = (None, None);
    for (key, value) in pairs {
        let Value::String(key) = key else { continue };
        match key.as_bytes() {
            b"kpack_search_paths" => {
                let Value::Array(items) = value else { return None };
                let strings = items.into_iter().filter_map(|item| match item {
                    Value::String(text) => Some(text.into_bytes()),
                    _ => None,
                });
                paths = Some(strings.collect::<Vec<_>>());
            }
            b"kernel_name" => {
                let Value::String(text) = value else { return None };
                name = Some(text.into_bytes());
            }
            _ => {}
        }
    }
    let paths = paths.filter(|paths| !paths.is_empty())?;
    Some((paths, name?, bytes.len() - left.len()))
}
