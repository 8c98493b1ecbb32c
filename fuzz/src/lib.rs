//! The fuzz targets, as functions over bytes: each calls laws and panics when one is broken.
//!
//! `fuzz_targets/` wraps them for libFuzzer; `tests/replay.rs` runs them over their corpora with
//! any toolchain.

use core::cell::RefCell;

use laws::counting::Counting;
use laws::{Broken, kernel, kpack, msgpack as law};
use rocload_core::Limits;
use rocload_core::kpack::Strictness;
use rocload_core::zstd::{Decompress, Ruzstd, Workspace};

mod bundle;
mod gguf;
mod gguf_split;
mod gpu;
mod http;
mod llama;
mod roundtrip;
mod search;
mod serve;
mod sse;
mod structured;
mod zstd;

pub use bundle::bundle;
pub use gguf::{gguf_reader, gguf_tensors};
pub use gguf_split::gguf_split;
pub use gpu::{sysfs, visible_devices};
pub use http::http_response;
pub use llama::{json_scan, llama_bodies, llama_chunk};
pub use roundtrip::kpack_roundtrip;
pub use search::{hipk_reference, kpack_search, target_id};
pub use serve::{serve, serve_lines, serve_start};
pub use sse::sse;
pub use structured::{
    gguf_fit, gguf_header, gguf_write, http_deadline, http_reply, http_request, kpack_model,
    llama_events, llama_request, zstd_blocks,
};
pub use zstd::{frame_index, zstd_frame, zstd_stream};

/// Counts what is allocated, for the laws of memory.
#[global_allocator]
static COUNTING: Counting = Counting;

/// A target: its name, which its corpus and its dictionary have too, and what it does with an input.
pub type Target = (&'static str, fn(&[u8]));

/// Every target.
pub const TARGETS: &[Target] = &[
    ("bundle", bundle),
    ("frame_index", frame_index),
    ("gguf_fit", gguf_fit),
    ("gguf_header", gguf_header),
    ("gguf_reader", gguf_reader),
    ("gguf_split", gguf_split),
    ("gguf_tensors", gguf_tensors),
    ("gguf_write", gguf_write),
    ("hipk_reference", hipk_reference),
    ("http_deadline", http_deadline),
    ("http_reply", http_reply),
    ("http_request", http_request),
    ("http_response", http_response),
    ("json_scan", json_scan),
    ("kpack_kernel", kpack_kernel),
    ("kpack_model", kpack_model),
    ("kpack_open", kpack_open),
    ("kpack_roundtrip", kpack_roundtrip),
    ("kpack_search", kpack_search),
    ("llama_bodies", llama_bodies),
    ("llama_chunk", llama_chunk),
    ("llama_events", llama_events),
    ("llama_request", llama_request),
    ("msgpack", msgpack),
    ("serve", serve),
    ("serve_lines", serve_lines),
    ("serve_start", serve_start),
    ("sse", sse),
    ("sysfs", sysfs),
    ("target_id", target_id),
    ("visible_devices", visible_devices),
    ("zstd_blocks", zstd_blocks),
    ("zstd_frame", zstd_frame),
    ("zstd_stream", zstd_stream),
];

/// Caps that keep one input fast and small; all else as on a desktop.
fn limits() -> Limits {
    let mut limits = Limits::default();
    limits.toc_bytes = 1 << 20;
    limits.kernels = 4096;
    limits.kernel_bytes = 1 << 20;
    limits.window_bytes = 1 << 20;
    limits
}

const BOTH: [Strictness; 2] = [Strictness::Strict, Strictness::Compat];

fn hold(verdict: Result<(), Broken>) {
    if let Err(broken) = verdict {
        panic!("{broken}");
    }
}

/// Numbers that differ from input to input and never for one.
fn seed(bytes: &[u8]) -> u64 {
    let fold = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().take(4096).fold(bytes.len() as u64, fold)
}

/// An archive is opened in chunks of any size, and read through every view of its table of
/// contents: one verdict, the same entries, lookups and order.
pub fn kpack_open(bytes: &[u8]) {
    let limits = limits();
    let (total, seed) = (bytes.len() as u64, seed(bytes));
    let either = |bit: u64| BOTH[(seed >> bit & 1) as usize];
    hold(kpack::views_agree(bytes, &limits, either(0), Some(seed)));
    hold(kpack::owned_agrees(bytes, &limits, either(1), Some(seed)));
    match seed >> 9 & 7 {
        0 => hold(laws::limits::kpack(bytes, seed)),
        1 => hold(laws::memory::kpack(bytes, &limits)),
        _ => {}
    }
    // Of a file that is now and then shorter or longer than it was said to be.
    let said = if seed.is_multiple_of(4) { total ^ (1 << (seed % 12)) } else { total };
    let strictness = BOTH[usize::from(seed.is_multiple_of(3))];
    hold(kpack::open_any_way(bytes, said, &limits, strictness, Some(seed)));
}

/// An archive from its first byte to its last kernel: the frame walk, the gates before each
/// allocation, decoding whole and by pieces with every backend against the C library.
pub fn kpack_kernel(bytes: &[u8]) {
    thread_local! {
        // Kept from input to input, as a program keeps them from kernel to kernel.
        static DECODERS: RefCell<[Box<dyn Decompress>; 3]> = RefCell::new([
            Box::new(Workspace::fast()),
            Box::new(Workspace::<0>::new()),
            Box::new(Ruzstd::new()),
        ]);
    }
    DECODERS.with_borrow_mut(|decoders| {
        let strictness = BOTH[usize::from(seed(bytes).is_multiple_of(3))];
        for decoder in decoders {
            let verdict =
                kernel::archive(&mut **decoder, bytes, &limits(), strictness, seed(bytes));
            hold(verdict.map(|_| ()));
        }
    });
}

/// MessagePack of any kind: the reader and its skip against the crate `rmpv`, the writer against
/// it with what was read, typed reads, nesting.
pub fn msgpack(bytes: &[u8]) {
    hold(law::reads_as_the_oracle(bytes));
    hold(law::typed_reads_agree_with_tokens(bytes));
    if let [nested, allowed, ..] = *bytes {
        hold(law::depth_is_capped(usize::from(nested), allowed));
    }
}
