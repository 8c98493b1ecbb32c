//! Values as they are being read: shortened for people, whole as JSON.

use std::io::Write;

use rocload::core::gguf::{Item, Scalar, Text, ValueKind, ValueType};
use rocload::error::printable;
use serde_json::{Number, Value};

use crate::json;
use crate::text;

/// Characters of a string and elements of an array that are shown.
const CHARACTERS: usize = 40;
const ELEMENTS: usize = 6;
/// Characters of an element.
const ELEMENT: usize = 24;
/// Bytes of a string that JSON has whole; it is in memory for that.
const LONGEST: u64 = 8 << 20;

/// A value in a line, shortened. Give it the items that follow its key.
#[derive(Debug)]
pub(super) struct Preview {
    kind: ValueKind,
    text: Vec<u8>,
    shown: Vec<String>,
    nested: bool,
}

impl Preview {
    pub(super) fn new(kind: ValueKind) -> Preview {
        Preview { kind, text: Vec::new(), shown: Vec::new(), nested: false }
    }

    pub(super) fn see(&mut self, item: &Item<'_>) {
        match item {
            Item::Value(value) => self.shown.push(value.to_string()),
            Item::Text(part) => {
                let room = (CHARACTERS * 4 + 1).saturating_sub(self.text.len());
                self.text.extend_from_slice(&part.bytes[..part.bytes.len().min(room)]);
                if matches!(self.kind, ValueKind::Array { .. }) && part.is_last() {
                    let text = std::mem::take(&mut self.text);
                    if self.shown.len() < ELEMENTS {
                        self.shown.push(format!("\"{}\"", cut(&printable(&text), ELEMENT)));
                    }
                }
            }
            Item::Elements(elements) => {
                let room = ELEMENTS.saturating_sub(self.shown.len());
                self.shown.extend(elements.iter().take(room).map(|value| value.to_string()));
            }
            Item::Inner { .. } => self.nested = true,
            _ => {}
        }
    }

    /// The line: control characters are escaped in it.
    pub(super) fn line(&self) -> String {
        match self.kind {
            ValueKind::Scalar(_) => self.shown.first().cloned().unwrap_or_default(),
            ValueKind::String { len } => {
                let whole = printable(&self.text);
                let short = cut(&whole, CHARACTERS);
                if short.len() == whole.len() && self.text.len() as u64 == len {
                    whole
                } else {
                    format!("{short} ({} bytes)", text::number(len))
                }
            }
            ValueKind::Array { element, len } => {
                let count = text::number(len);
                if self.nested || len == 0 {
                    return format!("{element}[{count}]");
                }
                let more = if len > self.shown.len() as u64 { ", ..." } else { "" };
                format!("{element}[{count}] {}{more}", self.shown.join(", "))
            }
        }
    }
}

/// The first characters, and a sign that there are more.
fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}...", &text[..at]),
        None => text.to_owned(),
    }
}

/// A scalar in JSON: numbers that JSON does not have are strings, as in `"NaN"`.
pub(super) fn scalar(value: Scalar) -> Value {
    let float =
        |value: f64, text: String| Number::from_f64(value).map_or(text.into(), Value::Number);
    match value {
        Scalar::U8(value) => value.into(),
        Scalar::I8(value) => value.into(),
        Scalar::U16(value) => value.into(),
        Scalar::I16(value) => value.into(),
        Scalar::U32(value) => value.into(),
        Scalar::I32(value) => value.into(),
        // By its own shortest digits, not those of the 64-bit number next to it.
        Scalar::F32(value) => {
            float(value.to_string().parse().unwrap_or(f64::from(value)), value.to_string())
        }
        Scalar::Bool(value) => value.into(),
        Scalar::U64(value) => value.into(),
        Scalar::I64(value) => value.into(),
        Scalar::F64(value) => float(value, value.to_string()),
    }
}

/// A string in JSON; one that is not UTF-8 is `{"hex": ...}`.
pub(super) fn string(bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) => serde_json::json!({ "hex": text::hex(bytes) }),
    }
}

/// The type of a value as JSON has it: `u32`, `string`, `string[]`.
pub(super) fn type_name(kind: ValueKind) -> String {
    match kind {
        ValueKind::Array { element, .. } => format!("{element}[]"),
        kind => kind.ty().to_string(),
    }
}

/// A value as JSON, written while it is being read: no array is ever in memory as a whole.
#[derive(Debug)]
pub(super) struct JsonValue {
    text: Vec<u8>,
    /// Elements that are still to come, of each array that is open; and whether one came.
    open: Vec<(u64, bool)>,
    done: bool,
}

impl JsonValue {
    /// Begins the value of a key.
    pub(super) fn begin(out: &mut impl Write, kind: ValueKind) -> JsonValue {
        let mut value = JsonValue { text: Vec::new(), open: Vec::new(), done: false };
        match kind {
            ValueKind::Scalar(_) => {}
            ValueKind::String { len: 0 } => value.put(out, &"".into()),
            ValueKind::String { .. } => {}
            ValueKind::Array { len, .. } => value.array(out, len),
        }
        value
    }

    pub(super) fn see(&mut self, out: &mut impl Write, item: &Item<'_>) {
        match item {
            Item::Value(value) => self.put(out, &scalar(*value)),
            Item::Text(part) => self.part(out, part),
            Item::Elements(elements) => {
                elements.iter().for_each(|value| self.put(out, &scalar(value)));
            }
            Item::Inner { len, .. } => self.array(out, *len),
            _ => {}
        }
    }

    fn part(&mut self, out: &mut impl Write, part: &Text<'_>) {
        let whole = part.of <= LONGEST;
        if whole {
            self.text.extend_from_slice(part.bytes);
        }
        if part.is_last() {
            let text = std::mem::take(&mut self.text);
            let value = if whole { string(&text) } else { serde_json::json!({ "bytes": part.of }) };
            self.put(out, &value);
        }
    }

    /// The value is over: one that was not shown to its end is closed.
    pub(super) fn end(mut self, out: &mut impl Write) {
        if !self.done && self.open.is_empty() {
            let _ = out.write_all(b"null");
        }
        while self.open.pop().is_some() {
            let _ = out.write_all(b"]");
        }
    }

    fn comma(&mut self, out: &mut impl Write) {
        if let Some((left, some)) = self.open.last_mut() {
            if *some {
                let _ = out.write_all(b",");
            }
            (*left, *some) = (left.saturating_sub(1), true);
        }
    }

    fn put(&mut self, out: &mut impl Write, value: &Value) {
        self.comma(out);
        let _ = json::write(&mut *out, value);
        self.close(out);
    }

    fn array(&mut self, out: &mut impl Write, len: u64) {
        self.comma(out);
        let _ = out.write_all(b"[");
        self.open.push((len, false));
        self.close(out);
    }

    fn close(&mut self, out: &mut impl Write) {
        while self.open.last().is_some_and(|(left, _)| *left == 0) {
            self.open.pop();
            let _ = out.write_all(b"]");
        }
        self.done = self.open.is_empty();
    }
}

/// The type of this name, such as `u32`; `str` is a string too.
pub(super) fn type_of(name: &str) -> Option<ValueType> {
    let name = if name == "str" { "string" } else { name };
    ValueType::ALL.into_iter().find(|ty| ty.name() == name)
}
