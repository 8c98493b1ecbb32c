//! An entry's MessagePack metadata as JSON.

use rocload::core::msgpack::{MAX_DEPTH, Reader, Token};
use serde_json::{Map, Number, Value, json};

use crate::text::hex;

/// The value in `bytes`, or `None` where they are no single MessagePack value.
///
/// Binary data becomes `{"bin": hex}` and an extension `{"ext": type, "data": hex}`; a key that
/// is no string is the JSON text of its value; of equal keys the last one counts.
pub(super) fn to_json(bytes: &[u8]) -> Option<Value> {
    value(&mut Reader::new(bytes, 0), MAX_DEPTH)
}

/// `depth` bounds the recursion; opening an archive has refused deeper ones already.
fn value(reader: &mut Reader<'_>, depth: u8) -> Option<Value> {
    let depth = depth.checked_sub(1)?;
    Some(match reader.token().ok()? {
        Token::Nil => Value::Null,
        Token::Bool(value) => Value::Bool(value),
        Token::Uint(value) => Value::from(value),
        Token::Int(value) => Value::from(value),
        Token::F32(value) => float(value.into()),
        Token::F64(value) => float(value),
        Token::Str(text) => Value::from(String::from_utf8_lossy(text)),
        Token::Bin(bytes) => json!({ "bin": hex(bytes) }),
        Token::Ext(kind, bytes) => json!({ "ext": kind, "data": hex(bytes) }),
        Token::Array(len) => {
            let items: Option<Vec<Value>> = (0..len).map(|_| value(reader, depth)).collect();
            Value::Array(items?)
        }
        Token::Map(len) => {
            let mut map = Map::new();
            for _ in 0..len {
                let key = match value(reader, depth)? {
                    Value::String(key) => key,
                    other => other.to_string(),
                };
                map.insert(key, value(reader, depth)?);
            }
            Value::Object(map)
        }
        _ => return None,
    })
}

/// JSON has no infinities and no NaN.
fn float(value: f64) -> Value {
    Number::from_f64(value).map_or(Value::Null, Value::Number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type() {
        let bytes =
            b"\x88\xa1a\x01\xa1b\xff\xa1c\xc0\xa1d\xc3\xa1e\x92\xa1x\xcb\x3f\xe0\0\0\0\0\0\0\
                      \xa1f\xc4\x02\x01\xab\x07\xca\x7f\x80\0\0\xa1g\xd4\x05\x09";
        let expected = json!({
            "a": 1, "b": -1, "c": null, "d": true, "e": ["x", 0.5], "f": {"bin": "01ab"},
            "7": null, "g": {"ext": 5, "data": "09"},
        });
        assert_eq!(to_json(bytes), Some(expected));
    }

    #[test]
    fn depth_is_bounded() {
        let mut deep = vec![0x91; 100_000];
        deep.push(0xc0);
        assert_eq!(to_json(&deep), None);
        assert_eq!(to_json(&[0x91, 0x91, 0xc0]), Some(json!([[null]])));
        assert_eq!(to_json(&[0x91]), None);
        assert_eq!(to_json(&[]), None);
    }
}
