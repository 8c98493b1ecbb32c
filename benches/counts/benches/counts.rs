//! What is counted. Each function does its work over an input that was made before, and gives back
//! what it was given, so that only the work is counted; each looks whether it did it.
//!
//! Run it by the program `counts`, which reads what gungraun tells and compares.
#![allow(missing_docs, unused_qualifications)]

use std::hint::black_box;

use gungraun::Callgrind;
use gungraun::prelude::*;
use rocload_core::gguf::{Check, Options, Reader, Summary, Want};
use rocload_core::gpu::ask::Refusal;
use rocload_core::gpu::{Policy as Choosing, Scan, Variables, Verdict, choose};
use rocload_core::http::{Item as Part, Method, Response};
use rocload_core::kpack::{OwnedToc, Strictness, Toc};
use rocload_core::llama::{Item as Token, Options as Reading, Stream};
use rocload_core::msgpack;
use rocload_core::serve::exit::Exit;
use rocload_core::serve::log::fact;
use rocload_core::serve::{Action, Event, Input, Outcome, Policy, Supervisor};
use rocload_core::sse::{Item, Parser};
use rocload_core::zstd::{FrameIndex, Workspace, decode_frame};
use rocload_core::{Capped, Limits, Machine, Millis, Need, visit};
use rocload_counts::input::{self, Answer, Frames, KERNELS, Key};

/// Bytes that arrive at once: those of a packet.
const CHUNK: usize = 1460;

#[library_benchmark]
#[bench::kernels_5000(input::archive())]
fn kpack_open(archive: Vec<u8>) -> (Vec<u8>, OwnedToc) {
    let toc = OwnedToc::read(&archive, &Limits::default(), Strictness::Strict).expect("opens");
    assert_eq!(toc.len(), KERNELS as usize);
    (archive, toc)
}

fn find((toc, keys): &(OwnedToc, Vec<Key>)) -> usize {
    let found = keys.iter().filter(|(binary, arch)| {
        let (binary, arch) = black_box((binary, arch));
        black_box(toc.find(binary, arch)).is_ok_and(|entry| entry.is_some())
    });
    found.count()
}

#[library_benchmark]
#[bench::of_5000(input::present())]
fn kpack_hit(input: (OwnedToc, Vec<Key>)) -> (OwnedToc, Vec<Key>) {
    assert_eq!(find(&input), KERNELS as usize);
    input
}

#[library_benchmark]
#[bench::of_5000(input::absent())]
fn kpack_miss(input: (OwnedToc, Vec<Key>)) -> (OwnedToc, Vec<Key>) {
    assert_eq!(find(&input), 0);
    input
}

// Checked and walked by the view that needs no memory.
#[library_benchmark]
#[bench::kernels_5000(input::table())]
fn kpack_toc((table, start, total): (Vec<u8>, u64, u64)) -> Vec<u8> {
    let strict = Strictness::Strict;
    let toc = Toc::parse(&table, start, total, &Limits::default(), strict).expect("sound");
    assert_eq!(toc.entries().map(black_box).count(), KERNELS as usize);
    table
}

#[library_benchmark]
#[bench::table_of_5000(input::table())]
fn msgpack_skip((table, start, _): (Vec<u8>, u64, u64)) -> Vec<u8> {
    let mut reader = msgpack::Reader::new(&table, start);
    reader.skip(16).expect("one value");
    assert!(reader.rest().is_empty());
    table
}

#[library_benchmark]
#[bench::frames_5000(input::region())]
fn frame_walk((archive, offset, size): (Vec<u8>, u64, u64)) -> Vec<u8> {
    let mut index = FrameIndex::new(offset, size, &Limits::default()).expect("a region");
    let mut spans = 0;
    while let Need::At { offset, .. } = index.need() {
        visit(&mut index, offset, &archive[offset as usize..], |span| {
            black_box(span);
            spans += 1;
        })
        .expect("sound");
    }
    assert_eq!(spans, KERNELS);
    archive
}

fn decode<const L: usize>(input: &mut Frames, workspace: &mut Workspace<L>) {
    for (frame, size) in &input.frames {
        let decoded = decode_frame(workspace, frame, &mut input.room[..*size]).expect("sound");
        assert_eq!(decoded.written, *size);
    }
}

#[library_benchmark]
#[bench::small_code_objects(input::fast())]
fn zstd_fast((mut frames, mut workspace): (Frames, Box<Workspace>)) -> (Frames, Box<Workspace>) {
    decode(&mut frames, &mut workspace);
    (frames, workspace)
}

#[library_benchmark]
#[bench::small_code_objects(input::small())]
fn zstd_small(
    (mut frames, mut workspace): (Frames, Box<Workspace<0>>),
) -> (Frames, Box<Workspace<0>>) {
    decode(&mut frames, &mut workspace);
    (frames, workspace)
}

#[library_benchmark]
#[bench::tiny_model(input::tiny())]
#[bench::vocabulary_20000(input::vocabulary())]
fn gguf_summary(file: Vec<u8>) -> Vec<u8> {
    let mut summary = Summary::new();
    let total = Some(file.len() as u64);
    let mut reader = Reader::new(total, Options::default(), [0u8; 256], Summary::interest());
    while let Need::At { offset, .. } = reader.need() {
        visit(&mut reader, offset, &file[offset as usize..], |item| summary.see(&item))
            .expect("sound");
    }
    assert!(black_box(&summary).tokens().is_some());
    file
}

#[library_benchmark]
#[bench::tiny_model(input::tiny())]
#[bench::vocabulary_20000(input::vocabulary())]
fn gguf_check(file: Vec<u8>) -> Vec<u8> {
    let total = Some(file.len() as u64);
    let table = Capped::new(1 << 20);
    let mut check = Check::new(total, Options::default(), [0u8; 256], table, Want::Nothing);
    while let Need::At { offset, .. } = check.need() {
        visit(&mut check, offset, &file[offset as usize..], |_| {}).expect("sound");
    }
    assert!(check.end().is_ok() && check.verdict().is_some());
    file
}

#[library_benchmark]
#[bench::events_1000(input::events())]
fn sse_parse(stream: Vec<u8>) -> Vec<u8> {
    let mut parser = Parser::new(&Limits::default(), [0u8; 2048]);
    let mut events = 0;
    for chunk in stream.chunks(CHUNK) {
        visit(&mut parser, 0, chunk, |item| {
            if let Item::Event(event) = item {
                events += usize::from(!event.data_str().expect("text").is_empty());
            }
        })
        .expect("sound");
    }
    assert_eq!(events, 1000);
    stream
}

#[library_benchmark]
#[bench::chat(input::response())]
fn http_response(bytes: Vec<u8>) -> Vec<u8> {
    let mut response = Response::new(Method::Post, &Limits::default(), [0u8; 4096]);
    let mut body = 0;
    for chunk in bytes.chunks(CHUNK) {
        visit(&mut response, 0, chunk, |item| {
            if let Part::Body(part) = item {
                body += black_box(part).len();
            }
        })
        .expect("sound");
    }
    assert!(body > 0 && response.need() == Need::Done);
    bytes
}

#[library_benchmark]
#[bench::chat(input::chat())]
fn llama_stream(body: Vec<u8>) -> Vec<u8> {
    let options = Reading::default();
    let mut stream = Stream::new(options, &Limits::default(), [0u8; 8192], [0u8; 2048]);
    let mut texts = 0;
    for chunk in body.chunks(CHUNK) {
        visit(&mut stream, 0, chunk, |item| {
            texts += usize::from(matches!(item, Token::Text { .. } | Token::Reasoning { .. }));
        })
        .expect("sound");
    }
    assert!(texts > 0);
    body
}

#[library_benchmark]
#[bench::two_boards(input::machine())]
fn gpu_scan(answers: Vec<Answer>) -> Vec<Answer> {
    let (gpus, others) = input::slots();
    let mut scan = Scan::new(gpus, others);
    for answer in &answers {
        black_box(scan.ask());
        for name in &answer.names {
            scan.entry(name).expect("room");
        }
        scan.answer(answer.file.as_deref().ok_or(Refusal::Missing));
    }
    let found = scan.finish().expect("room");
    let mut verdicts = [Verdict::default(); 16];
    let choice = choose(found.gpus(), &Choosing::default(), &Variables(&[]), &mut verdicts);
    assert!(choice.expect("room").chosen.is_some());
    answers
}

// A start, a while of loading, a line of output for each probe, many probes, and a stop.
#[library_benchmark]
#[bench::life(Policy::default())]
fn supervisor(policy: Policy) -> Supervisor {
    let mut supervisor = Supervisor::new(policy);
    let (mut now, mut probes, mut ready) = (0, 0, false);
    supervisor.handle(Input::Start, Millis(now));
    for round in 0..200 {
        while let Some(action) = supervisor.poll() {
            let input = match action {
                Action::Spawn { .. } => Input::Spawned { pid: 7 },
                Action::Probe { id, .. } => {
                    probes += 1;
                    let outcome = if probes < 20 { Outcome::Loading } else { Outcome::Ok };
                    Input::Probe { id, outcome }
                }
                Action::Signal(_) => Input::Exited { exit: Exit::Signal(15), oom_kill: false },
                Action::Notify(event) => {
                    ready |= matches!(event, Event::Ready { .. });
                    continue;
                }
                _ => continue,
            };
            supervisor.handle(input, Millis(now));
        }
        let line = black_box(&b"0.00.034.860 I srv    load_model: loading model 'm.gguf'"[..]);
        supervisor.handle(Input::Output(fact(line)), Millis(now));
        now = supervisor.poll_timeout().map_or(now + 25, |due| due.0.max(now));
        let input =
            if round == 190 { Input::Stop { grace: None, force: false } } else { Input::Tick };
        supervisor.handle(input, Millis(now));
    }
    assert!(ready && supervisor.state().is_final());
    supervisor
}

library_benchmark_group!(
    name = core,
    benchmarks = [
        kpack_open,
        kpack_hit,
        kpack_miss,
        kpack_toc,
        msgpack_skip,
        frame_walk,
        zstd_fast,
        zstd_small,
        gguf_summary,
        gguf_check,
        sse_parse,
        http_response,
        llama_stream,
        gpu_scan,
        supervisor
    ]
);

main!(
    config = LibraryBenchmarkConfig::default()
        // The C library's functions that differ from processor to processor: the plainest of each.
        .env(
            "GLIBC_TUNABLES",
            "glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX2,-AVX2_Usable,-AVX_Fast_Unaligned_Load,-SSSE3,-SSE4_2,-ERMS,-FSRM",
        )
        .tool(Callgrind::with_args(["--cache-sim=no"])),
    library_benchmark_groups = core
);
