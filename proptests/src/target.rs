//! Target IDs and their candidates against a naive twin.

use rocload_core::Limits;
use rocload_core::kpack::TargetId;
use rocload_core::kpack::target::{MAX_FEATURES, generic};

use crate::{Verdict, require, same};

/// Any bytes as a target ID: the candidates are the twin's, in its order, and each agrees with
/// itself in every way of using it; so does the generic target.
///
/// # Errors
/// [`Broken`](crate::Broken).
pub fn candidates_agree(id: &[u8]) -> Verdict {
    let (processor, features) = pieces(id);
    let parsed = TargetId::parse(id, &Limits::default());
    let few = features.len() <= MAX_FEATURES;
    same("too many features are refused, and nothing else", &parsed.is_ok(), &few)?;
    let Ok(target) = parsed else { return Ok(()) };
    same("the features are the twin's", &target.features().to_vec(), &features)?;

    let twin = naive(id);
    same("there are as many as announced", &target.candidates().len(), &twin.len())?;
    let (mut names, mut room) = (Vec::new(), Vec::new());
    for candidate in target.candidates() {
        let len = candidate.len();
        room.clear();
        room.resize(len + 1, 0xa5);
        let name = match candidate.write_to(&mut room) {
            Ok(written) => written.to_vec(),
            Err(error) => {
                return require(false, "a candidate is written", || format!("{error:?}"));
            }
        };
        same("a candidate is written up to its length", &room[len], &0xa5)?;
        same("what is written is told", &&name[..], &&room[..len])?;
        let short = candidate.write_to(&mut room[..len - 1]).is_err();
        require(short, "a candidate needs its whole room", || format!("{name:?}"))?;
        same("text is the bytes", &candidate.to_string(), &lossy(&name))?;
        require(candidate.is_of(&target), "a candidate is of its target", || format!("{name:?}"))?;
        // Of many candidates its neighbours, and some that are as far away as its place.
        let at = names.len();
        let near = |other: usize| other.abs_diff(at) < 2 || (other ^ at).is_multiple_of(13);
        let others = twin.iter().enumerate().filter(|(other, _)| twin.len() <= 8 || near(*other));
        for other in others.map(|(_, other)| &other[..]).chain([id, &[]]) {
            let equal = *other == name;
            same("a candidate matches its bytes alone", &candidate.matches(other), &equal)?;
        }
        names.push(name);
    }
    same("candidates are the twin's", &names, &twin)?;
    generic_agrees(&target, processor, &features)
}

/// What a candidate of one target is to another.
///
/// # Errors
/// [`Broken`](crate::Broken).
pub fn membership_agrees(one: &[u8], other: &[u8]) -> Verdict {
    let limits = Limits::default();
    let (Ok(a), Ok(b)) = (TargetId::parse(one, &limits), TargetId::parse(other, &limits)) else {
        return Ok(());
    };
    let twin = naive(other);
    for (candidate, name) in a.candidates().zip(naive(one)) {
        same("a candidate is of those that have it", &candidate.is_of(&b), &twin.contains(&name))?;
    }
    Ok(())
}

fn generic_agrees(target: &TargetId<'_>, processor: &[u8], features: &[&[u8]]) -> Verdict {
    let twin = FAMILIES.iter().find_map(|(generic, family)| {
        let known = family.split(' ').any(|name| name.as_bytes() == processor);
        known.then_some(*generic)
    });
    same("the generic target is the table's", &generic(processor), &twin)?;
    let wanted = twin.map(|twin| {
        let mut name = twin.as_bytes().to_vec();
        for feature in ["sramecc", "xnack"] {
            let of =
                |it: &&&[u8]| it.len() == feature.len() + 1 && it.starts_with(feature.as_bytes());
            if let Some(feature) = features.iter().find(of) {
                name.push(b':');
                name.extend_from_slice(feature);
            }
        }
        name
    });
    let found = target.generic().map(|generic| {
        let mut name = vec![0; generic.len()];
        let written = generic.write_to(&mut name).is_ok_and(|name| name.len() == generic.len());
        (written && generic.to_string() == lossy(&name)).then_some(name)
    });
    same("the generic target has its features", &found, &wanted.map(Some))
}

/// The format's table.
const FAMILIES: &[(&str, &str)] = &[
    ("gfx9-generic", "gfx900 gfx902 gfx904 gfx906 gfx909 gfx90c"),
    ("gfx9-4-generic", "gfx940 gfx941 gfx942 gfx950"),
    ("gfx10-1-generic", "gfx1010 gfx1011 gfx1012 gfx1013"),
    ("gfx10-3-generic", "gfx1030 gfx1031 gfx1032 gfx1033 gfx1034 gfx1035 gfx1036"),
    ("gfx11-generic", "gfx1100 gfx1101 gfx1102 gfx1103 gfx1150 gfx1151 gfx1152 gfx1153"),
    ("gfx12-generic", "gfx1200 gfx1201"),
    ("gfx12-5-generic", "gfx1250"),
];

/// A lossy text as the core shows one: U+FFFD for each broken sequence.
fn lossy(bytes: &[u8]) -> String {
    // Each piece is shown on its own, so that no sequence reaches over a colon, which is ASCII.
    String::from_utf8_lossy(bytes).into_owned()
}

fn pieces(id: &[u8]) -> (&[u8], Vec<&[u8]>) {
    let prefix = b"amdgcn-amd-amdhsa--";
    let rest =
        if id.len() > prefix.len() && id.starts_with(prefix) { &id[prefix.len()..] } else { id };
    let mut pieces: Vec<&[u8]> = rest.split(|&byte| byte == b':').collect();
    let processor = pieces.remove(0);
    pieces.retain(|piece| !piece.is_empty());
    (processor, pieces)
}

/// The candidates of a target, by what the first feature may be and what the others may.
#[must_use]
pub fn naive(id: &[u8]) -> Vec<Vec<u8>> {
    fn tails(features: &[&[u8]]) -> Vec<Vec<u8>> {
        let Some((first, rest)) = features.split_first() else { return vec![Vec::new()] };
        let tails = tails(rest);
        let with = tails.iter().map(|tail| [b":", *first, tail].concat());
        with.chain(tails.iter().cloned()).collect()
    }
    let (processor, features) = pieces(id);
    if processor.is_empty() {
        return Vec::new();
    }
    tails(&features).into_iter().map(|tail| [processor, &tail].concat()).collect()
}
