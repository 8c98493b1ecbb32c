//! Finding llama-server and asking it what it is, async: the same names as in
//! [`serve::find`](crate::serve::find) and [`serve::about`](crate::serve::about).

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::off::run;
use crate::serve::about::{About, about_unless};
use crate::serve::find::{self, Fault, Found};

/// The server to use on this machine; `given` counts before all else. As the blocking
/// [`find`](find::find).
///
/// # Errors
/// [`Fault`].
pub async fn find(given: Option<&Path>) -> Result<Found, Fault> {
    let path = given.map(Path::to_path_buf);
    let found = run(move || Ok(find::find(path.as_deref()))).await;
    // Where the runtime takes no more work, it is looked for here.
    found.unwrap_or_else(|_| find::find(given))
}

/// Asks a program for its version and its devices, as the blocking
/// [`about`](crate::serve::about::about). Where the future is dropped, the program is killed.
///
/// # Errors
/// As the blocking one.
pub async fn about(program: &Path) -> io::Result<About> {
    /// Dropped with the future.
    struct Stop(Arc<AtomicBool>);
    impl Drop for Stop {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let program = program.to_path_buf();
    let stop = Stop(Arc::default());
    let stopped = Arc::clone(&stop.0);
    run(move || about_unless(&program, &stopped)).await
}
