//! The GGUF writer against the reader.

use rocload_core::gguf::write::{Part, Value, WriteFault, Writer};
use rocload_core::gguf::{
    Endian, GgmlType, Header, Item, Options, Reader, Scalar, ValueKind, ValueType, Want,
};
use rocload_core::{Error, Machine, Need, visit};

use crate::{Broken, Verdict, require, same};

/// A value in memory of its own.
#[derive(Debug, Clone, PartialEq)]
pub enum Owned {
    /// A number or a bool.
    Scalar(Scalar),
    /// A string.
    String(Vec<u8>),
    /// An array.
    Array {
        /// The type of each item.
        element: ValueType,
        /// The items.
        items: Vec<Owned>,
    },
}

/// A tensor: name, dimensions, type.
pub type Described = (Vec<u8>, Vec<u64>, GgmlType);

/// A file without its tensor data.
#[derive(Debug, Clone, PartialEq)]
pub struct File {
    /// Version.
    pub version: u32,
    /// Byte order.
    pub endian: Endian,
    /// In their order.
    pub keys: Vec<(Vec<u8>, Owned)>,
    /// In their order, which is that of their data.
    pub tensors: Vec<Described>,
}

/// Puts a file together; the bytes of tensor `n` are all `n`.
///
/// # Errors
/// [`WriteFault`].
pub fn write(file: &File) -> Result<Vec<u8>, WriteFault> {
    let mut writer = Writer::new(file.version, file.endian)?;
    for (key, value) in &file.keys {
        with_value(value, &mut |value| writer.key(key, value))?;
    }
    for (name, dims, ty) in &file.tensors {
        writer.tensor(name, dims, *ty)?;
    }
    let mut bytes = writer.header();
    for part in writer.parts() {
        let (len, fill) = match part {
            Part::Zeros(len) => (len, 0),
            Part::Tensor { index, size } => (size, index as u8),
        };
        bytes.resize(bytes.len() + len as usize, fill);
    }
    Ok(bytes)
}

/// Hands on a value that borrows from an owned one.
fn with_value(
    owned: &Owned,
    take: &mut dyn FnMut(Value<'_>) -> Result<(), WriteFault>,
) -> Result<(), WriteFault> {
    match owned {
        Owned::Scalar(scalar) => take(Value::Scalar(*scalar)),
        Owned::String(bytes) => take(Value::String(bytes)),
        Owned::Array { element, items } => {
            // Inner arrays are borrowed by the calls that lead here, one for each item.
            fn gather<'v>(
                rest: &'v [Owned],
                done: &mut Vec<Value<'v>>,
                take: &mut dyn FnMut(&[Value<'_>]) -> Result<(), WriteFault>,
            ) -> Result<(), WriteFault> {
                let Some((first, rest)) = rest.split_first() else { return take(done) };
                match first {
                    Owned::Scalar(scalar) => done.push(Value::Scalar(*scalar)),
                    Owned::String(bytes) => done.push(Value::String(bytes)),
                    Owned::Array { element, items } => {
                        return gather(items, &mut Vec::new(), &mut |inner| {
                            let mut with = done.clone();
                            with.push(Value::Array { element: *element, items: inner });
                            gather(rest, &mut with, take)
                        });
                    }
                }
                gather(rest, done, take)
            }
            gather(items, &mut Vec::new(), &mut |items| {
                take(Value::Array { element: *element, items })
            })
        }
    }
}

/// Reads a file's header back, values and all.
///
/// # Errors
/// The reader's.
pub fn read(bytes: &[u8]) -> Result<File, Error> {
    let mut reader =
        Reader::new(Some(bytes.len() as u64), Options::default(), Vec::new(), Want::Value);
    let mut gather = Gather::default();
    let mut file =
        File { version: 0, endian: Endian::Little, keys: Vec::new(), tensors: Vec::new() };
    while let Need::At { offset, .. } = reader.need() {
        let rest = usize::try_from(offset).ok().and_then(|at| bytes.get(at..)).unwrap_or(&[]);
        visit(&mut reader, offset, rest, |item| gather.see(item, &mut file))?;
    }
    Ok(file)
}

/// Values as they are being read.
#[derive(Debug, Default)]
struct Gather {
    key: Vec<u8>,
    /// Arrays that are open, the innermost last.
    open: Vec<(ValueType, u64, Vec<Owned>)>,
    text: Vec<u8>,
}

impl Gather {
    fn see(&mut self, item: Item<'_>, file: &mut File) {
        match item {
            Item::Header(Header { version, endian, .. }) => {
                (file.version, file.endian) = (version, endian);
            }
            Item::Key(key) => {
                self.key = key.name.to_vec();
                match key.kind {
                    ValueKind::Scalar(_) => {}
                    ValueKind::String { len: 0 } => self.put(Owned::String(Vec::new()), file),
                    ValueKind::String { .. } => {}
                    ValueKind::Array { element, len } => self.begin(element, len, file),
                }
            }
            Item::Value(scalar) => self.put(Owned::Scalar(scalar), file),
            Item::Text(text) => {
                self.text.extend_from_slice(text.bytes);
                if text.is_last() {
                    let text = std::mem::take(&mut self.text);
                    self.put(Owned::String(text), file);
                }
            }
            Item::Elements(elements) => {
                elements.iter().for_each(|scalar| self.put(Owned::Scalar(scalar), file));
            }
            Item::Inner { element, len, .. } => self.begin(element, len, file),
            Item::Tensor(tensor) => {
                let info = tensor.info;
                file.tensors.push((tensor.name.to_vec(), info.dims().to_vec(), info.ty));
            }
            Item::Warning(_) => {}
        }
    }

    fn begin(&mut self, element: ValueType, len: u64, file: &mut File) {
        self.open.push((element, len, Vec::new()));
        self.close(file);
    }

    fn put(&mut self, value: Owned, file: &mut File) {
        match self.open.last_mut() {
            Some((.., items)) => items.push(value),
            None => file.keys.push((self.key.clone(), value)),
        }
        self.close(file);
    }

    /// Ends the arrays that are full.
    fn close(&mut self, file: &mut File) {
        while let Some((_, len, items)) = self.open.last()
            && items.len() as u64 == *len
            && let Some((element, _, items)) = self.open.pop()
        {
            let array = Owned::Array { element, items };
            match self.open.last_mut() {
                Some((.., items)) => items.push(array),
                None => file.keys.push((self.key.clone(), array)),
            }
        }
    }
}

/// What is written is read back as it was, and written again as the same bytes.
///
/// # Errors
/// [`Broken`].
pub fn round_trip(file: &File) -> Verdict {
    let Ok(bytes) = write(file) else { return Ok(()) };
    let back = read(&bytes).map_err(|error| Broken {
        law: "what is written can be read",
        found: format!("{error}: {file:?}"),
    })?;
    same("what is read is what was written", &back.keys.len(), &file.keys.len())?;
    same("the tensors too", &back.tensors, &file.tensors)?;
    let again = write(&back).map_err(|fault| Broken {
        law: "what was read can be written",
        found: fault.to_string(),
    })?;
    require(again == bytes, "and is the same bytes", || format!("{file:?}"))?;
    // Numbers that are none are not equal to themselves.
    let nan = |value: &Owned| format!("{value:?}").contains("NaN");
    for (one, other) in back.keys.iter().zip(&file.keys).filter(|(_, other)| !nan(&other.1)) {
        same("each key and value is as it was", one, other)?;
    }
    Ok(())
}

/// The header of a file that was written in the plain way is written again as the same bytes.
///
/// # Errors
/// [`Broken`], also when the file cannot be read.
pub fn rewrites(bytes: &[u8]) -> Verdict {
    let failed = |found: String| Broken { law: "a file can be written again", found };
    let file = read(bytes).map_err(|error| failed(error.to_string()))?;
    let again = write(&file).map_err(|fault| failed(fault.to_string()))?;
    let mut writer =
        Writer::new(file.version, file.endian).map_err(|fault| failed(fault.to_string()))?;
    for (key, value) in &file.keys {
        with_value(value, &mut |value| writer.key(key, value))
            .map_err(|fault| failed(fault.to_string()))?;
    }
    for (name, dims, ty) in &file.tensors {
        writer.tensor(name, dims, *ty).map_err(|fault| failed(fault.to_string()))?;
    }
    let len = writer.data_offset() as usize;
    let differs = bytes.iter().zip(&again).take(len).position(|(one, other)| one != other);
    require(differs.is_none() && bytes.len() >= len, "its header is the same bytes", || {
        format!("first difference at {differs:?} of {len}")
    })
}
