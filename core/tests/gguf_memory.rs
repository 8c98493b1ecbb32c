//! What reading a GGUF header allocates: nothing in storage on the stack, and for the check's
//! table what is there, never what is merely declared.
#![cfg(feature = "alloc")]

mod counting;

use std::fs;

use rocload_core::gguf::{Check, Options, Reader, Summary, Want};
use rocload_core::{End, Error, Machine, Need};
use rocload_fixtures::gguf::{Raw, committed, ty};

use counting::allocated;

/// Drives a machine over a slice; its items go to `see`.
fn drive<M>(machine: &mut M, bytes: &[u8], mut see: impl FnMut(&M, &[u8])) -> Result<End, Error>
where
    M: Machine,
{
    while let Need::At { offset, .. } = machine.need() {
        let input = &bytes[(offset as usize).min(bytes.len())..];
        let step = machine.step(offset, input)?;
        if step.ready {
            see(machine, input);
        } else if step.consumed == 0 {
            break;
        }
    }
    loop {
        match machine.end()? {
            End::Item => {}
            end => return Ok(end),
        }
    }
}

/// A model with a vocabulary of 20,000 tokens.
fn vocabulary() -> Vec<u8> {
    let mut raw = Raw::new(3, false);
    raw.counts(0, 3);
    raw.text_pair("general.architecture", "llama");
    raw.array("tokenizer.ggml.tokens", ty::STRING, 20_000);
    (0..20_000).for_each(|at| raw.text(&format!("token{at}")));
    raw.array("tokenizer.ggml.scores", ty::F32, 20_000);
    (0..20_000).for_each(|at| raw.u32(at));
    raw.0
}

#[test]
fn the_count_counts() {
    let (bytes, made) = allocated(|| vec![0u8; 100_000]);
    assert!(bytes >= made.len() && bytes < 200_000, "{bytes}");
}

#[test]
fn reader_and_summary_allocate_nothing() {
    let mut files: Vec<Vec<u8>> =
        committed().iter().map(|case| fs::read(case.file()).unwrap()).collect();
    files.push(vocabulary());
    let (mut whole, mut items) = (0, 0);
    for file in files {
        let total = Some(file.len() as u64);
        let (bytes, complete) = allocated(|| {
            let mut summary = Summary::new();
            let mut reader =
                Reader::new(total, Options::default(), [0u8; 256], Summary::interest());
            let end = drive(&mut reader, &file, |reader, input| summary.see(&reader.item(input)));
            let mut reader = Reader::new(total, Options::default(), [0u8; 256], Want::Value);
            let shown = drive(&mut reader, &file, |_, _| items += 1);
            let mut check =
                Check::new(total, Options::default(), [0u8; 256], [0u8; 4096], Want::Nothing);
            let checked = drive(&mut check, &file, |_, _| {});
            end == Ok(End::Complete) && shown == Ok(End::Complete) && checked == Ok(End::Complete)
        });
        assert_eq!(bytes, 0, "{} bytes of input", file.len());
        whole += usize::from(complete);
    }
    assert!(whole >= 14 && items > 20_000, "{whole} files, {items} items");
}

#[test]
fn the_checks_table_grows_with_what_is_there() {
    // Counts that the length would allow, were it not a lie; and ones that are refused.
    for (count, total) in [(1u64 << 20, Some(1u64 << 40)), (1 << 20, None), (u64::MAX, None)] {
        let mut raw = Raw::new(3, false);
        raw.counts(count, count);
        raw.0.resize(4096, 0);
        let (bytes, ending) = allocated(|| {
            let mut check =
                Check::new(total, Options::default(), [0u8; 256], Vec::new(), Want::Key);
            drive(&mut check, &raw.0, |_, _| {})
        });
        assert!(ending.is_err() && bytes <= 64 << 10, "{bytes} {ending:?}");
    }
    // 10,000 keys and tensors: 32 bytes each, and what growing by doubling costs.
    let mut raw = Raw::new(3, false);
    raw.counts(10_000, 10_000);
    (0..10_000).for_each(|at| raw.u32_pair(&format!("key{at}"), at));
    (0..10_000).for_each(|at| raw.tensor(&format!("t{at}"), &[8], 0, u64::from(at as u32) * 32));
    raw.align(32);
    let total = Some(raw.0.len() as u64 + 320_000);
    let (bytes, ending) = allocated(|| {
        let mut check = Check::new(total, Options::default(), [0u8; 256], Vec::new(), Want::Key);
        let end = drive(&mut check, &raw.0, |_, _| {});
        (end, check.verdict())
    });
    assert_eq!(ending.0, Ok(End::Complete));
    assert_eq!(ending.1.unwrap().warnings, 0);
    assert!(bytes <= 3 * 32 * 10_000, "{bytes}");
}
