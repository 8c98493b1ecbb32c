//! Writing the members of a body, and passing others through.

use super::super::fault::Fault;
use super::super::json::{self, Str, Writer};
use crate::error::{Error, ErrorKind};
use crate::limits::Limits;

/// A request that has a JSON body.
pub trait Request {
    /// Where it is sent, by POST.
    fn path(&self) -> &'static str;

    /// Writes the members of its body, each once.
    fn fields(&self, fields: &mut Fields<'_, '_>);

    /// The text of a JSON object whose members are sent too.
    fn extra(&self) -> Option<&str> {
        None
    }

    /// Writes the body to the start of `out` and returns its length in bytes.
    ///
    /// # Errors
    /// [`ErrorKind::Full`] with the length of the body when `out` is shorter;
    /// [`Fault::Extra`] and [`Fault::Raw`] for what is not the JSON that it must be. A number
    /// that is not finite is [`Fault::Raw`] as well.
    fn write(&self, out: &mut [u8]) -> Result<usize, Error> {
        let mut writer = Writer::new(out);
        writer.begin(b'{');
        let mut fields = Fields { sink: Sink::Writer(&mut writer), fault: None };
        self.fields(&mut fields);
        let mut fault = fields.fault;
        if let Some(extra) = self.extra()
            && pass_through(self, extra, &mut writer).is_none()
        {
            fault = fault.or(Some(Fault::Extra));
        }
        if let Some(fault) = fault {
            return Err(Error::new(ErrorKind::Llama(fault), 0));
        }
        writer.end(b'}');
        writer.finish()
    }

    /// The body, in exactly the memory it takes.
    ///
    /// # Errors
    /// As [`Request::write`], [`ErrorKind::Full`] only where there is no memory.
    #[cfg(feature = "alloc")]
    fn to_vec(&self) -> Result<alloc::vec::Vec<u8>, Error> {
        let mut body = alloc::vec::Vec::new();
        match self.write(&mut body) {
            Err(Error { kind: ErrorKind::Full(full), .. }) => {
                let len = usize::try_from(full.need).unwrap_or(usize::MAX);
                if body.try_reserve_exact(len).is_err() {
                    return Err(Error::new(ErrorKind::Full(full), 0));
                }
                body.resize(len, 0);
                self.write(&mut body)?;
                Ok(body)
            }
            Err(error) => Err(error),
            Ok(_) => Ok(body),
        }
    }
}

/// Writes the members of `extra`; `None` where they are none, or repeat a name.
fn pass_through<R: Request + ?Sized>(
    request: &R,
    extra: &str,
    writer: &mut Writer<'_>,
) -> Option<()> {
    let value = json::check(extra.as_bytes(), 0, &Limits::DESKTOP).ok()?;
    if !value.is_object() {
        return None;
    }
    for (at, (key, member)) in value.members().enumerate() {
        let mut names = Fields { sink: Sink::Names { key, found: false }, fault: None };
        request.fields(&mut names);
        let repeats = value.members().take(at).any(|(other, _)| other.chars().eq(key.chars()));
        if repeats || matches!(names.sink, Sink::Names { found: true, .. }) {
            return None;
        }
        writer.raw_key(key.raw()).raw(member.raw());
    }
    Some(())
}

enum Sink<'w, 'b, 'k> {
    Writer(&'w mut Writer<'b>),
    /// Only looks whether there is a member of this name.
    Names {
        key: Str<'k>,
        found: bool,
    },
}

/// Where a [`Request`] writes its members.
pub struct Fields<'w, 'b> {
    sink: Sink<'w, 'b, 'w>,
    fault: Option<Fault>,
}

impl core::fmt::Debug for Fields<'_, '_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Fields").field("fault", &self.fault).finish_non_exhaustive()
    }
}

impl<'b> Fields<'_, 'b> {
    /// Begins a member: the writer wants its value. `None` where nothing is written.
    pub fn key(&mut self, name: &str) -> Option<&mut Writer<'b>> {
        match &mut self.sink {
            Sink::Writer(writer) => Some(writer.key(name)),
            Sink::Names { key, found } => {
                *found |= key.is(name);
                None
            }
        }
    }

    /// A string, if there is one.
    pub fn string(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value
            && let Some(writer) = self.key(name)
        {
            writer.string(value);
        }
    }

    /// A list of strings, if there is one.
    pub fn strings(&mut self, name: &str, values: Option<&[&str]>) {
        if let Some(values) = values
            && let Some(writer) = self.key(name)
        {
            writer.begin(b'[');
            values.iter().for_each(|value| {
                writer.string(value);
            });
            writer.end(b']');
        }
    }

    /// A whole number, if there is one.
    pub fn number(&mut self, name: &str, value: Option<impl Into<i128>>) {
        if let Some(value) = value
            && let Some(writer) = self.key(name)
        {
            writer.number(value);
        }
    }

    /// A list of whole numbers.
    pub fn numbers(&mut self, name: &str, values: &[i64]) {
        if let Some(writer) = self.key(name) {
            writer.begin(b'[');
            values.iter().for_each(|&value| {
                writer.number(value);
            });
            writer.end(b']');
        }
    }

    /// A number, if there is one; it must be finite.
    pub fn float(&mut self, name: &'static str, value: Option<f64>) {
        let Some(value) = value else { return };
        if !value.is_finite() {
            self.fault = self.fault.or(Some(Fault::Raw(name)));
        }
        if let Some(writer) = self.key(name) {
            writer.float(value);
        }
    }

    /// True or false, if there is one.
    pub fn bool(&mut self, name: &str, value: Option<bool>) {
        if let Some(value) = value
            && let Some(writer) = self.key(name)
        {
            writer.bool(value);
        }
    }

    /// The text of a JSON value, if there is one. `begins` says how it must begin: with `{`, with
    /// `[`, or (0) in any way.
    pub fn raw(&mut self, name: &'static str, value: Option<&str>, begins: u8) {
        let Some(text) = value else { return };
        match json::check(text.as_bytes(), 0, &Limits::DESKTOP) {
            Ok(value) if begins == 0 || value.raw().first() == Some(&begins) => {
                if let Some(writer) = self.key(name) {
                    writer.raw(value.raw());
                }
            }
            _ => self.fault = self.fault.or(Some(Fault::Raw(name))),
        }
    }

    /// Something is wrong with the value of this member.
    pub(super) fn refuse(&mut self, name: &'static str) {
        self.fault = self.fault.or(Some(Fault::Raw(name)));
    }
}
