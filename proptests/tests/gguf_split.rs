//! The laws of split sets over generated names and shards.

use laws::gguf_split::{names_agree, sets_agree};
use proptest::collection::vec;
use proptest::prelude::*;

fn fail(broken: laws::Broken) -> TestCaseError {
    TestCaseError::fail(broken.to_string())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: rocload_fixtures::share(2000), ..ProptestConfig::default() })]

    #[test]
    fn names_of_the_shape(prefix in "[-a0-9]{0,6}", number in "[0-9]{3,11}", of in prop_oneof![Just("-of-"), Just("of"), Just("-of")],
                          count in "[0-9]{3,11}", suffix in prop_oneof![4 => Just(".gguf"), 1 => Just(".gg"), 1 => Just("")]) {
        names_agree(format!("{prefix}-{number}{of}{count}{suffix}").as_bytes()).map_err(fail)?;
    }

    #[test]
    fn names_that_are_right(prefix in "[-a0-9.]{1,6}", count in 1u32..70_000, at in any::<prop::sample::Index>()) {
        let number = at.index(count as usize) + 1;
        names_agree(format!("{prefix}-{number:05}-of-{count:05}.gguf").as_bytes()).map_err(fail)?;
    }

    #[test]
    fn any_bytes_as_a_name(bytes in vec(any::<u8>(), 0..60)) {
        names_agree(&bytes).map_err(fail)?;
    }

    #[test]
    fn any_set(count in 0u8..40, shards in vec((any::<u8>(), prop_oneof![6 => Just(0u8), 1 => 0..16u8]), 0..80)) {
        let mut bytes = vec![count];
        bytes.extend(shards.into_iter().flat_map(|(number, odd)| [number, odd]));
        sets_agree(&bytes).map_err(fail)?;
    }
}
