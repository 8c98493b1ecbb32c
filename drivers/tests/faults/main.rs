//! What the world does to files and sources: they change while they are open, give little at
//! once, and are interrupted. One suite for both drivers.
#![cfg(all(unix, any(feature = "blocking", feature = "tokio")))]

#[cfg(feature = "blocking")]
mod blocking;
mod changes;
mod choppy;
mod driver;
#[cfg(feature = "tokio")]
mod tokio;

/// The suite as tests of a module.
macro_rules! suite {
    ($driver:ty) => {
        crate::suite!(@ $driver, changes:
            an_archive_that_is_written_to
            an_archive_that_is_replaced_or_removed
            a_binary_that_is_written_to
            a_binary_that_is_replaced_or_removed
            a_model_that_is_written_to
            a_model_that_is_replaced_or_removed
        );
        crate::suite!(@ $driver, choppy:
            archives_in_small_pieces
            broken_archives_in_small_pieces
            binaries_in_small_pieces
        );
    };
    (@ $driver:ty, $module:ident: $($name:ident)*) => {
        $(#[test]
        fn $name() {
            crate::$module::$name(&<$driver>::default());
        })*
    };
}
pub(crate) use suite;
