//! Names that C reads: one behind the other, each with a NUL at its end.

use std::ffi::c_char;

/// Names in one piece of memory, which stays where it is until they are dropped.
#[derive(Debug)]
pub struct Names {
    bytes: Box<[u8]>,
    starts: Box<[u32]>,
}

impl Names {
    /// A copy of these names; `None` where there is no memory, or too much is asked for.
    pub fn new(names: &[&[u8]]) -> Option<Names> {
        let total = names
            .iter()
            .try_fold(0usize, |sum, name| sum.checked_add(name.len())?.checked_add(1))?;
        let (mut bytes, mut starts) = (Vec::new(), Vec::new());
        bytes.try_reserve_exact(total).ok()?;
        starts.try_reserve_exact(names.len()).ok()?;
        for name in names {
            starts.push(u32::try_from(bytes.len()).ok()?);
            bytes.extend_from_slice(name);
            bytes.push(0);
        }
        Some(Names { bytes: bytes.into_boxed_slice(), starts: starts.into_boxed_slice() })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// There is none.
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// The name with this number, as a string that ends in NUL and lives as long as `self`.
    pub fn get(&self, at: usize) -> Option<*const c_char> {
        let start = *self.starts.get(at)?;
        Some(self.bytes.get(start as usize..)?.as_ptr().cast())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pointer::text;

    #[test]
    fn each_name_ends() {
        let names = Names::new(&[b"gfx90a", b"", b"a"]).unwrap();
        assert_eq!(names.len(), 3);
        let found: Vec<_> = (0..4).map(|at| names.get(at)).collect();
        assert_eq!(found[3], None);
        let texts: Vec<_> = found.into_iter().flatten().map(bytes_of).collect();
        assert_eq!(texts, [&b"gfx90a"[..], b"", b"a"]);
        assert!(Names::new(&[]).unwrap().is_empty());
    }

    #[allow(unsafe_code)]
    fn bytes_of<'a>(name: *const c_char) -> &'a [u8] {
        // SAFETY: a name of `names`, which outlives what is compared here.
        unsafe { text(name) }.unwrap()
    }
}
