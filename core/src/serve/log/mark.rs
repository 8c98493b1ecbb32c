//! Texts in the lines of a server that tell why it ends.

use memchr::{memmem, memrchr};

/// What an error line is a mark of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Mark {
    /// The address is taken.
    Bind,
    /// A flag is unknown or wrong.
    BadFlag,
    /// There are no kernels for this GPU.
    WrongGpuBuild,
    /// Memory could not be had.
    OutOfMemory,
    /// A GPU or its driver failed.
    GpuFault,
    /// The model's file cannot be opened.
    ModelMissing,
    /// The model's architecture is not known.
    ModelUnsupported,
    /// The model's file is damaged.
    ModelBroken,
    /// The model was not loaded, for whatever reason.
    LoadFailed,
    /// An assertion failed.
    Assertion,
}

impl Mark {
    pub(in crate::serve) const fn bit(self) -> u32 {
        1 << self as u32
    }
}

/// The texts, in the order in which they are looked for: the first that a line has is its mark.
pub const MARKS: &[(&str, Mark)] = &[
    ("couldn't bind HTTP server socket", Mark::Bind),
    ("couldn't bind to server socket", Mark::Bind),
    ("error: invalid argument:", Mark::BadFlag),
    ("error while handling argument", Mark::BadFlag),
    ("expected value for argument", Mark::BadFlag),
    ("error: argument ", Mark::BadFlag),
    ("device kernel image is invalid", Mark::WrongGpuBuild),
    ("invalid device function", Mark::WrongGpuBuild),
    ("no kernel image is available", Mark::WrongGpuBuild),
    ("rocBLAS error: Cannot read", Mark::WrongGpuBuild),
    ("out of memory", Mark::OutOfMemory),
    ("cudaMalloc failed", Mark::OutOfMemory),
    ("failed to allocate", Mark::OutOfMemory),
    ("unable to allocate", Mark::OutOfMemory),
    ("annot allocate memory", Mark::OutOfMemory),
    ("std::bad_alloc", Mark::OutOfMemory),
    ("ErrorOutOfDeviceMemory", Mark::OutOfMemory),
    ("ErrorOutOfHostMemory", Mark::OutOfMemory),
    ("ROCm error", Mark::GpuFault),
    ("CUDA error", Mark::GpuFault),
    ("HIP error", Mark::GpuFault),
    ("Memory access fault by GPU", Mark::GpuFault),
    ("HSA_STATUS_ERROR", Mark::GpuFault),
    ("HW Exception by GPU", Mark::GpuFault),
    ("failed to open GGUF file", Mark::ModelMissing),
    ("unknown model architecture", Mark::ModelUnsupported),
    ("unknown pre-tokenizer type", Mark::ModelUnsupported),
    ("not within the file bounds", Mark::ModelBroken),
    ("corrupted or incomplete", Mark::ModelBroken),
    ("invalid magic", Mark::ModelBroken),
    ("failed to load model", Mark::LoadFailed),
    ("error loading model", Mark::LoadFailed),
    ("GGML_ASSERT", Mark::Assertion),
    ("Assertion `", Mark::Assertion),
];

/// A line with this goes on without what it could not have.
const GOES_ON: &[u8] = b"retrying";

/// The mark of a line's text.
pub(super) fn find(text: &[u8]) -> Option<Mark> {
    // What is quoted is a path or a value, and may say anything; so is what follows "from".
    let (front, back) = without_quoted(text);
    let front = match memmem::find(front, b"failed to load model from ") {
        Some(at) => &front[..at + 20],
        None => front,
    };
    let has =
        |text: &str| [front, back].iter().any(|part| memmem::find(part, text.as_bytes()).is_some());
    let (_, mark) = MARKS.iter().find(|(text, _)| has(text))?;
    let goes_on = *mark == Mark::OutOfMemory && memmem::find(text, GOES_ON).is_some();
    (!goes_on).then_some(*mark)
}

/// What comes before the first quotation mark and after the last one. One inside of a word
/// (`couldn't`) is none.
fn without_quoted(text: &[u8]) -> (&[u8], &[u8]) {
    let opens =
        |at: &usize| at.checked_sub(1).is_none_or(|before| !text[before].is_ascii_alphanumeric());
    let Some(first) = memchr::memchr_iter(b'\'', text).find(opens) else { return (text, &[]) };
    let last = memrchr(b'\'', text).unwrap_or(first);
    (&text[..first], &text[last + 1..])
}
