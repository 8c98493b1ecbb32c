//! The reader and the writer against the crate `rmpv`.
//!
//! Where the two differ on purpose, the law says so:
//!
//! - the byte 0xc1, which the specification never uses, is `nil` to rmpv and a fault here;
//! - a container that counts more elements than bytes are left is refused at its head here, and
//!   at the end of the bytes there: an error both times;
//! - nesting is capped by the caller here, and at another depth there.

use rmpv::{Utf8String, Value};
use rocload_core::msgpack::{Fault, MAX_DEPTH, Reader, Token, Writer};
use rocload_core::{Cap, Error, ErrorKind};

use crate::{Broken, Verdict, require, same};

/// Deep enough for rmpv to read whatever the reader may: it counts two for each container, and
/// one or two for a scalar.
const ORACLE_DEPTH: usize = 2 * MAX_DEPTH as usize + 8;

/// Bytes of any kind: the tokens are the oracle's values, a skip consumes what the oracle
/// consumes, and a writer fed with the tokens makes bytes that mean the same.
///
/// # Errors
/// [`Broken`].
pub fn reads_as_the_oracle(bytes: &[u8]) -> Verdict {
    let mut skipper = Reader::new(bytes, 0);
    let skipped = skipper.skip(MAX_DEPTH);
    let mut reader = Reader::new(bytes, 0);
    let built = build(&mut reader);
    let mut left = bytes;
    let oracle = rmpv::decode::read_value_with_max_depth(&mut left, ORACLE_DEPTH);
    same("a skip and a read agree", &skipped, &built.as_ref().map(|_| ()).map_err(|e| *e))?;
    match (&built, &oracle) {
        (Ok(value), Ok(expected)) => {
            require(equal(value, expected), "tokens are the oracle's values", || {
                format!("{value:?} against {expected:?}")
            })?;
            let consumed = bytes.len() - left.len();
            same("a value ends where the oracle's does", &reader.position(), &consumed)?;
            same("a skip ends where a read does", &skipper.position(), &consumed)?;
            writes_as_the_oracle(expected)
        }
        (Err(error), oracle) => {
            same("a skip that fails moves nothing", &skipper.position(), &0)?;
            let excused = match error.kind {
                ErrorKind::Msgpack(Fault::Reserved) => {
                    bytes.get(error.offset as usize) == Some(&0xc1)
                }
                ErrorKind::Limit { cap: Cap::MsgpackDepth, .. } => {
                    depth_at(bytes, error.offset) > MAX_DEPTH.into()
                }
                _ => oracle.is_err(),
            };
            require(excused, "what is refused, the oracle refuses", || {
                format!("{error:?} against {oracle:?}")
            })
        }
        (Ok(value), Err(error)) => {
            let found = format!("{value:?} against {error:?}");
            Err(Broken { law: "what is read, the oracle reads", found })
        }
    }
}

/// How many containers are open at `offset`, itself included if it begins one: the naive way, by
/// reading every token before it.
fn depth_at(bytes: &[u8], offset: u64) -> usize {
    let mut reader = Reader::new(bytes, 0);
    let mut open: Vec<u64> = Vec::new();
    while reader.offset() <= offset {
        let elements = match reader.token() {
            Ok(Token::Array(count)) => u64::from(count),
            Ok(Token::Map(pairs)) => 2 * u64::from(pairs),
            Ok(_) => 0,
            Err(_) => break,
        };
        if elements > 0 {
            open.push(elements);
            continue;
        }
        while let Some(left) = open.last_mut() {
            *left -= 1;
            if *left > 0 {
                break;
            }
            open.pop();
        }
    }
    open.len()
}

/// Reads one value by tokens, without recursion.
fn build(reader: &mut Reader<'_>) -> Result<Value, Error> {
    /// A container that is being filled: its values, how many it will have, whether it is a map.
    struct Open {
        values: Vec<Value>,
        wanted: usize,
        map: bool,
    }
    let mut open: Vec<Open> = Vec::new();
    loop {
        let at = reader.offset();
        let token = reader.token()?;
        let (wanted, map) = match token {
            Token::Array(count) => (count as usize, false),
            Token::Map(pairs) => (2 * pairs as usize, true),
            _ => (0, false),
        };
        if wanted > 0 {
            if open.len() == usize::from(MAX_DEPTH) {
                let (value, limit) = (u64::from(MAX_DEPTH) + 1, u64::from(MAX_DEPTH));
                let kind = ErrorKind::Limit { cap: Cap::MsgpackDepth, value, limit };
                return Err(Error::new(kind, at));
            }
            open.push(Open { values: Vec::new(), wanted, map });
            continue;
        }
        let mut value = scalar(token);
        loop {
            let Some(last) = open.last_mut() else { return Ok(value) };
            last.values.push(value);
            if last.values.len() < last.wanted {
                break;
            }
            let Some(full) = open.pop() else { break };
            value = if full.map {
                let mut values = full.values.into_iter();
                let pairs = core::iter::from_fn(|| Some((values.next()?, values.next()?)));
                Value::Map(pairs.collect())
            } else {
                Value::Array(full.values)
            };
        }
    }
}

fn scalar(token: Token<'_>) -> Value {
    match token {
        Token::Bool(value) => Value::Boolean(value),
        Token::Uint(value) => Value::from(value),
        Token::Int(value) => Value::from(value),
        Token::F32(value) => Value::F32(value),
        Token::F64(value) => Value::F64(value),
        Token::Str(text) => match core::str::from_utf8(text) {
            Ok(text) => Value::from(text),
            // rmpv keeps such a text apart; to the law its bytes are what counts.
            Err(_) => not_utf8(text),
        },
        Token::Bin(bytes) => Value::Binary(bytes.to_vec()),
        Token::Ext(kind, bytes) => Value::Ext(kind, bytes.to_vec()),
        Token::Array(_) => Value::Array(Vec::new()),
        Token::Map(_) => Value::Map(Vec::new()),
        _ => Value::Nil,
    }
}

/// A string that is not UTF-8, which only rmpv's own reader can make.
fn not_utf8(text: &[u8]) -> Value {
    let mut bytes = vec![0xdb];
    bytes.extend((text.len() as u32).to_be_bytes());
    bytes.extend(text);
    rmpv::decode::read_value(&mut &bytes[..]).unwrap_or(Value::Nil)
}

/// Equal bit for bit: a float that is no number equals itself.
fn equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::F32(one), Value::F32(other)) => one.to_bits() == other.to_bits(),
        (Value::F64(one), Value::F64(other)) => one.to_bits() == other.to_bits(),
        (Value::String(one), Value::String(other)) => one.as_bytes() == other.as_bytes(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(a, b)| equal(a, b))
        }
        (Value::Map(one), Value::Map(other)) => {
            one.len() == other.len()
                && one.iter().zip(other).all(|(a, b)| equal(&a.0, &b.0) && equal(&a.1, &b.1))
        }
        _ => one == other,
    }
}

/// A value of any shape: the writer makes the oracle's bytes, measures them before there is
/// room, and the reader reads the value back.
///
/// # Errors
/// [`Broken`].
pub fn writes_as_the_oracle(value: &Value) -> Verdict {
    let value = &writable(value);
    let mut expected = Vec::new();
    if rmpv::encode::write_value(&mut expected, value).is_err() {
        let found = "rmpv failed to write into a vector".into();
        return Err(Broken { law: "the oracle writes every value", found });
    }
    let mut measure = Writer::new(&mut []);
    write(&mut measure, value);
    let len = measure.len();
    same("an empty slice measures", &len, &expected.len())?;
    let mut bytes = vec![0; len];
    let mut writer = Writer::new(&mut bytes);
    write(&mut writer, value);
    let written = writer.finish();
    same("the writer makes the oracle's bytes", &written, &Ok(&expected[..]))?;

    if let Some(short) = len.checked_sub(1) {
        let mut bytes = vec![0; short];
        let mut writer = Writer::new(&mut bytes);
        write(&mut writer, value);
        let full = rocload_core::Full { need: len as u64 };
        let kind = writer.finish().map(<[u8]>::len).map_err(|error| error.kind);
        same("a slice that is too short learns the length", &kind, &Err(ErrorKind::Full(full)))?;
    }
    let read = build(&mut Reader::new(&expected, 0));
    match read {
        Ok(read) if equal(&read, value) => Ok(()),
        Err(Error { kind: ErrorKind::Limit { cap: Cap::MsgpackDepth, .. }, .. }) => Ok(()),
        read => {
            let found = format!("{read:?} against {value:?}");
            Err(Broken { law: "what is written reads back", found })
        }
    }
}

/// The value with every string that is not UTF-8 made one that is: rmpv writes those as binary
/// data, and [`write`] must be given the same.
fn writable(value: &Value) -> Value {
    match value {
        Value::String(text) if !text.is_str() => Value::Binary(text.as_bytes().to_vec()),
        Value::Array(values) => Value::Array(values.iter().map(writable).collect()),
        Value::Map(pairs) => {
            Value::Map(pairs.iter().map(|(k, v)| (writable(k), writable(v))).collect())
        }
        other => other.clone(),
    }
}

/// Writes a value as the writer is meant to be used.
fn write(writer: &mut Writer<'_>, value: &Value) {
    match value {
        Value::Nil => writer.nil(),
        Value::Boolean(value) => writer.bool(*value),
        Value::Integer(value) => match (value.as_u64(), value.as_i64()) {
            (Some(value), None) => writer.uint(value),
            (_, value) => writer.int(value.unwrap_or(0)),
        },
        Value::F32(value) => writer.f32(*value),
        Value::F64(value) => writer.f64(*value),
        Value::String(text) => write_text(writer, text),
        Value::Binary(bytes) => writer.bin(bytes),
        Value::Array(values) => {
            writer.array(values.len() as u32);
            values.iter().for_each(|value| write(writer, value));
        }
        Value::Map(pairs) => {
            writer.map(pairs.len() as u32);
            for (key, value) in pairs {
                write(writer, key);
                write(writer, value);
            }
        }
        Value::Ext(kind, bytes) => writer.ext(*kind, bytes),
    }
}

fn write_text(writer: &mut Writer<'_>, text: &Utf8String) {
    match text.as_str() {
        Some(text) => writer.str(text),
        None => writer.bin(text.as_bytes()),
    }
}

/// Nesting of any depth: a skip of depth `allowed` passes over `nested` containers exactly when
/// there are no more than that, and never takes more than a fixed stack.
///
/// # Errors
/// [`Broken`].
pub fn depth_is_capped(nested: usize, allowed: u8) -> Verdict {
    let mut bytes = vec![0x91; nested];
    bytes.push(0xc0);
    let mut reader = Reader::new(&bytes, 0);
    let limit = usize::from(allowed.min(MAX_DEPTH));
    match reader.skip(allowed) {
        Ok(()) => {
            require(nested <= limit, "nesting beyond the cap is refused", || {
                format!("{nested} deep where {limit} is the cap")
            })?;
            same("all of it is skipped", &reader.position(), &bytes.len())
        }
        Err(error) => {
            let (value, cap) = (limit as u64 + 1, limit as u64);
            let kind = ErrorKind::Limit { cap: Cap::MsgpackDepth, value, limit: cap };
            require(nested > limit, "nesting within the cap is passed", || format!("{error:?}"))?;
            same("the error names the container", &error, &Error::new(kind, limit as u64))
        }
    }
}

/// The typed reads take exactly the values of their range, at any width, and a read that fails
/// leaves the reader where it was.
///
/// # Errors
/// [`Broken`].
pub fn typed_reads_agree_with_tokens(bytes: &[u8]) -> Verdict {
    let token = Reader::new(bytes, 0).token();
    let read = |read: fn(&mut Reader<'_>) -> Option<u64>| {
        let mut reader = Reader::new(bytes, 0);
        let value = read(&mut reader);
        (value, reader.position())
    };
    let end = {
        let mut reader = Reader::new(bytes, 0);
        let _ = reader.token();
        reader.position()
    };
    let expect = |value: Option<u64>| (value, if value.is_some() { end } else { 0 });
    let uint = match token {
        Ok(Token::Uint(value)) => Some(value),
        _ => None,
    };
    same("a u64 is any integer from 0", &read(|r| r.u64().ok()), &expect(uint))?;
    let small = uint.filter(|value| u32::try_from(*value).is_ok());
    same(
        "a u32 is any integer of its range",
        &read(|r| r.u32().ok().map(u64::from)),
        &expect(small),
    )?;
    let text = match token {
        Ok(Token::Str(text)) => Some(text.len() as u64),
        _ => None,
    };
    same("a str is a str", &read(|r| r.str().ok().map(|text| text.len() as u64)), &expect(text))?;
    let array = match token {
        Ok(Token::Array(count)) => Some(count.into()),
        _ => None,
    };
    same("an array is an array", &read(|r| r.array().ok().map(u64::from)), &expect(array))?;
    let map = match token {
        Ok(Token::Map(count)) => Some(count.into()),
        _ => None,
    };
    same("a map is a map", &read(|r| r.map().ok().map(u64::from)), &expect(map))
}
