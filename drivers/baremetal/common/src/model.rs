//! A model's header: walked over in little memory, or checked and summed up where there is more.

use rocload_core::gguf::{Check, Hparam, Item, Key, Kind, Options, Reader, Summary, Want};
use rocload_core::{End, Error, ErrorKind, Machine};

use crate::{File, Kit, LIMITS, Wrong, drive, expect, tell};

/// What the model's generator put there.
const ARCHITECTURE: &[u8] = b"llama";
const CONTEXT: u64 = 2048;
const BLOCKS: u64 = 2;
const KEYS: u64 = 28;
const TENSORS: u64 = 21;
const TOKENS: u64 = 267;
const PARAMETERS: u64 = 108_224;
const DATA_AT: u64 = 6336;

/// What a walk over a header finds.
#[derive(Default)]
struct Found {
    keys: u64,
    tensors: u64,
    parameters: u64,
    context: Option<u64>,
    architecture: bool,
    data: Option<u64>,
}

fn want(key: &Key<'_>) -> Want {
    if key.name == b"llama.context_length" { Want::Value } else { Want::Key }
}

/// Walks over a header.
#[inline(never)]
fn walk(kit: &mut Kit<'_>, file: File) -> Result<Found, Error> {
    let options = Options { limits: LIMITS, ..Options::default() };
    let mut found = Found::default();
    // A key or the name of a tensor, where the buffer's end cuts it.
    let mut reader = Reader::new(Some(kit.files.len(file)), options, [0; 64], want);
    let _ = drive(&mut reader, kit.files, file, kit.buffer, &mut |item| match item {
        Item::Key(_) => found.keys += 1,
        Item::Value(value) => found.context = value.to_u64().ok(),
        Item::Tensor(tensor) => {
            found.tensors += 1;
            found.parameters += tensor.info.elements;
        }
        _ => {}
    })?;
    found.architecture = reader.architecture() == Some(ARCHITECTURE);
    found.data = reader.data_start().map(|start| start.offset);
    Ok(found)
}

/// Reads the header of a model whose tensors are elsewhere, and of one that is broken.
#[inline(never)]
pub(crate) fn header(kit: &mut Kit<'_>) -> Result<(), Wrong> {
    let found = walk(kit, File::Model)?;
    expect(found.architecture, "another architecture")?;
    expect(found.context == Some(CONTEXT), "another context length")?;
    expect(found.keys == KEYS && found.tensors == TENSORS, "other keys or tensors")?;
    expect(found.parameters == PARAMETERS, "another number of parameters")?;
    expect(found.data == Some(DATA_AT), "data in another place")?;
    tell!(kit.out, "model: llama, ", KEYS, " keys, ", TENSORS, " tensors, data at ", DATA_AT)?;

    let Err(error) = walk(kit, File::LongString) else {
        return Err(Wrong::Found("a broken model that was not refused"));
    };
    Wrong::Refused(error).tell(kit.out, "broken model: ")?;
    let right = matches!(error.kind, ErrorKind::Truncated { need: u64::MAX, .. });
    expect(right, "a broken model that was refused for another reason")
}

/// The same header, checked and summed up, in about 20 KiB of RAM.
///
/// # Errors
/// The first thing that is not as it should be.
#[inline(never)]
pub fn summary(kit: &mut Kit<'_>) -> Result<(), Wrong> {
    let options = Options { limits: LIMITS, ..Options::default() };
    let total = Some(kit.files.len(File::Model));
    let mut summary = Summary::new();
    // 32 bytes for each key or tensor, so that none is there twice, and none lies in another.
    let mut table = [0; 32 * 32];
    let mut check = Check::new(total, options, [0; 64], &mut table[..], Summary::interest());
    let mut end =
        drive(&mut check, kit.files, File::Model, kit.buffer, &mut |item| summary.see(&item))?;
    while end == End::Item {
        end = check.end()?;
    }
    let verdict = check.verdict().ok_or(Wrong::Found("no verdict on the model"))?;
    let get = |hparam| summary.get(hparam).value();
    expect(summary.kind() == Kind::Model, "another kind of model")?;
    expect(summary.architecture() == Some(ARCHITECTURE), "another architecture")?;
    expect(get(Hparam::ContextLength) == Some(CONTEXT), "another context length")?;
    expect(get(Hparam::BlockCount) == Some(BLOCKS), "another number of blocks")?;
    expect(summary.tokens() == Some(TOKENS), "another vocabulary")?;
    expect(summary.parameters() == PARAMETERS, "another number of parameters")?;
    expect(verdict.start.offset == DATA_AT, "data in another place")?;
    expect(verdict.missing == Some(0) && verdict.warnings == 0, "a model that is not whole")?;
    tell!(
        kit.out,
        "model checked: context ",
        CONTEXT,
        ", ",
        BLOCKS,
        " blocks, ",
        TOKENS,
        " tokens"
    )?;
    Ok(())
}
