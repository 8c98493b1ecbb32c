//! JSON on one line, safe for a terminal.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::Formatter;

/// Writes `value` on a line of its own.
pub(crate) fn write_line<W, T>(out: &mut W, value: &T) -> serde_json::Result<()>
where
    W: Write,
    T: Serialize + ?Sized,
{
    write(&mut *out, value)?;
    out.write_all(b"\n").map_err(serde_json::Error::io)
}

/// Writes `value` alone.
pub(crate) fn write<W, T>(out: &mut W, value: &T) -> serde_json::Result<()>
where
    W: Write,
    T: Serialize + ?Sized,
{
    value.serialize(&mut serde_json::Serializer::with_formatter(out, Safe))
}

/// The compact form with DEL and the C1 control characters escaped as well: JSON allows them in
/// strings, but names in archives are hostile and a terminal may obey them.
struct Safe;

impl Formatter for Safe {
    fn write_string_fragment<W>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()>
    where
        W: ?Sized + Write,
    {
        let mut done = 0;
        for (at, c) in fragment.char_indices().filter(|(_, c)| c.is_control()) {
            writer.write_all(&fragment.as_bytes()[done..at])?;
            write!(writer, "\\u{:04x}", u32::from(c))?;
            done = at + c.len_utf8();
        }
        writer.write_all(&fragment.as_bytes()[done..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped_and_come_back() {
        let text = "a\u{1b}[31m\u{7f}\u{9b}31m\u{85}\nä\"\\";
        let mut line = Vec::new();
        write_line(&mut line, text).unwrap();
        let line = String::from_utf8(line).unwrap();
        assert_eq!(line, "\"a\\u001b[31m\\u007f\\u009b31m\\u0085\\nä\\\"\\\\\"\n");
        let back: String = serde_json::from_str(&line).unwrap();
        assert_eq!(back, text);
    }
}
