//! JSON: the scanner, its views and the writer against the crate `serde_json`.

use rocload_core::llama::json::{self, Scanner, Str, Token, Value, Writer};
use rocload_core::{Error, ErrorKind, Limits};
use serde::de::IgnoredAny;
use serde_json::Value as Theirs;

use crate::{Verdict, require, same};

/// The same texts are sound, and a sound text holds the same values.
///
/// Where the two differ on purpose: nesting beyond 64 is refused here; the oracle takes no lone
/// surrogates and no numbers beyond the finite doubles as values, which are told apart here.
///
/// # Errors
/// [`Broken`](crate::Broken) when they differ otherwise.
pub fn reads_as_the_oracle(bytes: &[u8]) -> Verdict {
    let limits = Limits::default();
    let strict = json::check(bytes, 0, &limits);
    let lossy = json::check_lossy(bytes, 0, &limits);
    if let Err(Error { kind: ErrorKind::Limit { .. }, .. }) = lossy {
        let opened = bytes.iter().filter(|byte| matches!(byte, b'[' | b'{')).count();
        return require(opened > 64, "only deep texts are refused as such", || format!("{opened}"));
    }
    let replaced = String::from_utf8_lossy(bytes);
    let theirs = serde_json::from_str::<IgnoredAny>(&replaced);
    same("the same texts are sound", &theirs.is_ok(), &lossy.is_ok())?;
    let utf8 = core::str::from_utf8(bytes).is_ok();
    same("all of a sound text is UTF-8", &(lossy.is_ok() && utf8), &strict.is_ok())?;
    let Ok(value) = strict else { return tokens_agree(bytes, None) };
    tokens_agree(bytes, Some(value))?;
    match serde_json::from_slice::<Theirs>(bytes) {
        Ok(theirs) => require(equal(value, &theirs), "the same values", || format!("{theirs}")),
        Err(error) => {
            let text = error.to_string();
            let known = ["surrogate", "number out of range", "hex escape"];
            let known = known.iter().any(|known| text.contains(known));
            require(known, "the oracle reads every sound text", || text)
        }
    }
}

/// Token by token: as many containers are closed as opened, the depth is theirs, an error stays;
/// skipping the text takes all of it.
fn tokens_agree(bytes: &[u8], value: Option<Value<'_>>) -> Verdict {
    let mut scanner = Scanner::new(bytes, 7, &Limits::default());
    let (mut depth, mut steps) = (0u32, 0usize);
    loop {
        steps += 1;
        require(steps <= bytes.len() + 1, "tokens are bounded by the bytes", || steps.to_string())?;
        match scanner.next() {
            Ok(Token::End) => break,
            Ok(Token::ObjectBegin | Token::ArrayBegin) => depth += 1,
            Ok(Token::ObjectEnd | Token::ArrayEnd) => depth -= 1,
            Ok(_) => {}
            Err(error) => {
                same("an error stays", &Err(error), &scanner.next().map(|_| ()))?;
                require(value.is_none(), "checking finds what scanning finds", || {
                    format!("{error}")
                })?;
                let inside = (7..=7 + bytes.len() as u64).contains(&error.offset);
                return require(inside, "an error is in the text", || format!("{error}"));
            }
        }
        same("the depth is that of the containers", &depth, &u32::from(scanner.depth()))?;
    }
    require(value.is_some(), "checking finds what scanning finds", || "sound".into())?;
    same("all is closed at the end", &0, &depth)?;
    let trimmed = bytes.trim_ascii();
    same("a value is its text", &Some(trimmed), &value.map(Value::raw))
}

fn equal(ours: Value<'_>, theirs: &Theirs) -> bool {
    match theirs {
        Theirs::Null => ours.is_null(),
        Theirs::Bool(value) => ours.as_bool() == Some(*value),
        Theirs::Number(number) => ours.as_number().is_some_and(|ours| {
            match (number.as_u64(), number.as_i64(), number.as_f64()) {
                (Some(unsigned), _, _) => ours.as_u64() == Some(unsigned),
                (_, Some(signed), _) => ours.as_i64() == Some(signed),
                (_, _, Some(float)) => ours.as_f64() == Some(float),
                _ => false,
            }
        }),
        Theirs::String(text) => ours.as_str().is_some_and(|ours| equal_text(ours, text)),
        Theirs::Array(values) => {
            let mut elements = ours.elements();
            ours.is_array()
                && values.iter().all(|value| elements.next().is_some_and(|own| equal(own, value)))
                && elements.next().is_none()
        }
        Theirs::Object(members) => {
            let mut found = 0;
            // Of a name that stands twice the oracle keeps the last.
            let each = members.iter().all(|(name, value)| {
                let same = ours.members().filter(|(key, _)| key.is(name));
                found += same.clone().count();
                same.last().is_some_and(|(_, own)| equal(own, value))
            });
            ours.is_object() && each && found == ours.members().count()
        }
    }
}

fn equal_text(ours: Str<'_>, text: &str) -> bool {
    let mut buffer = vec![0xa5; text.len()];
    let short = text.len().checked_sub(1);
    ours.len() == text.len()
        && ours.is(text)
        && ours.chars().eq(text.chars())
        && ours.to_string() == text
        && short.is_none_or(|short| ours.unescape_into(&mut vec![0; short]).is_err())
        && ours.unescape_into(&mut buffer) == Ok(text)
        && ours.plain().is_none_or(|plain| plain == text)
}

/// What the writer writes reads back as the same value; in less room it says how much it takes.
///
/// # Errors
/// [`Broken`](crate::Broken) when it does not.
pub fn writes_what_reads_back(value: &Theirs) -> Verdict {
    let mut buffer = vec![0; 1 << 16];
    let mut writer = Writer::new(&mut buffer);
    write(&mut writer, value);
    let length = writer.finish().map_err(|error| crate::Broken {
        law: "a generated value fits",
        found: error.to_string(),
    })?;
    let back = serde_json::from_slice::<Theirs>(&buffer[..length]);
    same("what is written reads back", &Some(value), &back.as_ref().ok())?;
    let mut short = vec![0; length - 1];
    let mut writer = Writer::new(&mut short);
    write(&mut writer, value);
    let full = matches!(writer.finish(), Err(Error { kind: ErrorKind::Full(full), .. })
        if full.need == length as u64);
    require(full, "in less room it says how much it takes", || format!("{length}"))
}

fn write(writer: &mut Writer<'_>, value: &Theirs) {
    match value {
        Theirs::Null => {
            writer.raw(b"null");
        }
        Theirs::Bool(value) => {
            writer.bool(*value);
        }
        Theirs::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(unsigned), _) => {
                writer.number(unsigned);
            }
            (_, Some(signed)) => {
                writer.number(signed);
            }
            _ => {
                writer.float(number.as_f64().unwrap_or(f64::NAN));
            }
        },
        Theirs::String(text) => {
            writer.string(text);
        }
        Theirs::Array(values) => {
            writer.begin(b'[');
            values.iter().for_each(|value| write(writer, value));
            writer.end(b']');
        }
        Theirs::Object(members) => {
            writer.begin(b'{');
            for (name, value) in members {
                writer.key(name);
                write(writer, value);
            }
            writer.end(b'}');
        }
    }
}
