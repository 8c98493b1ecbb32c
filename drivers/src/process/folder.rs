//! Folders of the user's own, and the name of a socket in one.

use std::env;
use std::ffi::CString;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use rustix::rand::{GetRandomFlags, getrandom};

/// The longest name of a Unix socket, in bytes.
const NAME: usize = 107;
/// What a name in a folder takes: a slash, 16 digits, `.sock`.
const OWN: usize = 22;

/// A fresh name for a Unix socket: 16 random digits in a folder that only this user can enter.
/// Dropping it removes what was made there, and the folder if it was made for this name alone.
///
/// The folder is `$XDG_RUNTIME_DIR/rocload`, else `/run/user/UID/rocload`, else a new one under
/// `$TMPDIR`; where a name there would be longer than the 107 bytes that the system allows,
/// `/tmp/rocload-UID`.
#[derive(Debug)]
pub struct Socket {
    path: PathBuf,
    /// To be removed too.
    folder: Option<PathBuf>,
}

impl Socket {
    /// A fresh name.
    ///
    /// # Errors
    /// The system's, when no folder can be had that belongs to this user alone.
    pub fn new() -> io::Result<Socket> {
        // The server takes a comma for the end of a name.
        let fits = |folder: &Path| {
            let name = folder.as_os_str();
            name.len() + OWN <= NAME && !name.as_bytes().contains(&b',')
        };
        for folder in runtime_folders() {
            if fits(&folder) && make_private(&folder).is_ok() {
                return Socket::in_folder(&folder);
            }
        }
        let folder = env::temp_dir().join(format!("rocload-{}", random()?));
        if fits(&folder) && folder.is_absolute() && create(&folder).is_ok() {
            let mut socket = Socket::in_folder(&folder)?;
            socket.folder = Some(folder);
            return Ok(socket);
        }
        let folder = own_folder();
        make_private(&folder)?;
        Socket::in_folder(&folder)
    }

    /// A fresh name in a folder that is there already.
    ///
    /// # Errors
    /// `InvalidFilename` when it would be too long; the system's.
    pub fn in_folder(folder: &Path) -> io::Result<Socket> {
        let path = folder.join(format!("{}.sock", random()?));
        if path.as_os_str().len() > NAME || CString::new(path.as_os_str().as_bytes()).is_err() {
            return Err(io::ErrorKind::InvalidFilename.into());
        }
        Ok(Socket { path, folder: None })
    }

    /// The name.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // Nothing may have been made there.
        let _ = fs::remove_file(&self.path);
        if let Some(folder) = &self.folder {
            let _ = fs::remove_dir(folder);
        }
    }
}

/// The folder where it is noted which servers are ours: the first of those that stay,
/// `$XDG_RUNTIME_DIR/rocload`, `/run/user/UID/rocload`, `/tmp/rocload-UID`.
///
/// # Errors
/// The system's, when none of them belongs to this user alone.
pub fn records_folder() -> io::Result<PathBuf> {
    for folder in runtime_folders() {
        if make_private(&folder).is_ok() {
            return Ok(folder);
        }
    }
    let folder = own_folder();
    make_private(&folder)?;
    Ok(folder)
}

fn runtime_folders() -> impl Iterator<Item = PathBuf> {
    let told = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute());
    let usual = Path::new("/run/user").join(uid().to_string());
    told.into_iter().chain([usual]).filter(|path| path.is_dir()).map(|path| path.join("rocload"))
}

fn own_folder() -> PathBuf {
    Path::new("/tmp").join(format!("rocload-{}", uid()))
}

fn uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

fn create(folder: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(folder)
}

/// Makes the folder, or makes sure that the one there is no link, this user's own, and closed to
/// all others.
fn make_private(folder: &Path) -> io::Result<()> {
    match create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let found = fs::symlink_metadata(folder)?;
    if !found.is_dir() || found.uid() != uid() || found.mode() & 0o077 != 0 {
        let text = format!("{} is not this user's alone", folder.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
    }
    Ok(())
}

/// 16 random digits.
pub(super) fn random() -> io::Result<String> {
    let mut bytes = [0; 8];
    // So few bytes come whole.
    getrandom(&mut bytes, GetRandomFlags::empty())?;
    Ok(format!("{:016x}", u64::from_ne_bytes(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    #[test]
    fn a_name_is_fresh_short_and_in_a_folder_of_ones_own() {
        let (one, other) = (Socket::new().unwrap(), Socket::new().unwrap());
        assert_ne!(one.path(), other.path());
        assert!(one.path().as_os_str().len() <= NAME);
        let folder = one.path().parent().unwrap();
        assert_eq!(fs::metadata(folder).unwrap().mode() & 0o777, 0o700);
        fs::write(one.path(), "").unwrap();
        let path = one.path().to_owned();
        drop(one);
        assert!(!path.exists());
    }

    #[test]
    fn others_folders_are_refused() {
        let home = tempfile::tempdir().unwrap();
        let open = home.path().join("open");
        create(&open).unwrap();
        make_private(&open).unwrap();
        let link = home.path().join("link");
        symlink(&open, &link).unwrap();
        assert!(make_private(&link).is_err());
        fs::set_permissions(&open, fs::Permissions::from_mode(0o750)).unwrap();
        assert!(make_private(&open).is_err());
        let file = home.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(make_private(&file).is_err());
    }

    #[test]
    fn a_name_that_is_too_long_is_refused() {
        let folder = PathBuf::from("/").join("x".repeat(NAME - OWN));
        assert!(Socket::in_folder(&folder).is_err());
        let folder = PathBuf::from("/").join("x".repeat(NAME - OWN - 1));
        assert_eq!(Socket::in_folder(&folder).unwrap().path().as_os_str().len(), NAME);
    }
}
