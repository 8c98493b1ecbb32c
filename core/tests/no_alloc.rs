//! What works without an allocator, used as a microcontroller would: storage on the stack, no
//! feature needed. Run by `cargo test -p rocload-core --no-default-features`.

use rocload_core::gguf;
use rocload_core::http::{Item as Part, Method, Request, Response};
use rocload_core::kpack::{
    BinaryRow, Blob, EXAMPLE, EntryRow, Header, LentRows, Open, Opened, Slot, Strictness, Toc, load,
};
use rocload_core::msgpack::Reader;
use rocload_core::sse::{self, Parser};
use rocload_core::zstd::{FrameIndex, FrameSpan};
use rocload_core::{End, ErrorKind, Full, Limits, Machine, Need, visit};

#[test]
fn a_header_is_read_a_toc_walked_and_an_entry_found_by_target() {
    let limits = Limits::embedded();
    let total = EXAMPLE.len() as u64;
    let mut open = Open::new(total, limits, Strictness::Strict, [0u8; 512], ());
    let mut seen = 0;
    while let Need::At { offset, min, .. } = open.need() {
        // A bus that gives 16 bytes at a time.
        let at = offset as usize;
        let input = &EXAMPLE[at..EXAMPLE.len().min(at + min.max(16))];
        visit(&mut open, offset, input, |item| match item {
            Opened::Header(header) => assert_eq!(header.toc_offset, 76),
            Opened::Toc(toc) => seen = toc.entries().count(),
        })
        .unwrap();
    }
    assert_eq!(seen, 1);
    let toc = open.toc().unwrap();
    let entry = toc.find_target(b"lib/libsmall.so#0", "gfx90a:sramecc+:xnack-").unwrap().unwrap();
    assert_eq!(entry.arch, b"gfx90a");
    assert_eq!(toc.find_target(b"lib/libsmall.so#0", "gfx1100"), Ok(None));

    let (offset, len) = (entry.offset.unwrap(), entry.stored_size.unwrap());
    let stored = &EXAMPLE[offset as usize..][..len as usize];
    load::check(&entry, offset, stored, &limits).unwrap();
    let mut kernel = [0; 12];
    load::expand(&entry, offset, stored, None, &mut kernel).unwrap();
    assert_eq!(&kernel, b"a code objec");
}

#[test]
fn a_response_and_its_events_are_read_in_memory_on_the_stack() {
    let limits = Limits::embedded();
    let mut request = [0u8; 128];
    let written = Request::get("/v1/stream").write(&mut request).unwrap();
    assert!(request[..written].starts_with(b"GET /v1/stream HTTP/1.1\r\n"));
    let wire = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\ndata: to\r\n7\r\nken\r\n\r\n\r\n0\r\n\r\n";
    let mut response = Response::new(Method::Get, &limits, [0u8; 128]);
    let mut parser = Parser::new(&limits, [0u8; 16]);
    let mut text = [0u8; 16];
    let mut len = 0;
    // A serial line that gives 5 bytes at a time.
    for chunk in wire.chunks(5) {
        visit(&mut response, 0, chunk, |part| {
            let Part::Body(body) = part else { return };
            visit(&mut parser, 0, body, |item| {
                let sse::Item::Event(event) = item else { panic!("{item:?}") };
                len = event.data.len();
                text[..len].copy_from_slice(event.data);
            })
            .unwrap();
        })
        .unwrap();
    }
    assert_eq!((&text[..len], response.need()), (&b"token"[..], Need::Done));
    assert_eq!(parser.end(), Ok(End::Complete));
}

#[test]
fn too_little_memory_is_its_own_error_and_says_how_much_would_do() {
    let total = EXAMPLE.len() as u64;
    let need = total - 76;
    let mut open = Open::new(total, Limits::embedded(), Strictness::Strict, [0u8; 64], ());
    let error = visit(&mut open, 0, EXAMPLE, |_| {}).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Full(Full { need }));
    // As much as it said is enough.
    let mut exact = [0u8; EXAMPLE.len() - 76];
    let mut open = Open::new(total, Limits::embedded(), Strictness::Strict, &mut exact[..], ());
    visit(&mut open, 0, EXAMPLE, |_| {}).unwrap();
    assert!(open.toc().is_some());

    let rows = |binaries: &mut [BinaryRow],
                entries: &mut [EntryRow],
                blobs: &mut [Blob],
                slots: &mut [Slot]| {
        LentRows::lend(binaries, entries, blobs, slots)
            .read(&EXAMPLE[76..], 76, total, &Limits::embedded(), Strictness::Strict)
            .map(|index| index.find(b"lib/libsmall.so#0", b"gfx90a").unwrap().unwrap().size)
            .map_err(|error| error.kind)
    };
    let (mut b, mut e, mut l, mut s) =
        ([BinaryRow::default()], [EntryRow::default()], [Blob::default()], [Slot::default()]);
    assert_eq!(rows(&mut b, &mut e, &mut l, &mut s), Ok(12));
    let full = Err(ErrorKind::Full(Full { need: 1 }));
    assert_eq!(rows(&mut [], &mut e, &mut l, &mut s), full);
    assert_eq!(rows(&mut b, &mut [], &mut l, &mut s), full);
    assert_eq!(rows(&mut b, &mut e, &mut [], &mut s), full);
    assert_eq!(rows(&mut b, &mut e, &mut l, &mut []), full);
}

#[test]
fn frames_are_walked_without_a_table() {
    let region = b"\x02\0\0\0\x03\0\0\0abc\x02\0\0\0de";
    let mut index = FrameIndex::new(0, region.len() as u64, &Limits::embedded()).unwrap();
    let mut last = FrameSpan::default();
    while let Need::At { offset, .. } = index.need() {
        visit(&mut index, offset, &region[offset as usize..], |span| last = span).unwrap();
    }
    assert_eq!((last.ordinal, last.offset, last.len), (1, 15, 2));
}

#[test]
fn metadata_is_read_in_place() {
    let header = Header::parse(EXAMPLE, EXAMPLE.len() as u64).unwrap();
    let bytes = &EXAMPLE[header.toc_offset as usize..];
    let mut reader = Reader::new(bytes, header.toc_offset);
    let pairs = reader.map().unwrap();
    for _ in 0..pairs {
        reader.str().unwrap();
        reader.skip(16).unwrap();
    }
    assert!(reader.rest().is_empty());
    let toc = Toc::parse(bytes, 76, EXAMPLE.len() as u64, &Limits::embedded(), Strictness::Strict);
    assert_eq!(toc.unwrap().group_name(), Some(&b"small"[..]));
}

#[test]
fn a_models_header_is_read_and_checked() {
    let file = gguf::EXAMPLE;
    let options = gguf::Options { limits: Limits::embedded(), ..Default::default() };
    let total = Some(file.len() as u64);
    let mut summary = gguf::Summary::new();
    let mut table = [0u8; 3 * 32];
    let mut check =
        gguf::Check::new(total, options, [0u8; 32], &mut table[..], gguf::Summary::interest());
    while let Need::At { offset, min, .. } = check.need() {
        // A bus that gives 16 bytes at a time.
        let at = offset as usize;
        let input = &file[at..file.len().min(at + min.max(16))];
        visit(&mut check, offset, input, |item| summary.see(&item)).unwrap();
    }
    assert_eq!(check.end(), Ok(End::Complete));
    let verdict = check.verdict().unwrap();
    assert_eq!((verdict.start.offset, verdict.missing, verdict.warnings), (192, Some(0), 0));
    assert_eq!(summary.get(gguf::Hparam::ContextLength), gguf::Found::Value(2048));
}

#[test]
fn a_check_without_memory_says_what_it_did_not_do() {
    let file = gguf::EXAMPLE;
    let total = Some(file.len() as u64);
    let mut check =
        gguf::Check::new(total, Default::default(), [0u8; 32], [0u8; 2 * 32], gguf::Want::Nothing);
    while let Need::At { offset, .. } = check.need() {
        visit(&mut check, offset, &file[offset as usize..], |_| {}).unwrap();
    }
    let mut unchecked = 0;
    while check.end() == Ok(End::Item) {
        let note = gguf::Note::Unchecked(gguf::Unchecked::Keys);
        unchecked += usize::from(
            matches!(check.item(&[]), gguf::Item::Warning(warning) if warning.note == note),
        );
    }
    assert_eq!(unchecked, 1);

    let mut reader = gguf::Reader::new(total, Default::default(), [0u8; 8], gguf::Want::Key);
    let error = visit(&mut reader, 0, file, |_| {}).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Full(Full { need: 20 }));
}

#[test]
fn a_server_is_planned_and_supervised_without_a_heap() {
    use rocload_core::Millis;
    use rocload_core::serve::exit::{Class, Exit};
    use rocload_core::serve::log::{BufferKind, Facts, fact};
    use rocload_core::serve::plan::{Endpoint, Plan, Settings, Tuning};
    use rocload_core::serve::{Action, Input, Outcome, Policy, State, Supervisor};

    let tuning = Tuning { context: Some(512), ..Tuning::default() };
    let settings = Settings { tuning, ..Settings::new(b"m", Endpoint::Unix(b"/s.sock")) };
    let (mut line, mut len) = ([0u8; 64], 0);
    Plan::new(&settings, None).unwrap().args(|arg| {
        line[len..len + arg.len()].copy_from_slice(arg);
        line[len + arg.len()] = b' ';
        len += arg.len() + 1;
    });
    assert_eq!(&line[..len], b"--model m --host /s.sock --ctx-size 512 ");

    let mut server = Supervisor::new(Policy::default());
    let mut facts = Facts::new();
    server.handle(Input::Start, Millis(0));
    assert_eq!(server.poll(), Some(Action::Spawn { attempt: 1 }));
    server.handle(Input::Spawned { pid: 1 }, Millis(0));
    for text in [&b"a: CPU KV buffer size = 1.50 MiB"[..], b"srv  llama_server: model loaded"] {
        facts.see(&fact(text));
        server.handle(Input::Output(fact(text)), Millis(10));
    }
    assert_eq!(facts.total(BufferKind::Kv), 3 << 19);
    while let Some(action) = server.poll() {
        if let Action::Probe { id, .. } = action {
            server.handle(Input::Probe { id, outcome: Outcome::Ok }, Millis(11));
        }
    }
    assert_eq!(server.state(), State::Ready);
    server.handle(Input::Exited { exit: Exit::Signal(4), oom_kill: false }, Millis(99));
    let State::Failed(failure) = server.state() else { panic!("it is gone") };
    assert_eq!(failure.class(), Some(Class::WrongCpuBuild));
}
