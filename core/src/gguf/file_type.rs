//! `general.file_type`: the quantization mix that a whole file is called by.
//!
//! The list is llama.cpp's own (`llama_ftype`), neither [`GgmlType`] nor the
//! older `ggml_ftype`. Bit 1024 says that the writer guessed.
//!
//! ```
//! use rocload_core::gguf::FileType;
//!
//! assert_eq!(FileType(15).name(), Some("Q4_K_M"));
//! assert_eq!(FileType(1024 + 15).to_string(), "Q4_K_M (guessed)");
//! assert_eq!(FileType(999).to_string(), "file type 999");
//! ```
//!
//! Source: `llama.h` of llama.cpp's build 11434.

use core::fmt;

use super::GgmlType;

/// A file's type by the number stored under `general.file_type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileType(
    /// The number, as stored, with the guessed bit.
    pub u32,
);

const GUESSED: u32 = 1024;

/// Indexed by number, the removed ones included.
const NAMES: [&str; 42] = [
    "F32",
    "F16",
    "Q4_0",
    "Q4_1",
    "Q4_1_SOME_F16",
    "Q4_2",
    "Q4_3",
    "Q8_0",
    "Q5_0",
    "Q5_1",
    "Q2_K",
    "Q3_K_S",
    "Q3_K_M",
    "Q3_K_L",
    "Q4_K_S",
    "Q4_K_M",
    "Q5_K_S",
    "Q5_K_M",
    "Q6_K",
    "IQ2_XXS",
    "IQ2_XS",
    "Q2_K_S",
    "IQ3_XS",
    "IQ3_XXS",
    "IQ1_S",
    "IQ4_NL",
    "IQ3_S",
    "IQ3_M",
    "IQ2_S",
    "IQ2_M",
    "IQ4_XS",
    "IQ1_M",
    "BF16",
    "Q4_0_4_4",
    "Q4_0_4_8",
    "Q4_0_8_8",
    "TQ1_0",
    "TQ2_0",
    "MXFP4_MOE",
    "NVFP4",
    "Q1_0",
    "Q2_0",
];

impl FileType {
    /// The number without the guessed bit.
    pub fn id(self) -> u32 {
        self.0 & !GUESSED
    }

    /// The writer derived the type from the tensors instead of being told it.
    pub fn guessed(self) -> bool {
        self.0 & GUESSED != 0
    }

    /// The name without the guessed bit; `None` = not in the list.
    pub fn name(self) -> Option<&'static str> {
        usize::try_from(self.id()).ok().and_then(|id| NAMES.get(id)).copied()
    }

    /// llama.cpp no longer reads files of this type.
    pub fn removed(self) -> bool {
        matches!(self.id(), 4..=6 | 33..=35)
    }

    /// The type of a file without the key, as llama.cpp's loader guesses it from the type that
    /// most tensors have: the plain or medium mix of it, with the guessed bit set.
    pub fn guess(most: GgmlType) -> Option<Self> {
        let id = match most.0 {
            0 => 0,
            1 => 1,
            2 => 2,
            3 => 3,
            6 => 8,
            7 => 9,
            8 => 7,
            10 => 10,
            11 => 12,
            12 => 15,
            13 => 17,
            14 => 18,
            16 => 19,
            17 => 20,
            18 => 23,
            19 => 24,
            20 => 25,
            21 => 26,
            22 => 28,
            23 => 30,
            29 => 31,
            30 => 32,
            34 => 36,
            35 => 37,
            39 => 38,
            40 => 39,
            41 => 40,
            42 => 41,
            _ => return None,
        };
        Some(Self(GUESSED | id))
    }
}

impl fmt::Display for FileType {
    /// `Q4_K_M`, `Q4_K_M (guessed)` or `file type 99`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name)?,
            None => write!(f, "file type {}", self.id())?,
        }
        if self.guessed() { f.write_str(" (guessed)") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_llama_h() {
        for (id, name) in [
            (0, "F32"),
            (1, "F16"),
            (7, "Q8_0"),
            (10, "Q2_K"),
            (15, "Q4_K_M"),
            (18, "Q6_K"),
            (19, "IQ2_XXS"),
            (24, "IQ1_S"),
            (30, "IQ4_XS"),
            (32, "BF16"),
            (36, "TQ1_0"),
            (38, "MXFP4_MOE"),
            (41, "Q2_0"),
        ] {
            assert_eq!(FileType(id).name(), Some(name), "{id}");
        }
        assert_eq!(FileType(42).name(), None);
        assert_eq!(FileType(u32::MAX).name(), None);
    }

    #[test]
    fn a_guess_carries_its_bit_and_names_the_tensors_type() {
        for ty in GgmlType::all() {
            let Some(guess) = FileType::guess(ty) else { continue };
            assert!(guess.guessed());
            let name = guess.name().unwrap().to_ascii_lowercase();
            assert!(name.starts_with(&ty.name().unwrap().to_ascii_lowercase()), "{ty}: {name}");
        }
        assert_eq!(FileType::guess(GgmlType(24)), None);
        assert_eq!(FileType::guess(GgmlType(4)), None);
    }
}
