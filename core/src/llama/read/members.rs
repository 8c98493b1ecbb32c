//! Reading the members of an object into a struct, in one pass.

use super::super::json::{Str, Value};

/// Declares a struct with one `Option<Value>` for each member that is wanted, and reads it from
/// an object. Null is absent; of a name that stands twice the last one counts.
macro_rules! members {
    ($(#[$doc:meta])* $name:ident { $($field:ident = $key:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, Default)]
        pub(crate) struct $name<'i> {
            $(pub(crate) $field: Option<$crate::llama::json::Value<'i>>,)*
        }

        impl<'i> $name<'i> {
            pub(crate) fn read(object: $crate::llama::json::Value<'i>) -> Self {
                let mut found = Self::default();
                for (key, value) in object.members() {
                    let mut buffer = [0; 40];
                    let slot = match $crate::llama::read::members::name(key, &mut buffer) {
                        $($key => &mut found.$field,)*
                        _ => continue,
                    };
                    *slot = (!value.is_null()).then_some(value);
                }
                found
            }
        }
    };
}

pub(crate) use members;

/// A member's name, decoded; names longer than any that is known become the empty one.
pub(crate) fn name<'a>(key: Str<'a>, buffer: &'a mut [u8]) -> &'a str {
    match key.plain() {
        Some(plain) => plain,
        None => key.unescape_into(buffer).unwrap_or_default(),
    }
}

/// The string of a member, if it is one.
pub(crate) fn string(value: Option<Value<'_>>) -> Option<Str<'_>> {
    value.and_then(Value::as_str)
}

/// The number of a member, if it is a whole one.
pub(crate) fn whole(value: Option<Value<'_>>) -> Option<u64> {
    value.and_then(Value::as_u64)
}

/// The number of a member.
pub(crate) fn real(value: Option<Value<'_>>) -> Option<f64> {
    value.and_then(Value::as_f64)
}
