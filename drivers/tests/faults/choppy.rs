//! Sources that give little at once and are interrupted: the same items and the same errors.

use std::io;
use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};

use rocload::ReadAt;
use rocload_fixtures::object::{Ccob, bundle, ccob};
use rocload_fixtures::rng::Rng;
use rocload_fixtures::{bad_archives, good_archives};

use crate::driver::Driver;

/// Gives from one byte to `most` at once, and is interrupted every few reads.
struct Choppy {
    bytes: Vec<u8>,
    most: u64,
    rng: Mutex<Rng>,
}

impl Choppy {
    fn new(bytes: Vec<u8>, most: u64) -> Choppy {
        Choppy { bytes, most, rng: Mutex::new(Rng::new(most)) }
    }
}

impl ReadAt for Choppy {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut rng = self.rng.lock().unwrap_or_else(PoisonError::into_inner);
        if rng.below(4) == 0 {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let most = 1 + rng.below(self.most) as usize;
        let len = buf.len().min(most);
        self.bytes.read_at(&mut buf[..len], offset)
    }

    fn total(&self) -> io::Result<u64> {
        self.bytes.total()
    }
}

/// The most that is given at once.
const MOST: [u64; 3] = [1, 7, 5000];

pub(crate) fn archives_in_small_pieces<D: Driver>(driver: &D) {
    for fixture in good_archives() {
        let whole = driver.archive(fixture.bytes()).unwrap();
        for most in MOST {
            let choppy = driver.archive(Choppy::new(fixture.bytes(), most)).unwrap();
            for row in fixture.kernels() {
                assert_eq!(
                    driver.kernel(&choppy, &row.binary, &row.arch).unwrap(),
                    driver.kernel(&whole, &row.binary, &row.arch).unwrap(),
                    "{}: {} for {}",
                    fixture.name(),
                    row.binary,
                    row.arch
                );
            }
            let verdict = driver.verify(&choppy, NonZeroUsize::MIN);
            assert!(verdict.is_ok(), "{}: {:?}", fixture.name(), verdict.errors);
        }
    }
}

pub(crate) fn broken_archives_in_small_pieces<D: Driver>(driver: &D) {
    let mut refused = 0;
    for fixture in bad_archives() {
        let told = |source: Choppy| match driver.archive(source) {
            Ok(archive) => {
                let verdict = driver.verify(&archive, NonZeroUsize::MIN);
                verdict.errors.iter().map(ToString::to_string).collect()
            }
            Err(error) => vec![error.to_string()],
        };
        let whole = told(Choppy { most: u64::MAX >> 1, ..Choppy::new(fixture.bytes(), 1) });
        assert!(!whole.is_empty(), "{}", fixture.name());
        for most in MOST {
            assert_eq!(told(Choppy::new(fixture.bytes(), most)), whole, "{}", fixture.name());
        }
        refused += 1;
    }
    assert!(refused > 50, "{refused}");
}

pub(crate) fn binaries_in_small_pieces<D: Driver>(driver: &D) {
    let code: Vec<u8> = (0..9000u32).map(|n| (n / 3) as u8).collect();
    let plain = bundle(&[("hipv4-amdgcn-amd-amdhsa--gfx1030", &code)], 64);
    let region = [&plain[..], &[0; 30], &ccob(Ccob::V2, &plain), &[0; 5], &plain].concat();
    for most in MOST {
        let binary = driver.binary(Choppy::new(region.clone(), most)).unwrap();
        let objects = driver.objects(&binary).unwrap();
        assert_eq!(objects.len(), 3);
        for object in &objects {
            assert_eq!(driver.object(&binary, object).unwrap(), code);
        }
    }
}
