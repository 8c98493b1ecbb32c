//! Names that may have been meant.

use rocload::error::printable;

/// Longest name that is compared, in bytes, and most names: bounds the work on hostile tables.
const LONGEST: usize = 256;
const MOST: usize = 50_000;
/// Names told at most.
const TOLD: usize = 3;
/// The least similarity, from 0 to 1, that makes a name worth telling.
const ALIKE: f64 = 0.82;

/// Up to three of `names` that look most like `asked`, the best first.
pub(crate) fn nearest<'a>(asked: &[u8], names: impl Iterator<Item = &'a [u8]>) -> Vec<&'a [u8]> {
    if asked.is_empty() || asked.len() > LONGEST {
        return Vec::new();
    }
    let asked = String::from_utf8_lossy(asked).to_lowercase();
    let short = names.filter(|name| name.len() <= LONGEST).take(MOST);
    let mut scored: Vec<(f64, &[u8])> = short
        .map(|name| (score(&asked, &String::from_utf8_lossy(name).to_lowercase()), name))
        .filter(|&(score, _)| score >= ALIKE)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    scored.dedup_by_key(|&mut (_, name)| name);
    scored.truncate(TOLD);
    scored.into_iter().map(|(_, name)| name).collect()
}

/// Likeness of two names; one that has the other as a part is as good as a typing error.
fn score(asked: &str, name: &str) -> f64 {
    let alike = strsim::jaro_winkler(asked, name);
    if name.contains(asked) { alike.max(0.9) } else { alike }
}

/// `did you mean A, B or C?`, or nothing.
pub(crate) fn question(names: &[&[u8]]) -> Option<String> {
    let shown: Vec<String> = names.iter().map(|name| printable(name)).collect();
    let (last, rest) = shown.split_last()?;
    Some(match rest {
        [] => format!("did you mean {last}?"),
        _ => format!("did you mean {} or {last}?", rest.join(", ")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nearest_of(asked: &str, names: &[&str]) -> Vec<String> {
        let names = names.iter().map(|name| name.as_bytes());
        nearest(asked.as_bytes(), names).into_iter().map(printable).collect()
    }

    #[test]
    fn what_was_meant() {
        let names = ["lib/librocblas.so.5#0", "lib/librocfft.so#0", "bin/x#1"];
        assert_eq!(nearest_of("lib/librocblas.so.5", &names)[0], "lib/librocblas.so.5#0");
        assert_eq!(nearest_of("rocfft", &names), ["lib/librocfft.so#0"]);
        assert_eq!(nearest_of("gfx90a-xnack-", &["gfx90a:xnack-", "gfx1030"]), ["gfx90a:xnack-"]);
        assert!(nearest_of("something else", &names).is_empty());
        assert!(nearest_of("", &names).is_empty());
    }

    #[test]
    fn questions() {
        assert_eq!(question(&[]), None);
        assert_eq!(question(&[b"a"]).unwrap(), "did you mean a?");
        assert_eq!(question(&[b"a", b"b", b"c"]).unwrap(), "did you mean a, b or c?");
    }
}
