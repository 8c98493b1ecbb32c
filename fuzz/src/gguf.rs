//! GGUF headers.

use laws::gguf::table;
use laws::{gguf as law, limits, memory};
use rocload_core::Limits;
use rocload_core::gguf::{Options, Strictness};

use crate::{hold, seed};

/// Caps that keep one input fast; some inputs are read in small parts, or meet a cap.
fn options(seed: u64) -> Options {
    let mut limits = Limits::default();
    limits.gguf_keys = 512;
    limits.gguf_tensors = 512;
    limits.gguf_header_bytes = 1 << 20;
    match seed % 5 {
        0 => limits.contiguous = 64,
        1 => limits.contiguous = 100,
        2 => {
            limits.gguf_header_bytes = 200;
            limits.gguf_depth = 2;
            limits.gguf_kept_string = 8;
        }
        _ => {}
    }
    let strictness = match seed / 5 % 4 {
        0 => Strictness::Specification,
        1 => Strictness::Llama,
        _ => Strictness::Tolerant,
    };
    Options { limits, strictness }
}

/// A header of any kind: the reader against a naive one, what is skipped against what is shown,
/// any chunking, with a length that is known, unknown or wrong, wanted keys and the summary.
pub fn gguf_reader(bytes: &[u8]) {
    let seed = seed(bytes);
    let options = options(seed);
    let len = bytes.len() as u64;
    let total = match seed / 20 % 4 {
        0 => None,
        1 => Some(len ^ (1 << (seed / 80 % 12))),
        _ => Some(len),
    };
    hold(law::any_chunking(bytes, total, options, Some(seed)));
    let tolerant = Options { strictness: Strictness::Tolerant, ..options };
    hold(law::reads_as_the_naive_reader(bytes, tolerant));
    let names = ["general.architecture", "{arch}.context_length", "tokenizer.ggml.model"];
    match seed >> 9 & 7 {
        0 => hold(limits::gguf(bytes, seed)),
        1 => hold(memory::gguf(bytes, &options.limits)),
        _ => {}
    }
    match seed >> 7 & 3 {
        0 => hold(law::wanted_keys_are_found(bytes, &names[..1 + (seed % 3) as usize])),
        1 => hold(law::summary(bytes, tolerant).map(|_| ())),
        _ => hold(law::wanting_changes_nothing(bytes, tolerant)),
    }
}

/// A tensor table, as the bytes themselves are one and as they describe one: the check against a
/// twin that compares every tensor with every other.
pub fn gguf_tensors(bytes: &[u8]) {
    let options = options(seed(bytes));
    hold(table::judged_as_by_the_twin(bytes, options));
    let model = table::model(bytes);
    hold(table::judged_as_by_the_twin(&model, options));
    hold(law::any_chunking(&model, Some(model.len() as u64), options, Some(seed(bytes))));
}
