//! The rules of the whole tensor table against a twin that compares every tensor with every
//! other.

use rocload_core::ErrorKind;
use rocload_core::gguf::{Fault, Note, Options, Strictness, Warning};

use super::{Kept, Run, judge};
use crate::split::Ending;
use crate::{Broken, Verdict, require, same};

/// A tensor as the twin sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Extent {
    name: Vec<u8>,
    start: u128,
    /// `start` for one without data; of an unknown type a byte is certain.
    end: u128,
    sized: bool,
}

fn tensors(run: &Run) -> Vec<Extent> {
    let extent = |item: &Kept| match item {
        Kept::Tensor { name, offset, size, elements, .. } => {
            let start = u128::from(*offset);
            let len = size.unwrap_or(u64::from(*elements > 0));
            Some(Extent {
                name: name.clone(),
                start,
                end: start + u128::from(len),
                sized: size.is_some(),
            })
        }
        _ => None,
    };
    run.items.iter().filter_map(extent).collect()
}

fn key_names(run: &Run) -> Vec<&[u8]> {
    fn name(item: &Kept) -> Option<&[u8]> {
        if let Kept::Key { name, .. } = item { Some(name) } else { None }
    }
    run.items.iter().filter_map(name).collect()
}

/// The first pair of equal names, by the later one.
fn repeated<T: PartialEq>(names: &[T]) -> Option<(u32, u32)> {
    (1..names.len()).find_map(|second| {
        let first = names[..second].iter().position(|name| *name == names[second])?;
        Some((first as u32, second as u32))
    })
}

/// What the check says of the whole table is what the twin says. For tables of up to some
/// hundred tensors: the twin's work grows with the square.
///
/// # Errors
/// [`Broken`].
pub fn judged_as_by_the_twin(bytes: &[u8], options: Options) -> Verdict {
    let run = judge(bytes, options);
    let (tensors, keys) = (tensors(&run), key_names(&run));
    let fault = match run.ending {
        Ending::Failed(error) => match error.kind {
            ErrorKind::Gguf(fault) => Some(fault),
            _ => None,
        },
        _ => None,
    };
    if let Some((first, second)) = repeated(&keys) {
        // Another fault may come first.
        let found = matches!(run.ending, Ending::Failed(_) | Ending::Pending(_));
        require(found, "a key that stands twice is refused", || format!("{first} and {second}"))?;
        if let Some(Fault::DuplicateKey { first: one, second: two }) = fault {
            same("the first key that stands twice is named", &two, &second)?;
            same("with the one before it", &keys[one as usize], &keys[second as usize])?;
        }
        return Ok(());
    }
    let refused = matches!(fault, Some(Fault::DuplicateKey { .. }));
    require(!refused, "no key is said to stand twice that does not", || format!("{fault:?}"))?;

    let names: Vec<&[u8]> = tensors.iter().map(|tensor| &tensor.name[..]).collect();
    match (fault, repeated(&names)) {
        (Some(Fault::DuplicateTensor { first, second }), twice) => {
            let equal = twice.is_some() && names[first as usize] == names[second as usize];
            return require(equal, "tensors of one name have one name", || {
                format!("{first} and {second}")
            });
        }
        (_, Some(twice))
            if run.judged.is_some() || matches!(fault, Some(Fault::Overlap { .. })) =>
        {
            let law = "a name that stands twice is refused";
            return Err(Broken { law, found: format!("{twice:?}") });
        }
        _ => {}
    }
    overlap(&tensors, fault, &run)?;
    match run.judged {
        Some(judged) => numbers(bytes.len() as u64, &tensors, &judged, &run, options),
        None => Ok(()),
    }
}

fn overlap(tensors: &[Extent], fault: Option<Fault>, run: &Run) -> Verdict {
    let shared = |one: &Extent, two: &Extent| {
        one.end > one.start && two.end > two.start && one.start < two.end && two.start < one.end
    };
    if let Some(Fault::Overlap { first, second }) = fault {
        let (one, two) = (&tensors[first as usize], &tensors[second as usize]);
        return require(first != second && shared(one, two), "what overlaps overlaps", || {
            format!("{one:?} and {two:?}")
        });
    }
    if run.judged.is_none() {
        return Ok(());
    }
    let pair = tensors.iter().enumerate().find_map(|(at, one)| {
        let two = tensors[at + 1..].iter().find(|two| shared(one, two))?;
        Some((one, two))
    });
    require(pair.is_none(), "tensors that overlap are refused", || format!("{pair:?}"))
}

fn numbers(
    total: u64,
    tensors: &[Extent],
    judged: &rocload_core::gguf::Verdict,
    run: &Run,
    options: Options,
) -> Verdict {
    let alignment = u128::from(judged.start.alignment);
    let data: Vec<&Extent> = tensors.iter().filter(|tensor| tensor.end > tensor.start).collect();
    let last = data.iter().max_by_key(|tensor| (tensor.end, !tensor.sized));
    let end = last.map_or(0, |tensor| tensor.end);
    let needed = if end == 0 {
        u128::from(judged.start.header_end)
    } else {
        u128::from(judged.start.offset) + end
    };
    same(
        "the bytes needed are those to the last tensor's end",
        &u128::from(judged.needed),
        &needed,
    )?;
    let missing = needed.saturating_sub(total.into()) as u64;
    same("what is missing is what is needed and not there", &judged.missing, &Some(missing))?;

    let order = data.windows(2).all(|pair| pair[0].end <= pair[1].start);
    same("order is that of the table", &judged.in_order, &order)?;
    let mut sorted = data.clone();
    sorted.sort_by_key(|tensor| tensor.start);
    if tensors.iter().all(|tensor| tensor.sized) {
        let mut at = 0u128;
        let mut gaps = 0u128;
        for tensor in &sorted {
            gaps += tensor.start - at.min(tensor.start);
            at = tensor.end.next_multiple_of(alignment);
        }
        same("gaps are what lies between", &judged.gaps.map(u128::from), &Some(gaps))?;
        let behind = if end == 0 {
            u128::from(judged.start.padded)
        } else {
            needed.next_multiple_of(alignment)
        };
        let trailing = u128::from(total).saturating_sub(behind) as u64;
        same("what trails lies behind the padding", &judged.trailing, &Some(trailing))?;
        let noted = |wanted: fn(&Note) -> bool| {
            run.items
                .iter()
                .any(|item| matches!(item, Kept::Warning(Warning { note, .. }) if wanted(note)))
        };
        if options.strictness == Strictness::Llama {
            let contiguous = order && gaps == 0;
            require(contiguous, "llama.cpp takes no gap and no other order", || {
                format!("{judged:?}")
            })?;
        }
        let gap = noted(|note| matches!(note, Note::Gap { .. }));
        same("a gap is worth a warning", &gap, &(gaps > 0))?;
        let other = noted(|note| matches!(note, Note::OutOfOrder { .. }));
        same("another order is worth a warning", &other, &!order)?;
    }
    Ok(())
}

/// A file whose tensor table is what `bytes` say: 4 bytes a tensor choose its name, its size,
/// its type and its place; the first byte, how much of the file is there.
pub fn model(bytes: &[u8]) -> Vec<u8> {
    let (&cut, rest) = bytes.split_first().unwrap_or((&0, &[]));
    let rows = rest.as_chunks::<4>().0;
    let rows = &rows[..rows.len().min(64)];
    let mut file = b"GGUF\x03\0\0\0".to_vec();
    file.extend((rows.len() as u64).to_le_bytes());
    file.extend(0u64.to_le_bytes());
    let mut next = 0u64;
    for (at, &[name, len, ty, place]) in rows.iter().enumerate() {
        // Mostly its own name.
        let name = if name < 250 { format!("t{at}") } else { format!("t{}", name - 250) };
        let elements = u64::from(len) % 48;
        // Mostly bytes and floats; now and then types that are unknown.
        let ty = match ty % 16 {
            0..=9 => 24,
            10..=13 => 0,
            14 => 99,
            _ => u32::from(ty),
        };
        let offset = match place % 16 {
            0..=9 => next,
            10 | 11 => next + u64::from(place / 16) * 32,
            12 | 13 => u64::from(place / 16) * 32,
            14 => next.saturating_sub(32),
            _ => u64::MAX << place.min(63),
        };
        file.extend((name.len() as u64).to_le_bytes());
        file.extend(name.as_bytes());
        file.extend(1u32.to_le_bytes());
        file.extend(elements.to_le_bytes());
        file.extend(ty.to_le_bytes());
        file.extend(offset.to_le_bytes());
        let size = if ty == 0 { elements * 4 } else { elements };
        next = offset.saturating_add(size).saturating_add(31) & !31;
        if next > 1 << 16 {
            next = 0;
        }
    }
    file.resize(file.len().next_multiple_of(32), 0);
    file.resize(file.len() + (next as usize).saturating_sub(usize::from(cut / 16)), 0x55);
    file.resize(file.len() + usize::from(cut % 4 / 3) * 40, 0x66);
    file
}
