//! Events for `tracing`, which cost nothing where the feature is off.

/// As `tracing::debug!`, with the feature `tracing`; nothing without it.
macro_rules! debug {
    ($($event:tt)*) => {
        #[cfg(feature = "tracing")]
        tracing::debug!($($event)*);
    };
}

pub(crate) use debug;
