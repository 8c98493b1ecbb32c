//! The GGUF reader and its check against each other, a naive reader, and any chunking.
//!
//! [`naive`] reads a slice as the specification describes it, with no thought for speed, memory
//! or chunks. Its rules are written down anew there.

use rocload_core::gguf::{
    Check, Elements, GgmlType, Interest, Item, Key, Options, Reader, Scalar, Summary, Tensor,
    ValueType, Verdict as Judged, Want, Warning,
};
use rocload_core::{End, Error, Machine, Need, Storage};

use crate::split::{self, Ending, Outcome, Rules};
use crate::{Broken, Verdict, require, same};

pub mod naive;
pub mod table;

/// Storage on the heap, whatever features the core has.
#[derive(Debug, Clone, Default)]
pub struct Room(Vec<u8>);

impl Storage for Room {
    fn slots(&self) -> &[u8] {
        &self.0
    }
    fn slots_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
    fn grow(&mut self, min: usize) -> bool {
        if self.0.len() < min {
            self.0.resize(min, 0);
        }
        true
    }
}

/// An item, owned.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "as the items of the reader")]
pub enum Kept {
    Header(rocload_core::gguf::Header),
    Key {
        name: Vec<u8>,
        ordinal: u32,
        kind: rocload_core::gguf::ValueKind,
        offset: u64,
    },
    /// Bits, so that a NaN equals itself.
    Value(ValueType, u64),
    Text {
        bytes: Vec<u8>,
        index: u64,
        start: u64,
        of: u64,
    },
    Elements {
        ty: ValueType,
        big: bool,
        first: u64,
        of: u64,
        bytes: Vec<u8>,
    },
    Inner {
        depth: u8,
        element: ValueType,
        len: u64,
    },
    Tensor {
        name: Vec<u8>,
        row: u64,
        ordinal: u32,
        ty: GgmlType,
        dims: Vec<u64>,
        elements: u64,
        offset: u64,
        size: Option<u64>,
    },
    Warning(Warning),
}

/// A scalar as its type and bits.
pub fn bits(value: Scalar) -> (ValueType, u64) {
    let bits = match value {
        Scalar::U8(value) => value.into(),
        Scalar::I8(value) => value as u8 as u64,
        Scalar::U16(value) => value.into(),
        Scalar::I16(value) => value as u16 as u64,
        Scalar::U32(value) => value.into(),
        Scalar::I32(value) => value as u32 as u64,
        Scalar::F32(value) => value.to_bits().into(),
        Scalar::Bool(value) => value.into(),
        Scalar::U64(value) => value,
        Scalar::I64(value) => value as u64,
        Scalar::F64(value) => value.to_bits(),
    };
    (value.ty(), bits)
}

impl From<Item<'_>> for Kept {
    fn from(item: Item<'_>) -> Kept {
        match item {
            Item::Header(header) => Kept::Header(header),
            Item::Key(Key { name, ordinal, kind, offset }) => {
                Kept::Key { name: name.to_vec(), ordinal, kind, offset }
            }
            Item::Value(value) => {
                let (ty, bits) = bits(value);
                Kept::Value(ty, bits)
            }
            Item::Text(text) => Kept::Text {
                bytes: text.bytes.to_vec(),
                index: text.index,
                start: text.start,
                of: text.of,
            },
            Item::Elements(elements) => Kept::from_elements(&elements),
            Item::Inner { depth, element, len } => Kept::Inner { depth, element, len },
            Item::Tensor(Tensor { name, info }) => Kept::Tensor {
                name: name.to_vec(),
                row: info.row,
                ordinal: info.ordinal,
                ty: info.ty,
                dims: info.dims().to_vec(),
                elements: info.elements,
                offset: info.offset,
                size: info.size,
            },
            Item::Warning(warning) => Kept::Warning(warning),
        }
    }
}

impl Kept {
    fn from_elements(elements: &Elements<'_>) -> Kept {
        Kept::Elements {
            ty: elements.ty(),
            big: elements.endian() == rocload_core::gguf::Endian::Big,
            first: elements.first(),
            of: elements.of(),
            bytes: elements.bytes().to_vec(),
        }
    }

    /// Joins the parts of a string and of an array.
    pub fn join(&mut self, next: &Kept) -> bool {
        match (self, next) {
            (
                Kept::Text { bytes, index, start, of },
                Kept::Text { bytes: more, index: next, start: at, of: all },
            ) if (&*index, &*of) == (next, all)
                && *start + bytes.len() as u64 == *at
                && !more.is_empty() =>
            {
                bytes.extend_from_slice(more);
                true
            }
            (
                Kept::Elements { ty, first, of, bytes, .. },
                Kept::Elements { ty: next, first: at, of: all, bytes: more, .. },
            ) if ty == next && of == all => {
                let size = ty.size().unwrap_or(1);
                let adjacent = *first + bytes.len() as u64 / size == *at;
                if adjacent {
                    bytes.extend_from_slice(more);
                }
                adjacent
            }
            _ => false,
        }
    }
}

/// A run of the check over a whole slice.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// The items, parts joined.
    pub items: Vec<Kept>,
    /// How it ended.
    pub ending: Ending,
    /// The verdict, if the header is complete.
    pub judged: Option<Judged>,
}

impl Run {
    /// The word for it in the lists of files: ok, warn, short, malformed.
    pub fn word(&self) -> &'static str {
        match (self.ending, self.judged) {
            (Ending::Complete, Some(judged)) if !judged.is_whole() => "short",
            (Ending::Complete, Some(judged)) if judged.warnings > 0 => "warn",
            (Ending::Complete, Some(_)) => "ok",
            _ => "malformed",
        }
    }
}

fn check<I: Interest>(total: Option<u64>, options: Options, interest: I) -> Check<Room, Room, I> {
    Check::new(total, options, Room::default(), Room::default(), interest)
}

fn rules(options: &Options) -> Rules<Kept> {
    // The warnings at the end are few, but there may be one for each step before.
    Rules { contiguous: options.limits.contiguous, join: Kept::join, ..Rules::new() }
}

/// Checks a whole slice, of which nothing is missing.
pub fn judge(bytes: &[u8], options: Options) -> Run {
    judge_with(bytes, options, Want::Value)
}

/// As [`judge`], with another interest.
pub fn judge_with<I: Interest>(bytes: &[u8], options: Options, interest: I) -> Run {
    let mut machine = check(Some(bytes.len() as u64), options, interest);
    let (items, ending) = drive(&mut machine, bytes);
    Run { items, ending, judged: machine.verdict() }
}

/// Drives a machine over a slice by what it hints at.
pub fn drive<M>(machine: &mut M, bytes: &[u8]) -> (Vec<Kept>, Ending)
where
    M: Machine<Kind = rocload_core::gguf::Items>,
{
    let mut items: Vec<Kept> = Vec::new();
    let add = |items: &mut Vec<Kept>, item: Kept| {
        if !items.last_mut().is_some_and(|last| last.join(&item)) {
            items.push(item);
        }
    };
    while let Need::At { offset, min, hint } = machine.need() {
        let at = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
        let len = (hint as usize).max(min).min(bytes.len() - at);
        match machine.step(offset, &bytes[at..at + len]) {
            Ok(step) if step.ready => {
                add(&mut items, Kept::from(machine.item(&bytes[at..at + len])));
            }
            Ok(step) if step.consumed == 0 => break,
            Ok(_) => {}
            Err(error) => return (items, Ending::Failed(error)),
        }
    }
    loop {
        match machine.end() {
            Ok(End::Item) => add(&mut items, Kept::from(machine.item(&[]))),
            Ok(End::Complete) => return (items, Ending::Complete),
            Ok(End::Pending(what)) => return (items, Ending::Pending(what)),
            Err(error) => return (items, Ending::Failed(error)),
        }
    }
}

/// Any chunking gives the same items and the same ending, in the reader with every value shown
/// and with none, and in the check. `total` is what the reader is told, right or wrong; `seed`
/// chooses the machine and the cuts, `None` tries them all.
///
/// # Errors
/// [`Broken`].
pub fn any_chunking(
    bytes: &[u8],
    total: Option<u64>,
    options: Options,
    seed: Option<u64>,
) -> Verdict {
    let rules = rules(&options);
    let keep = |item: Item<'_>| Kept::from(item);
    let readers = match seed {
        // Two in four inputs are for the check, which reads every value.
        Some(seed) => [&[][..], &[], &[Want::Nothing], &[Want::Value]][(seed >> 3 & 3) as usize],
        None => &[Want::Nothing, Want::Value],
    };
    for &want in readers {
        let make = || Reader::new(total, options, Room::default(), want);
        let outcome = match seed {
            Some(seed) => split::sample(make, keep, bytes, &rules, seed),
            None => split::invariance(make, keep, bytes, &rules),
        };
        outcome?;
    }
    if seed.is_some() && !readers.is_empty() {
        return Ok(());
    }
    let make = || check(total, options, Want::Value);
    let Outcome { items, ending } = match seed {
        Some(seed) => split::sample(make, keep, bytes, &rules, seed),
        None => split::invariance(make, keep, bytes, &rules),
    }?;
    if total == Some(bytes.len() as u64) {
        let run = judge(bytes, options);
        same("the check over a slice gives the same", &run.items, &items)?;
        same("the check over a slice ends the same", &run.ending, &ending)?;
    }
    Ok(())
}

fn heads(items: &[Kept]) -> Vec<&Kept> {
    items
        .iter()
        .filter(|item| matches!(item, Kept::Header(_) | Kept::Key { .. } | Kept::Tensor { .. }))
        .collect()
}

/// The fault of an array that is passed over is found before its key is shown, so that one key
/// may be missing then.
fn same_heads(all: &[Kept], some: &[Kept], ending: Ending) -> Verdict {
    let (all, some) = (heads(all), heads(some));
    let missing = all.len().saturating_sub(some.len());
    let last_is_missing = missing == 1 && ending != Ending::Complete;
    let front = if last_is_missing { &all[..some.len()] } else { &all[..] };
    same("keys do not depend on what is wanted", &front, &&some[..])
}

/// What is walked over ends where what is shown does: the keys, tensors and ending are the same
/// whatever is wanted.
///
/// # Errors
/// [`Broken`].
pub fn wanting_changes_nothing(bytes: &[u8], options: Options) -> Verdict {
    let total = Some(bytes.len() as u64);
    let (all, ending) =
        drive(&mut Reader::new(total, options, Room::default(), Want::Value), bytes);
    let (keys, other) = drive(&mut Reader::new(total, options, Room::default(), Want::Key), bytes);
    same_heads(&all, &keys, ending)?;
    same("the ending does not depend on what is wanted", &ending, &other)?;
    let mut ordinal = 0u32;
    let every_third = |_: &Key<'_>| {
        ordinal += 1;
        if ordinal.is_multiple_of(3) { Want::Value } else { Want::Key }
    };
    let (some, other) =
        drive(&mut Reader::new(total, options, Room::default(), every_third), bytes);
    same_heads(&all, &some, ending)?;
    same("the ending does not depend on what is wanted", &ending, &other)
}

/// The summary from a check's items, and from its own interest alone.
///
/// # Errors
/// [`Broken`] when they differ.
pub fn summary(bytes: &[u8], options: Options) -> Result<Summary, Broken> {
    let total = Some(bytes.len() as u64);
    let by_interest =
        summarize(&mut Reader::new(total, options, Room::default(), Summary::interest()), bytes);
    let by_check = summarize(&mut check(total, options, Want::Value), bytes);
    // Of a broken file the check may see less.
    if judge_with(bytes, options, Want::Key).judged.is_none() {
        return Ok(by_interest);
    }
    let text = |summary: &Summary| facts(summary);
    same("a summary needs no more than it wants", &text(&by_check), &text(&by_interest))?;
    Ok(by_check)
}

fn summarize<M>(machine: &mut M, bytes: &[u8]) -> Summary
where
    M: Machine<Kind = rocload_core::gguf::Items>,
{
    let mut summary = Summary::new();
    while let Need::At { offset, .. } = machine.need() {
        let at = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
        match machine.step(offset, &bytes[at..]) {
            Ok(step) if step.ready => summary.see(&machine.item(&bytes[at..])),
            Ok(step) if step.consumed == 0 => break,
            Ok(_) => {}
            Err(_) => break,
        }
    }
    summary
}

/// All that a summary tells, but for version and byte order.
pub fn facts(summary: &Summary) -> Vec<String> {
    use rocload_core::gguf::{Field, Hparam, TextField};
    let mut facts = vec![
        format!("{:?}", summary.kind()),
        format!("{:?}", summary.file_type()),
        format!("{:?}", summary.templates()),
        format!("{:?} tokens", summary.tokens()),
        format!("{} tensors of {} elements", summary.tensors(), summary.parameters()),
        format!("{} bytes, {} unknown", summary.data_bytes(), summary.unsized_tensors()),
        format!("incomplete {}", summary.is_incomplete()),
    ];
    facts.extend(TextField::ALL.iter().map(|&field| format!("{:?}", summary.text_of(field))));
    facts.extend(Field::ALL.iter().map(|&field| format!("{:?}", summary.field(field))));
    facts.extend(Hparam::ALL.iter().map(|&of| format!("{:?}", summary.per_layer(of))));
    facts
}

/// The reader takes what a naive reader takes, and gives the same; what one refuses, the other
/// refuses.
///
/// # Errors
/// [`Broken`].
pub fn reads_as_the_naive_reader(bytes: &[u8], options: Options) -> Verdict {
    let total = Some(bytes.len() as u64);
    let mut reader = Reader::new(total, options, Room::default(), Want::Value);
    let (items, ending) = drive(&mut reader, bytes);
    let found: Vec<Kept> =
        items.into_iter().filter(|item| !matches!(item, Kept::Warning(_))).collect();
    match (naive::read(bytes, &options.limits), ending) {
        (Some(naive), Ending::Complete) => {
            same("the items are those of a naive reader", &found, &naive.items)?;
            let start = reader.data_start();
            same("the header ends where it does", &start.map(|s| s.header_end), &Some(naive.end))?;
            let alignment = start.map(|start| u64::from(start.alignment));
            same("the alignment is the same", &alignment, &Some(naive.alignment))
        }
        (None, Ending::Failed(_) | Ending::Pending(_)) => Ok(()),
        (naive, ending) => {
            let law = "a naive reader takes what the reader takes";
            Err(Broken { law, found: format!("{} against {ending:?}", naive.is_some()) })
        }
    }
}

/// The [`Wanted`](rocload_core::gguf::Wanted) keys are those of a full reading, and no more
/// bytes are read for them.
///
/// # Errors
/// [`Broken`].
pub fn wanted_keys_are_found(bytes: &[u8], names: &[&str]) -> Verdict {
    let options = Options::default();
    let total = Some(bytes.len() as u64);
    let (all, ending) =
        drive(&mut Reader::new(total, options, Room::default(), Want::Value), bytes);
    if ending != Ending::Complete {
        return Ok(());
    }
    let wanted = rocload_core::gguf::Wanted::new(names);
    let mut reader = Reader::new(total, options, Room::default(), wanted);
    let (some, ending) = drive(&mut reader, bytes);
    same("wanted keys of a sound file are read", &ending, &Ending::Complete)?;
    let architecture = reader.architecture().map(<[u8]>::to_vec);
    for name in names {
        let whole = match name.strip_prefix("{arch}.") {
            None => name.as_bytes().to_vec(),
            Some(rest) => match &architecture {
                Some(of) => [of, &b"."[..], rest.as_bytes()].concat(),
                None => continue,
            },
        };
        let value = |items: &[Kept]| {
            let key = items
                .iter()
                .position(|item| matches!(item, Kept::Key { name, .. } if *name == whole))?;
            let shown = |item: &&Kept| {
                !matches!(item, Kept::Key { .. } | Kept::Tensor { .. } | Kept::Warning(_))
            };
            Some(items[key + 1..].iter().take_while(shown).cloned().collect::<Vec<_>>())
        };
        same("a wanted key has its value", &value(&all), &value(&some))?;
    }
    require(
        !some.iter().any(|item| matches!(item, Kept::Tensor { .. })),
        "nobody who wants keys is shown tensors",
        || format!("{} items", some.len()),
    )
}

/// The offset of an error.
pub fn failed(ending: Ending) -> Option<Error> {
    if let Ending::Failed(error) = ending { Some(error) } else { None }
}
