//! What is counted over. All of it is made or read before the counting begins, and without the
//! crate of fixtures: see this crate's manifest.

use std::fs;
use std::path::Path;

use rocload_core::gpu::ask::{Ask, Refusal};
use rocload_core::gpu::{Gpu, OtherCard, Scan};
use rocload_core::http::{Item, Method, Response};
use rocload_core::kpack::{Header, Kernel, OwnedToc, Scheme, Strictness, WriteOptions, Writer};
use rocload_core::zstd::{Workspace, scan};
use rocload_core::{Limits, visit};

/// Kernels of the archive.
pub const KERNELS: u32 = 5_000;
/// Tokens of the model's vocabulary.
pub const TOKENS: u64 = 20_000;

/// The names of a kernel.
pub type Key = (Vec<u8>, Vec<u8>);

fn fixture(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(name);
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Numbers without a pattern, the same in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

/// An archive of [`KERNELS`] kernels in frames of 64 bytes, which are no zstd: nothing decodes them.
pub fn archive() -> Vec<u8> {
    let mut options = WriteOptions::default();
    options.scheme = Scheme::ZstdPerKernel;
    let mut writer = Writer::new(b"g", b"f", &options).expect("a writer");
    let mut archive = Vec::new();
    writer.header().write_to(&mut archive);
    for ordinal in 0..KERNELS {
        let (binary, arch) = key(ordinal);
        let kernel = Kernel::new(&binary, &arch, 5_000 + u64::from(ordinal % 999));
        for put in writer.add(&kernel, &[ordinal as u8; 64]).expect("a kernel") {
            put.write_to(&mut archive);
        }
    }
    for put in writer.finish().expect("an end").puts() {
        put.write_to(&mut archive);
    }
    archive
}

fn key(ordinal: u32) -> Key {
    (format!("lib/libfoo_bar.so.1#{ordinal}").into_bytes(), b"gfx1030".to_vec())
}

/// The table of [`archive`], where it begins, and the length of the archive.
pub fn table() -> (Vec<u8>, u64, u64) {
    let archive = archive();
    let total = archive.len() as u64;
    let start = Header::parse(&archive, total).expect("a header").toc_offset;
    (archive[start as usize..].to_vec(), start, total)
}

/// The opened archive and every name in it, in a random order.
pub fn present() -> (OwnedToc, Vec<Key>) {
    let toc = OwnedToc::read(&archive(), &Limits::default(), Strictness::Strict).expect("opens");
    let mut keys: Vec<Key> = (0..KERNELS).map(key).collect();
    let mut random = Random(1);
    for at in (1..keys.len()).rev() {
        keys.swap(at, random.below(at + 1));
    }
    (toc, keys)
}

/// The opened archive and as many names that it has not.
pub fn absent() -> (OwnedToc, Vec<Key>) {
    let (toc, mut keys) = present();
    keys.iter_mut().for_each(|(binary, _)| binary.push(b'~'));
    (toc, keys)
}

/// The zstd region of [`archive`]: all of it, where it begins and its length.
pub fn region() -> (Vec<u8>, u64, u64) {
    let archive = archive();
    let toc = OwnedToc::read(&archive, &Limits::default(), Strictness::Strict).expect("opens");
    let (offset, size) = toc.toc().zstd_blob().expect("a region");
    (archive, offset, size)
}

/// Frames of small code objects, as they are committed, with room for the largest content.
#[derive(Debug)]
pub struct Frames {
    /// A frame and the length of its content, each.
    pub frames: Vec<(Vec<u8>, usize)>,
    /// Room.
    pub room: Vec<u8>,
}

fn frames() -> Frames {
    let archive = fixture("kpack/demo_zstd.kpack");
    let word = |at: usize| {
        let bytes = archive[at..at + 4].try_into().expect("four bytes");
        u32::from_le_bytes(bytes) as usize
    };
    let (mut at, mut frames) = (68, Vec::new());
    for _ in 0..word(64) {
        let bytes = archive[at + 4..][..word(at)].to_vec();
        at += 4 + bytes.len();
        let scanned = scan(&bytes).expect("a frame");
        frames.push((bytes, scanned.content_size.expect("a size") as usize));
    }
    let room = vec![0; frames.iter().map(|frame| frame.1).max().unwrap_or(0)];
    Frames { frames, room }
}

/// The frames and a workspace of the fast layout.
pub fn fast() -> (Frames, Box<Workspace>) {
    (frames(), Box::new(Workspace::fast()))
}

/// The frames and a workspace of the small layout.
pub fn small() -> (Frames, Box<Workspace<0>>) {
    (frames(), Box::new(Workspace::new()))
}

/// A model's header with a vocabulary of [`TOKENS`], and no tensor.
pub fn vocabulary() -> Vec<u8> {
    fn text(out: &mut Vec<u8>, text: &str) {
        out.extend((text.len() as u64).to_le_bytes());
        out.extend(text.as_bytes());
    }
    let mut out = b"GGUF\x03\0\0\0".to_vec();
    out.extend(0u64.to_le_bytes());
    out.extend(5u64.to_le_bytes());
    text(&mut out, "general.architecture");
    out.extend(8u32.to_le_bytes());
    text(&mut out, "llama");
    for (name, value) in [("llama.context_length", 4096u32), ("llama.block_count", 32)] {
        text(&mut out, name);
        out.extend(4u32.to_le_bytes());
        out.extend(value.to_le_bytes());
    }
    let mut random = Random(2);
    let mut array = |name: &str, ty: u32, each: &mut dyn FnMut(&mut Vec<u8>, &mut Random)| {
        text(&mut out, name);
        out.extend(9u32.to_le_bytes());
        out.extend(ty.to_le_bytes());
        out.extend(TOKENS.to_le_bytes());
        (0..TOKENS).for_each(|_| each(&mut out, &mut random));
    };
    array("tokenizer.ggml.tokens", 8, &mut |out, random| {
        text(out, &"abcdefghijkl"[..1 + random.below(12)]);
    });
    array("tokenizer.ggml.scores", 6, &mut |out, random| {
        out.extend((random.below(1000) as f32).to_le_bytes());
    });
    out
}

/// The committed tiny model.
pub fn tiny() -> Vec<u8> {
    fixture("gguf/tiny-llama.gguf")
}

/// A stream of 1,000 events as llama-server writes them.
pub fn events() -> Vec<u8> {
    let words = [" the", " of", "ing", " loads", " 世界", " 🙂", " é", " memory"];
    let mut random = Random(3);
    let event = |_| {
        let word = words[random.below(words.len())];
        format!(
            "data: {{\"choices\":[{{\"finish_reason\":null,\"index\":0,\"delta\":{{\"content\":\"{word}\"}}}}],\
             \"created\":1790000000,\"id\":\"chatcmpl-{:032x}\",\"model\":\"model.gguf\",\
             \"object\":\"chat.completion.chunk\"}}\n\n",
            random.below(1 << 30)
        )
    };
    (0..1000).map(event).collect::<String>().into_bytes()
}

/// A streamed answer of a real server, as it came from the socket.
pub fn response() -> Vec<u8> {
    fixture("sse/chat.http")
}

/// Its body.
pub fn chat() -> Vec<u8> {
    let mut body = Vec::new();
    let mut response = Response::new(Method::Post, &Limits::default(), vec![0u8; 4096]);
    visit(&mut response, 0, &self::response(), |item| {
        if let Item::Body(part) = item {
            body.extend_from_slice(part);
        }
    })
    .expect("a sound answer");
    body
}

/// What a machine answers to one question of a scan.
#[derive(Debug, Default)]
pub struct Answer {
    /// Names in a folder.
    pub names: Vec<Vec<u8>>,
    /// A file.
    pub file: Option<Vec<u8>>,
}

/// Slots for what a scan finds.
pub fn slots() -> ([Gpu; 16], [OtherCard; 4]) {
    ([Gpu::default(); 16], [OtherCard::default(); 4])
}

/// The answers of a committed machine with two boards, in the order in which a scan asks.
pub fn machine() -> Vec<Answer> {
    let text = fixture("sysfs/two_boards.json");
    let machine: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
    let files = machine["files"].as_object().expect("files");
    let empty = machine["empty_dirs"].as_array().expect("folders");
    let paths =
        || files.keys().map(String::as_str).chain(empty.iter().filter_map(|path| path.as_str()));
    let (gpus, others) = slots();
    let mut scan = Scan::new(gpus, others);
    let mut answers = Vec::new();
    while let Some(ask) = scan.ask() {
        let path = ask.to_string();
        let mut answer = Answer::default();
        if let Ask::List(_) = ask {
            let below = format!("{path}/");
            let rest = paths().filter_map(|path| path.strip_prefix(&below));
            let first = |rest: &str| rest.split('/').next().unwrap_or_default().as_bytes().to_vec();
            answer.names = rest.map(first).collect();
            answer.names.sort();
            answer.names.dedup();
            for name in &answer.names {
                scan.entry(name).expect("room");
            }
        }
        answer.file = files.get(&path).and_then(|file| file.as_str()).map(Into::into);
        scan.answer(answer.file.as_deref().ok_or(Refusal::Missing));
        answers.push(answer);
    }
    answers
}
