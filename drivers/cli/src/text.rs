//! Numbers for people.

use std::time::Duration;

/// A size in binary units, at most 8 characters wide: `512 B`, `3.8 KiB`, `1023 MiB`.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    // As it would be printed: 1023.9 is 1024 and belongs to the next unit.
    while value >= 1023.5 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if value < 99.95 {
        format!("{value:.1} {}", UNITS[unit])
    } else {
        format!("{value:.0} {}", UNITS[unit])
    }
}

/// How many times smaller the stored form is: `3.4x`; `-` where nothing is stored.
pub(crate) fn ratio(size: u64, stored: u64) -> String {
    if stored == 0 {
        return "-".into();
    }
    let ratio = size as f64 / stored as f64;
    if ratio < 99.95 { format!("{ratio:.1}x") } else { format!("{ratio:.0}x") }
}

/// A whole number with its thousands apart: `2,000`.
pub(crate) fn number(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at != 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 kernel`, `2,000 kernels`.
pub(crate) fn count(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", number(n), if n == 1 { one } else { many })
}

/// `8 kernels`.
pub(crate) fn kernels(n: u64) -> String {
    count(n, "kernel", "kernels")
}

/// A duration with two digits that matter: `35 ms`, `1.2 s`.
pub(crate) fn duration(time: Duration) -> String {
    if time.as_secs() == 0 {
        format!("{} ms", time.as_millis())
    } else {
        format!("{:.1} s", time.as_secs_f64())
    }
}

/// A size as it is typed: bytes, or a number with `K`, `M`, `G` or `T`, as in `16M` or `16MiB`.
pub(crate) fn parse_size(text: &str) -> Result<u64, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let shift = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kib" => 10,
        "m" | "mib" => 20,
        "g" | "gib" => 30,
        "t" | "tib" => 40,
        _ => return Err("a size is a number of bytes, or one with K, M, G or T".into()),
    };
    let number: u64 = number.parse().map_err(|_| "a size is a whole number".to_owned())?;
    number.checked_mul(1 << shift).ok_or_else(|| "this size is too large".into())
}

/// Bytes as lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |n: u8| char::from(DIGITS[usize::from(n & 15)]);
    bytes.iter().flat_map(|&byte| [digit(byte >> 4), digit(byte)]).collect()
}

/// A word of a shell command, quoted where it must be.
pub(crate) fn shell_word(word: &str) -> String {
    let safe = |c: char| c.is_ascii_alphanumeric() || "_-./:+,@%".contains(c);
    if !word.is_empty() && word.chars().all(safe) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_fit_their_column() {
        for (bytes, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (3904, "3.8 KiB"),
            (102_348, "99.9 KiB"),
            (102_400, "100 KiB"),
            (1_047_551, "1023 KiB"),
            (1_048_100, "1.0 MiB"),
            (1 << 30, "1.0 GiB"),
            (u64::MAX, "16.0 EiB"),
        ] {
            assert_eq!(size(bytes), text);
            assert!(size(bytes).len() <= 8);
        }
    }

    #[test]
    fn ratios() {
        assert_eq!(ratio(3904, 1147), "3.4x");
        assert_eq!(ratio(1 << 20, 1024), "1024x");
        assert_eq!(ratio(5, 0), "-");
    }

    #[test]
    fn numbers_have_their_thousands_apart() {
        let texts = [0, 999, 1000, 20_000, 1_048_576].map(number);
        assert_eq!(texts, ["0", "999", "1,000", "20,000", "1,048,576"]);
        assert_eq!((kernels(1), kernels(2000)), ("1 kernel".into(), "2,000 kernels".into()));
    }

    #[test]
    fn sizes_as_typed() {
        assert_eq!(parse_size("512"), Ok(512));
        assert_eq!(parse_size("16M"), Ok(16 << 20));
        assert_eq!(parse_size("16 MiB"), Ok(16 << 20));
        assert_eq!(parse_size("2g"), Ok(2 << 30));
        for wrong in ["", "M", "-1", "1.5M", "1X", "99999999999999999999", "18446744073709551615K"]
        {
            assert!(parse_size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn words_for_a_shell() {
        assert_eq!(shell_word("lib/libdemo.so"), "lib/libdemo.so");
        assert_eq!(shell_word("gfx90a:xnack-"), "gfx90a:xnack-");
        assert_eq!(shell_word("a.so#0"), "'a.so#0'");
        assert_eq!(shell_word(""), "''");
        assert_eq!(shell_word("it's $1"), "'it'\\''s $1'");
    }

    #[test]
    fn bytes_as_digits() {
        assert_eq!(hex(&[0, 0x1f, 0xa5]), "001fa5");
    }
}
