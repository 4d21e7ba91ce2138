//! Replaces a file as a whole.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use tempfile::NamedTempFile;

use crate::cli::Error;

/// Gives a file new contents in one step: whoever reads it meanwhile sees the old ones or the new ones. Its mode and
/// owner stay, and a link stays a link.
pub(super) fn replace(path: &Path, contents: &[u8]) -> Result<(), Error> {
    try_replace(path, contents).map_err(|source| Error::Write { path: path.to_owned(), source })
}

fn try_replace(path: &Path, contents: &[u8]) -> io::Result<()> {
    let path = fs::canonicalize(path)?;
    let metadata = fs::metadata(&path)?;
    if metadata.permissions().readonly() {
        // A rename would succeed all the same, where only the folder can be written.
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    // A rename works within one file system only.
    let folder = path.parent().unwrap_or(Path::new("/"));
    let mut file = NamedTempFile::new_in(folder)?;
    file.write_all(contents)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt as _, fchown};
        let own = file.as_file().metadata()?;
        if (own.uid(), own.gid()) != (metadata.uid(), metadata.gid()) {
            // Only root may give files away. Others become the owner of what they write, as in most editors.
            let _ = fchown(file.as_file(), Some(metadata.uid()), Some(metadata.gid()));
        }
    }
    file.as_file().set_permissions(metadata.permissions())?;
    file.as_file().sync_all()?;
    file.persist(&path)?;
    Ok(())
}
