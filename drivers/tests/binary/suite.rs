//! What every driver must do with binaries.

use rocload::binary::{Binary, CodeObject};
use rocload::bundle::{Fault, Format, WrapperKind};
use rocload::core::{Cap, ErrorKind as CoreKind};
use rocload::{Error, ErrorKind, Options};
use rocload_fixtures::fat::{self, NOBITS, RELA, Section};
use rocload_fixtures::object::{Abi, Ccob, bundle, ccob, elf};
use rocload_fixtures::reference::reference;

/// A binary in memory, through a driver.
pub(crate) trait Driver: Sized {
    fn open(bytes: Vec<u8>, options: &Options) -> Result<Self, Error>;
    fn reference(&self, co_index: u32) -> Result<Option<Vec<u8>>, Error>;
    fn objects(&self) -> Result<Vec<CodeObject>, Error>;
    fn object(&self, object: &CodeObject) -> Result<Vec<u8>, Error>;
    fn blocking(&self) -> &Binary<Vec<u8>>;
}

/// The suite as tests of a module.
macro_rules! tests {
    ($driver:ty) => {
        $crate::suite::tests!(@each $driver;
            code_objects_come_out_of_every_container
            a_code_object_alone_has_the_target_of_its_header
            units_are_numbered_by_their_wrappers
            metadata_is_found_through_relocations
            an_object_that_is_not_linked_has_its_one_section
            what_is_split_off_is_not_there
            sizes_are_judged_before_they_are_believed
            faults_have_their_places
        );
    };
    (@each $driver:ty; $($test:ident)*) => {
        $(#[test]
        fn $test() {
            $crate::suite::$test::<$driver>();
        })*
    };
}
pub(crate) use tests;

fn open<D: Driver>(bytes: Vec<u8>) -> D {
    D::open(bytes, &Options::default()).unwrap()
}

const IDS: [(&str, &[u8]); 3] = [
    ("host-x86_64-unknown-linux--", b""),
    ("hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-", b"one object"),
    ("hip-amdgcn-amd-amdhsa-gfx1030", b"another"),
];

/// Targets and contents, host entries left out.
fn contents<D: Driver>(binary: &D) -> Vec<(String, Vec<u8>)> {
    let objects = binary.objects().unwrap();
    let device = objects.iter().filter(|object| !object.is_host());
    device
        .map(|object| {
            let content = binary.object(object).unwrap();
            assert_eq!(content.len() as u64, object.size());
            (String::from_utf8(object.target().unwrap().to_vec()).unwrap(), content)
        })
        .collect()
}

fn wanted(times: usize) -> Vec<(String, Vec<u8>)> {
    let one = [("gfx90a:xnack-", &b"one object"[..]), ("gfx1030", b"another")];
    let one = one.map(|(target, content)| (target.to_owned(), content.to_vec()));
    one.iter().cycle().take(2 * times).cloned().collect()
}

pub(crate) fn code_objects_come_out_of_every_container<D: Driver>() {
    let plain = bundle(&IDS, 64);
    let (two, three) = (ccob(Ccob::V2, &plain), ccob(Ccob::V3, &plain));
    let region = [&plain[..], &[0; 30], &two, &three, &[0; 5], &plain].concat();
    let code = Section::new(".hip_fatbin", 0x1000, &region);
    for (format, file) in [
        (Format::Other, region.clone()),
        (Format::Elf { machine: 62 }, fat::elf(&[code])),
        (Format::Coff, fat::coff(&[code], None)),
        (Format::Pe, fat::coff(&[code], Some(1 << 32))),
    ] {
        let binary: D = open(file);
        assert_eq!(binary.blocking().format(), format);
        assert_eq!(contents(&binary), wanted(4));
        let objects = binary.objects().unwrap();
        let bundles: Vec<u32> = objects.iter().map(CodeObject::bundle).collect();
        assert_eq!(bundles, [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]);
        // Any order: a compressed bundle is expanded again when its turn comes.
        for object in objects.iter().rev().step_by(2) {
            assert_eq!(binary.object(object).unwrap().len() as u64, object.size());
        }
    }
    // Two sections of one name, as in objects.
    let binary: D = open(fat::elf(&[code, code]));
    assert_eq!(contents(&binary), wanted(8));
    let empty: D = open(Vec::new());
    assert_eq!(contents(&empty), []);
}

pub(crate) fn a_code_object_alone_has_the_target_of_its_header<D: Driver>() {
    for target in ["gfx1030", "gfx90a:sramecc+:xnack-"] {
        let file = elf(target, Abi::V5, 2048, 7);
        assert_eq!(contents(&open::<D>(file.clone())), [(target.to_owned(), file)]);
    }
    let mut unknown = elf("gfx1030", Abi::V5, 2048, 7);
    unknown[48] = 0xff; // the processor's number
    let objects = open::<D>(unknown).objects().unwrap();
    assert_eq!((objects[0].target(), objects[0].id()), (None, &b""[..]));
}

pub(crate) fn units_are_numbered_by_their_wrappers<D: Driver>() {
    let plain = bundle(&IDS, 64);
    let packed = ccob(Ccob::V2, &plain);
    let region = [&plain[..], &packed, &plain].concat();
    let second = 0x1000 + plain.len() as u64;
    let wrappers = [
        fat::wrapper(b"FPIH", second, 0),
        fat::wrapper(b"FPIH", 0xbad, 0),
        fat::wrapper(b"????", 0x1000, 0),
        fat::wrapper(b"FPIH", 0, 0),
    ]
    .concat();
    let code = Section::new(".hip_fatbin", 0x1000, &region);
    let segment = Section::new(".hipFatBinSegment", 0x9000, &wrappers);
    // The last wrapper's pointer, and relocations of other things.
    let relocations = [
        fat::relative(0x9000 + 3 * 24 + 8, 0x1000),
        fat::relative(0x9000 + 3 * 24, 0x7777),
        fat::relative(0x9000 + 4 * 24 + 8, 0x7777),
        fat::relative(0x8fff, 0x7777),
    ]
    .concat();
    let section = Section::new(".rela.dyn", 0x8000, &relocations).of(RELA);
    let binary: D = open(fat::elf(&[section, code, segment]));
    let units: Vec<u32> = binary.objects().unwrap().iter().map(CodeObject::co_index).collect();
    // The third bundle has no wrapper, and its own number.
    assert_eq!(units, [3, 3, 3, 0, 0, 0, 2, 2, 2]);
    let kinds: Vec<WrapperKind> = binary.blocking().wrappers().iter().map(|it| it.kind).collect();
    let other = WrapperKind::Other(u32::from_le_bytes(*b"????"));
    assert_eq!(kinds, [WrapperKind::Fatbin, WrapperKind::Fatbin, other, WrapperKind::Fatbin]);
}

pub(crate) fn metadata_is_found_through_relocations<D: Driver>() {
    let one = reference(&["a.kpack"], "lib/a.so");
    let two = reference(&["b.kpack"], "lib/b.so");
    let both = [&one[..], &two].concat();
    let wrappers = [
        fat::wrapper(b"HIPK", 0x3000, 0),
        fat::wrapper(b"HIPK", 0, 9),
        fat::wrapper(b"HIPK", 0xbad, 5),
    ]
    .concat();
    let relocations = fat::relative(0x2000 + 24 + 8, 0x3000 + one.len() as u64);
    let sections = [
        Section::new(".rela.dyn", 0x1000, &relocations).of(RELA),
        Section::new(".hipFatBinSegment", 0x2000, &wrappers),
        Section::new(".rocm_kpack_ref", 0x3000, &both),
        Section::new(".rocm_kpack_ref", 0x4000, b"another"),
    ];
    let binary: D = open(fat::elf(&sections));
    // To the end of the section: where it ends, the metadata itself says.
    assert_eq!(binary.reference(0).unwrap(), Some(both));
    assert_eq!(binary.reference(9).unwrap(), Some(two));
    assert_eq!(binary.reference(5).unwrap(), None, "it leads nowhere");
    assert_eq!(binary.reference(1).unwrap(), None);
    assert!(binary.objects().unwrap().is_empty());
}

pub(crate) fn an_object_that_is_not_linked_has_its_one_section<D: Driver>() {
    let metadata = reference(&["a.kpack"], "lib/a.so");
    let wrapper = fat::wrapper(b"HIPK", 0xbad, 3);
    let sections = [Section::new(".hipFatB", 0, &wrapper), Section::new(".kpackrf", 0, &metadata)];
    let binary: D = open(fat::coff(&sections, None));
    assert_eq!(binary.reference(3).unwrap(), Some(metadata));
    assert_eq!(binary.reference(0).unwrap(), None);
}

pub(crate) fn what_is_split_off_is_not_there<D: Driver>() {
    let gone = Section::new(".hip_fatbin", 0x1000, &[0; 100]).of(NOBITS);
    let there = bundle(&IDS, 8);
    let there = Section::new(".hip_fatbin", 0x2000, &there);
    for (sections, split_off, objects) in
        [(&[gone][..], true, 0), (&[gone, there], false, 3), (&[there], false, 3), (&[], false, 0)]
    {
        let binary: D = open(fat::elf(sections));
        assert_eq!(binary.blocking().is_split_off(), split_off);
        assert_eq!(binary.objects().unwrap().len(), objects);
    }
}

fn kind(error: &Error) -> CoreKind {
    match error.kind() {
        ErrorKind::Format(error) => error.kind,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn sizes_are_judged_before_they_are_believed<D: Driver>() {
    // An expansion that is declared and cannot be.
    let mut packed = ccob(Ccob::V3, &bundle(&IDS, 8));
    packed[16..24].copy_from_slice(&(1u64 << 62).to_le_bytes());
    let error = open::<D>(packed.clone()).objects().unwrap_err();
    assert!(matches!(kind(&error), CoreKind::Limit { cap: Cap::KernelBytes, .. }), "{error}");
    packed[16..24].copy_from_slice(&(1u64 << 30).to_le_bytes());
    let error = open::<D>(packed).objects().unwrap_err();
    assert!(matches!(kind(&error), CoreKind::Limit { cap: Cap::Expansion, .. }), "{error}");
    let mut options = Options::default();
    options.limits.kernel_bytes = 8;
    let binary = D::open(bundle(&IDS, 8), &options).unwrap();
    let objects = binary.objects().unwrap();
    let error = binary.object(&objects[1]).unwrap_err();
    assert!(matches!(kind(&error), CoreKind::Limit { cap: Cap::KernelBytes, value: 10, limit: 8 }));
    assert_eq!(binary.object(&objects[2]).unwrap(), b"another");
    options.limits.kernels = 1;
    let wrappers = [fat::wrapper(b"HIPK", 0, 0), fat::wrapper(b"HIPK", 0, 1)].concat();
    let file = fat::elf(&[Section::new(".hipFatBinSegment", 0, &wrappers)]);
    let error = D::open(file, &options).err().unwrap();
    assert!(matches!(kind(&error), CoreKind::Limit { cap: Cap::Kernels, value: 2, limit: 1 }));
}

pub(crate) fn faults_have_their_places<D: Driver>() {
    let error = open::<D>(b"this is text".to_vec()).objects().unwrap_err();
    assert_eq!(kind(&error), CoreKind::Bundle(Fault::NoBundle { found: *b"this" }));
    assert_eq!(error.offset(), Some(0));
    let plain = bundle(&IDS, 8);
    let file = fat::elf(&[Section::new(".hip_fatbin", 0, &[&plain[..], b"junk"].concat())]);
    let at = file.windows(4).position(|it| it == b"junk").unwrap() as u64;
    let error = open::<D>(file.clone()).objects().unwrap_err();
    assert_eq!(kind(&error), CoreKind::Bundle(Fault::NoBundle { found: *b"junk" }));
    assert_eq!(error.offset(), Some(at));
    // The headers of a file that was cut.
    for cut in [17, 63, file.len() - 1] {
        let error = D::open(file[..cut].to_vec(), &Options::default()).err().unwrap();
        assert!(
            matches!(
                kind(&error),
                CoreKind::Truncated { .. } | CoreKind::Bundle(Fault::SectionTable { .. })
            ),
            "{error}"
        );
    }
    for at in 0..file.len() {
        for byte in [0, 0x7f, 0xff] {
            let mut bytes = file.clone();
            bytes[at] = byte;
            // No claim but that there is an answer.
            if let Ok(binary) = D::open(bytes, &Options::default())
                && let Ok(objects) = binary.objects()
            {
                objects.iter().for_each(|object| drop(binary.object(object)));
            }
        }
    }
}
