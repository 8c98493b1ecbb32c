//! The machine over worlds that are lists of files.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use super::*;
use crate::msgpack::Writer;

/// Reference metadata with these paths, for `k`.
fn metadata(paths: &[&str]) -> Vec<u8> {
    let mut memory = vec![0; 4096];
    let mut writer = Writer::new(&mut memory);
    writer.map(2);
    writer.str("kpack_search_paths");
    writer.array(paths.len() as u32);
    for path in paths {
        writer.str(path);
    }
    writer.str("kernel_name");
    writer.str("k");
    let len = writer.finish().unwrap().len();
    memory.truncate(len);
    memory
}

/// A world: archives by path, each with its targets and whether it has the kernel for them.
type World<'w> = &'w [(&'w str, &'w [(&'w str, Outcome)])];

struct Asked {
    metadata: Vec<u8>,
    arches: Vec<&'static [u8]>,
    replace: &'static str,
    prefix: &'static str,
    linked: Option<&'static str>,
}

fn asked(paths: &[&str], arches: &[&'static str]) -> Asked {
    let arches = arches.iter().map(|arch| arch.as_bytes()).collect();
    Asked { metadata: metadata(paths), arches, replace: "", prefix: "", linked: None }
}

/// Searches a world; what was asked, line by line, and how it ended.
fn search(asked: &Asked, world: World<'_>) -> (Vec<String>, String) {
    let limits = Limits::default();
    let reference = Reference::parse(&asked.metadata, &limits).unwrap();
    let mut query = Query::new(reference, 7, b"/b/x.so", &asked.arches);
    query.replace = PathList::new(asked.replace.as_bytes());
    query.prefix = PathList::new(asked.prefix.as_bytes());
    let mut search = Search::new(query, &limits, Vec::new()).unwrap();
    let (mut lines, mut opened): (Vec<String>, Vec<usize>) = (Vec::new(), Vec::new());
    loop {
        let action = search.poll();
        assert_eq!(search.poll(), action, "polling changes nothing");
        let outcome = match action {
            Action::Open(location) => {
                let path = location.to_string();
                assert_eq!(path.len(), location.len());
                assert_eq!(location.to_vec(), path.as_bytes());
                let mut exact = vec![0; path.len()];
                assert_eq!(location.write_to(&mut exact), Ok(path.as_bytes()));
                if let Some(short) = path.len().checked_sub(1) {
                    let need = path.len() as u64;
                    assert_eq!(location.write_to(&mut exact[..short]), Err(Full { need }));
                }
                let there = world.iter().position(|(name, _)| *name == path);
                lines.push(path);
                match there {
                    None => Outcome::Missing,
                    Some(there) => {
                        let known = opened.iter().position(|&other| other == there);
                        if known.is_none() {
                            opened.push(there);
                        }
                        Outcome::Opened(known.unwrap_or(opened.len() - 1) as u32)
                    }
                }
            }
            Action::Lookup { archive, target } => {
                let (name, targets) = world[opened[archive as usize]];
                lines.push(format!("{target} in {name}"));
                let found = targets.iter().find(|(arch, _)| target.matches(arch.as_bytes()));
                found.map_or(Outcome::NoTarget, |(_, outcome)| *outcome)
            }
            Action::Done(Verdict::Found { target, arch, .. }) => {
                assert!(
                    matches!(search.handle(Outcome::Found), Err(error) if error.class() == Class::Misuse)
                );
                assert!(!search.follow(b"/elsewhere"), "there is nothing left to find");
                return (lines, format!("{target} ({arch})"));
            }
            Action::Done(Verdict::NotFound(reason)) => {
                if asked.linked.is_some_and(|linked| search.follow(linked.as_bytes())) {
                    continue;
                }
                return (lines, format!("{reason:?}"));
            }
        };
        let wrong = match action {
            Action::Open(_) => [Outcome::Found, Outcome::NoTarget, Outcome::Opened(99)],
            _ => [Outcome::Missing, Outcome::Opened(0), Outcome::Missing],
        };
        for wrong in wrong {
            let before = search.trail().len();
            assert_eq!(search.handle(wrong), Err(Error::new(ErrorKind::Kpack(Fault::Outcome), 0)));
            assert_eq!((search.poll(), search.trail().len()), (action, before));
        }
        search.handle(outcome).unwrap();
    }
}

use crate::error::{Class, Full};

const HAS: Outcome = Outcome::Found;
const LACKS: Outcome = Outcome::Failed(Reason::NoKernel);

#[test]
fn every_path_is_opened_before_anything_is_looked_up() {
    let (lines, end) = search(
        &asked(&["../a_@GFXARCH@_@GFXARCH@", "/c"], &["p:f+", "q"]),
        &[("/c", &[("p", HAS)]), ("/b/../a_q_@GFXARCH@", &[("q", HAS), ("p:f+", LACKS)])],
    );
    assert_eq!(
        lines,
        [
            "/b/../a_p:f+_@GFXARCH@",
            "/b/../a_p-f+_@GFXARCH@",
            "/b/../a_p_@GFXARCH@",
            "/b/../a_q_@GFXARCH@",
            "/c",
            "p:f+ in /b/../a_q_@GFXARCH@",
            "p:f+ in /c",
            "p in /b/../a_q_@GFXARCH@",
            "p in /c",
        ]
    );
    assert_eq!(end, "p (0)");
}

#[test]
fn candidates_that_came_before_do_not_come_again() {
    let (lines, end) =
        search(&asked(&["@GFXARCH@"], &["p:f+", "p", "p:f+:g-", "p"]), &[("/b/p", &[("q", HAS)])]);
    assert_eq!(
        lines,
        [
            "/b/p:f+",
            "/b/p-f+",
            "/b/p",
            "/b/p:f+:g-",
            "/b/p-f+-g-",
            "/b/p:g-",
            "/b/p-g-",
            "p:f+ in /b/p",
            "p in /b/p",
            "p:f+:g- in /b/p",
            "p:g- in /b/p",
        ]
    );
    assert_eq!(end, "NoArch");
}

#[test]
fn lists_go_before_and_instead() {
    let mut it = asked(&["e"], &["p"]);
    it.prefix = "x:y::z";
    let (lines, end) = search(&it, &[("y::z", &[("p", LACKS)]), ("/b/e", &[("p", HAS)])]);
    assert_eq!(lines, ["x:y::z", "x:y", "x", "y::z", "/b/e", "p in y::z", "p in /b/e"]);
    assert_eq!(end, "p (0)");
    it.replace = "a\\:b:c";
    it.linked = Some("/l/x.so");
    let (lines, end) = search(&it, &[("/b/e", &[("p", HAS)]), ("c", &[("q", HAS)])]);
    assert_eq!(lines, ["a:b:c", "a:b", "c", "p in c"]);
    assert_eq!(end, "NoArch");
    it.replace = "::";
    assert_eq!(search(&it, &[("/b/e", &[("p", HAS)])]).1, "p (0)");
}

#[test]
fn a_link_is_followed_when_all_else_has_failed() {
    let mut it = asked(&["e_@GFXARCH@", "/abs", "f"], &["p"]);
    it.linked = Some("/l/x.so");
    let world: World<'_> = &[("/b/f", &[("p", LACKS)]), ("/l/e_p", &[("p", HAS)])];
    let (lines, end) = search(&it, world);
    let all = ["/b/e_p", "/abs", "/b/f", "p in /b/f", "/l/e_p", "/l/f", "p in /l/e_p"];
    assert_eq!((&lines[..], &*end), (&all.map(String::from)[..], "p (0)"));
    assert_eq!(search(&it, &world[..1]).1, "NoKernel", "of all of it");
    let mut absolute = asked(&["/abs"], &["p"]);
    absolute.linked = Some("/l/x.so");
    assert_eq!(search(&absolute, world).0, ["/abs"]);
}

#[test]
fn the_most_severe_reason_is_told() {
    let all = [
        Reason::NoArchive,
        Reason::NoArch,
        Reason::NoKernel,
        Reason::Version,
        Reason::Format,
        Reason::Decompression,
        Reason::Msgpack,
        Reason::Io,
        Reason::Memory,
    ];
    let codes: Vec<u8> = all.iter().map(|reason| reason.code()).collect();
    assert_eq!(codes, [13, 14, 5, 4, 3, 6, 10, 9, 7]);
    assert!(all.is_sorted());
    for (i, &one) in all.iter().enumerate().skip(2) {
        for &other in &all[2..=i] {
            for pair in [[one, other], [other, one]] {
                let [first, second] = pair.map(Outcome::Failed);
                let found = search(
                    &asked(&["a", "b"], &["p"]),
                    &[("/b/a", &[("p", first)]), ("/b/b", &[("p", second)])],
                );
                assert_eq!(found.1, format!("{one:?}"));
            }
        }
    }
}

#[test]
fn paths_beyond_the_limit_are_told() {
    let limits = Limits { search_paths: 2, ..Limits::default() };
    let bytes = metadata(&["a", "b", "c", "d", "e"]);
    let reference = Reference::parse(&bytes, &limits).unwrap();
    let arches = [&b"p"[..]];
    let mut query = Query::new(reference, 0, b"x.so", &arches);
    query.prefix = PathList::new(b"u:v:w");
    let mut slots = [None; 6];
    let mut search = Search::new(query, &limits, LentTrail::new(&mut slots)).unwrap();
    while let Action::Open(_) = search.poll() {
        search.handle(Outcome::Missing).unwrap();
    }
    assert_eq!(search.poll(), Action::Done(Verdict::NotFound(Reason::NoArchive)));
    let trail = search.into_trail();
    let steps: Vec<String> = trail
        .steps()
        .map(|step| match step {
            Tried::Path { location, .. } => location.to_string(),
            Tried::Ignored { origin, paths } => format!("{} {paths}", origin.name()),
            Tried::Kernel { .. } => unreachable!("nothing was opened"),
        })
        .collect();
    assert_eq!(steps, ["u", "v", "prefix 1", "a", "b", "embedded 3"]);
    assert_eq!(trail.missed(), 0);
}

#[test]
fn a_lent_trail_keeps_what_it_has_room_for() {
    let bytes = metadata(&["a", "b", "c"]);
    let limits = Limits::default();
    let reference = Reference::parse(&bytes, &limits).unwrap();
    let arches = [&b"p"[..]];
    let query = Query::new(reference, 0, b"/x.so", &arches);
    let mut slots = [None; 2];
    let mut search = Search::new(query, &limits, LentTrail::new(&mut slots)).unwrap();
    while let Action::Open(_) = search.poll() {
        search.handle(Outcome::Missing).unwrap();
    }
    assert_eq!((search.trail().steps().count(), search.trail().missed()), (2, 1));
}

#[test]
fn too_many_features_are_refused_at_once() {
    let bytes = metadata(&["a"]);
    let limits = Limits::default();
    let reference = Reference::parse(&bytes, &limits).unwrap();
    let arches = [&b"p"[..], b"p:a:b:c:d:e:f:g"];
    let error = Search::new(Query::new(reference, 0, b"", &arches), &limits, ()).unwrap_err();
    assert_eq!(error.class(), Class::Limit);
}
