//! The laws of archives over generated models, their mutations, and the fixtures.

use laws::frames::{walked, whole_region};
use laws::kernel;
use laws::kpack::{
    Kernel, Model, Writing, Written, open_any_way, owned_agrees, survives, views_agree,
};
use laws::{Broken, Verdict};
use proptest::collection::vec;
use proptest::prelude::*;
use rocload_core::Limits;
use rocload_core::kpack::{Scheme, Strictness, WriteOptions};
use rocload_core::zstd::{Decompress, Ruzstd, Workspace};
use rocload_fixtures::{Stage, bad_archives, compat_archives, good_archives};

const BOTH: [Strictness; 2] = [Strictness::Strict, Strictness::Compat];

/// Names of few letters, so that they repeat, and now and then of any bytes.
fn name() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        8 => "[ab]{0,2}".prop_map(String::into_bytes),
        2 => "lib/lib[a-z]{1,8}\\.so#[0-9]".prop_map(String::into_bytes),
        1 => vec(any::<u8>(), 0..40),
    ]
}

/// Kernels whose declared size is mostly that of `blobs` under scheme none.
fn kernel(scheme: Scheme, blobs: Vec<(u64, u64)>) -> impl Strategy<Value = Kernel> {
    let count = blobs.len().max(1) as u32;
    let ordinal = prop_oneof![20 => 0..count, 1 => any::<u32>()];
    let size = prop_oneof![10 => Just(None), 1 => any::<u64>().prop_map(Some)];
    (ordinal, size, 0..20u8, any::<bool>(), any::<bool>()).prop_map(
        move |(ordinal, size, declare, unusual, metadata)| {
            let stored = blobs.get(ordinal as usize).map(|blob| blob.1);
            let declared =
                (scheme == Scheme::ZstdPerKernel || declare > 3).then(|| stored.unwrap_or(9));
            Kernel { ordinal, size: size.or(declared), unusual, metadata }
        },
    )
}

fn model() -> impl Strategy<Value = Model> {
    let scheme = prop_oneof![Just(Scheme::None), Just(Scheme::ZstdPerKernel)];
    let blob = prop_oneof![30 => (64..80u64, 0..16u64), 1 => (any::<u64>(), any::<u64>())];
    let data = vec(0..4u8, 40..80);
    (scheme, vec(blob, 0..6), data).prop_flat_map(|(scheme, blobs, mut data)| {
        if scheme == Scheme::ZstdPerKernel {
            // A count that the region can hold more often than not.
            data[1..4].fill(0);
        }
        let entries = vec((name(), kernel(scheme, blobs.clone())), 0..5);
        let toc = vec((name(), entries), 0..8);
        (vec(name(), 0..4), toc, 0..8usize, vec(any::<u8>(), 0..3)).prop_map(
            move |(arches, toc, turn, tail)| Model {
                scheme,
                arches,
                toc,
                blobs: blobs.clone(),
                data: data.clone(),
                turn,
                tail,
            },
        )
    })
}

fn views(archive: &[u8]) -> Verdict {
    for strictness in BOTH {
        views_agree(archive, &Limits::default(), strictness, None)?;
        owned_agrees(archive, &Limits::default(), strictness, None)?;
    }
    Ok(())
}

fn fail(broken: Broken) -> TestCaseError {
    TestCaseError::fail(broken.to_string())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: rocload_fixtures::share(3000), ..ProptestConfig::default() })]

    #[test]
    fn every_view_of_a_model_agrees(model in model()) {
        views(&model.bytes()).map_err(fail)?;
    }

    #[test]
    fn and_of_one_with_a_changed_byte(model in model(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = model.bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        views(&bytes).map_err(fail)?;
    }

    #[test]
    fn a_region_is_walked_as_a_naive_walk_does(
        lengths in vec(0..40u32, 0..12),
        count in prop_oneof![3 => Just(None), 1 => (0..20u32).prop_map(Some)],
        size in prop_oneof![3 => Just(0i64), 1 => -20..20i64],
        cut in 0..30usize,
    ) {
        let mut region = count.unwrap_or(lengths.len() as u32).to_le_bytes().to_vec();
        for len in lengths {
            region.extend(len.to_le_bytes());
            region.resize(region.len() + len as usize, 0xee);
        }
        whole_region(&region).map_err(fail)?;
        // In a file, of which the end may be missing, with a size that may lie.
        let size = (region.len() as u64).saturating_add_signed(size);
        let mut file = vec![0; 16];
        file.extend(&region);
        file.truncate(file.len().saturating_sub(cut.saturating_sub(15)));
        walked(&file, 16, size, &Limits::default(), None).map_err(fail)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: rocload_fixtures::share(100), ..ProptestConfig::default() })]

    #[test]
    fn any_chunking_of_a_model_opens_the_same(model in model(), lie in -10..10i64) {
        let bytes = model.bytes();
        let total = (bytes.len() as u64).saturating_add_signed(lie);
        for strictness in BOTH {
            open_any_way(&bytes, bytes.len() as u64, &Limits::default(), strictness, None).map_err(fail)?;
            open_any_way(&bytes, total, &Limits::default(), strictness, Some(1)).map_err(fail)?;
        }
    }
}

fn written() -> impl Strategy<Value = Written> {
    let binary = prop_oneof![3 => name(), 1 => "[a\\\\/]{1,3}".prop_map(String::into_bytes)];
    let kind = prop_oneof![
        8 => Just(Some(b"hsaco".to_vec())),
        1 => Just(None),
        1 => name().prop_map(Some),
    ];
    let metadata = prop_oneof![
        6 => Just(None),
        1 => Just(Some(b"\x81\xa1k\x92\x01\xc0".to_vec())),
        1 => vec(any::<u8>(), 0..6).prop_map(Some),
    ];
    let content = prop_oneof![
        vec(any::<u8>(), 0..40),
        (any::<u8>(), 0..5000usize).prop_map(|(byte, len)| vec![byte; len]),
        (1..300u32, 0..40_000u32)
            .prop_map(|(step, len)| (0..len).map(|n| (n / step) as u8).collect()),
    ];
    let link = prop_oneof![8 => Just(None), 1 => (0..4u32).prop_map(Some)];
    (binary, name(), kind, metadata, any::<Option<[u8; 32]>>(), content, link).prop_map(
        |(binary, arch, kind, metadata, sha256, content, link)| Written {
            binary,
            arch,
            kind,
            metadata,
            sha256,
            content,
            link,
        },
    )
}

fn writing() -> impl Strategy<Value = Writing> {
    let how = (any::<bool>(), 0..13u32, any::<bool>(), any::<bool>(), any::<bool>());
    (name(), vec(name(), 0..3), vec(written(), 0..12), how).prop_map(
        |(group, arches, kernels, (none, align, index, verbatim, announced))| {
            let mut options = WriteOptions::default();
            options.scheme = if none { Scheme::None } else { Scheme::ZstdPerKernel };
            options.align = if none { 1 << align } else { 1 };
            (options.index, options.verbatim) = (index, verbatim);
            Writing { group, arches, kernels, options, announced }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: rocload_fixtures::share(1500), ..ProptestConfig::default() })]

    #[test]
    fn any_set_of_kernels_survives_write_and_read(writing in writing()) {
        let archive = survives(&writing, &mut Workspace::<0>::new()).map_err(fail)?;
        views(&archive).map_err(fail)?;
    }
}

/// A decoder that gets the last byte wrong.
struct Wrong(Workspace<0>);

impl Decompress for Wrong {
    fn name(&self) -> &'static str {
        "wrong"
    }
    fn decode(&mut self, src: &[u8], dst: &mut [u8]) -> Result<(), rocload_core::Error> {
        self.0.decode(src, dst)?;
        dst.last_mut().into_iter().for_each(|byte| *byte ^= 1);
        Ok(())
    }
    fn decode_pieces(
        &mut self,
        src: &[u8],
        expected: u64,
        limits: &Limits,
        window: &mut dyn rocload_core::Storage,
        sink: &mut dyn FnMut(&[u8]),
    ) -> Result<(), rocload_core::Error> {
        self.0.decode_pieces(src, expected, limits, window, sink)
    }
}

#[test]
fn a_kernel_that_comes_back_changed_breaks_the_law() {
    let mut options = WriteOptions::default();
    options.scheme = Scheme::ZstdPerKernel;
    let kernel = Written { content: b"content".to_vec(), ..Written::default() };
    let mut writing = Writing {
        group: Vec::new(),
        arches: Vec::new(),
        kernels: vec![kernel],
        options,
        announced: false,
    };
    let mut wrong = Wrong(Workspace::new());
    let broken = survives(&writing, &mut wrong).unwrap_err();
    assert_eq!(broken.law, "a kernel is what it was");
    writing.kernels[0].content.clear();
    assert!(survives(&writing, &mut wrong).is_ok(), "of nothing no byte is wrong");
}

#[test]
fn the_fixtures_through_every_view() {
    let mut count = 0;
    for archive in good_archives().chain(bad_archives()).chain(compat_archives()) {
        let bytes = archive.bytes();
        views(&bytes).unwrap_or_else(|broken| panic!("{}: {broken}", archive.path));
        if bytes.len() <= 4 << 10 {
            let total = bytes.len() as u64;
            for strictness in BOTH {
                open_any_way(&bytes, total, &Limits::default(), strictness, None)
                    .unwrap_or_else(|broken| panic!("{}: {broken}", archive.path));
            }
        }
        count += 1;
    }
    println!("{count} archives");
    assert!(count >= 80);
}

/// Every backend in every layout.
fn decoders() -> [Box<dyn Decompress>; 3] {
    [Box::new(Workspace::fast()), Box::new(Workspace::<0>::new()), Box::new(Ruzstd::new())]
}

#[test]
fn the_fixtures_to_their_last_kernel() {
    let mut limits = Limits::default();
    limits.kernel_bytes = 4 << 20;
    let (mut decoders, mut decoded, mut refused) = (decoders(), 0, 0);
    for archive in good_archives().chain(bad_archives()).chain(compat_archives()) {
        for strictness in BOTH {
            for decoder in &mut decoders {
                let tally =
                    kernel::archive(&mut **decoder, &archive.bytes(), &limits, strictness, 3)
                        .unwrap_or_else(|broken| panic!("{}: {broken}", archive.path));
                decoded += tally.decoded;
                refused += tally.refused;
            }
        }
    }
    println!("{decoded} kernels decoded, {refused} refused");
    assert!(decoded >= 120 && refused >= 60, "{decoded} and {refused}");
}

#[test]
fn a_broken_kernel_is_refused_and_its_sound_neighbour_is_not() {
    let (mut decoders, limits) = (decoders(), Limits::default());
    let mut count = 0;
    for archive in bad_archives().filter(|archive| archive.stage == Some(Stage::Verify)) {
        for decoder in &mut decoders {
            let tally =
                kernel::archive(&mut **decoder, &archive.bytes(), &limits, Strictness::Strict, 5);
            let tally = tally.unwrap_or_else(|broken| panic!("{}: {broken}", archive.path));
            assert_eq!((tally.decoded, tally.refused), (1, 1), "{}", archive.path);
        }
        count += 1;
    }
    println!("{count} broken kernels");
    assert!(count >= 20, "{count}");
}
