//! Who may open the files of the store, as far as the system lets us say.
//!
//! On systems without permissions of this kind, the directory of the user is what keeps others out.

#[cfg(unix)]
pub(super) use unix::{check_owner_only, for_owner, no_links, private_directories, sync_directory};

#[cfg(not(unix))]
pub(super) use elsewhere::{
    check_owner_only, for_owner, no_links, private_directories, sync_directory,
};

#[cfg(unix)]
mod unix {
    use std::fs::{DirBuilder, File, Metadata, OpenOptions};
    use std::io;
    use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
    use std::path::Path;

    use rustix::fs::OFlags;

    use crate::store::error::StoreError;

    /// A file that is created is for its owner alone from the first moment.
    pub(in crate::store) fn for_owner(options: &mut OpenOptions) -> &mut OpenOptions {
        options.mode(0o600)
    }

    /// The same for directories.
    pub(in crate::store) fn private_directories(builder: &mut DirBuilder) -> &mut DirBuilder {
        builder.mode(0o700)
    }

    /// No symbolic link is followed, and opening a pipe does not wait for a writer.
    pub(in crate::store) fn no_links(options: &mut OpenOptions) -> &mut OpenOptions {
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        options.custom_flags(i32::try_from(flags.bits()).expect("flags fit"))
    }

    /// The file is ours, and nobody else could open it.
    pub(in crate::store) fn check_owner_only(
        metadata: &Metadata,
        path: &Path,
    ) -> Result<(), StoreError> {
        let (path, mode) = (path.to_owned(), metadata.mode() & 0o7777);
        if mode & 0o077 != 0 {
            return Err(StoreError::Exposed { path, mode });
        }
        if metadata.uid() != rustix::process::geteuid().as_raw() {
            return Err(StoreError::ForeignOwner { path });
        }
        Ok(())
    }

    /// Makes the names in a directory last.
    pub(in crate::store) fn sync_directory(directory: &Path) -> io::Result<()> {
        File::open(directory)?.sync_all()
    }
}

#[cfg(not(unix))]
mod elsewhere {
    use std::fs::{DirBuilder, Metadata, OpenOptions};
    use std::io;
    use std::path::Path;

    use crate::store::error::StoreError;

    pub(in crate::store) fn for_owner(options: &mut OpenOptions) -> &mut OpenOptions {
        options
    }

    pub(in crate::store) fn private_directories(builder: &mut DirBuilder) -> &mut DirBuilder {
        builder
    }

    pub(in crate::store) fn no_links(options: &mut OpenOptions) -> &mut OpenOptions {
        options
    }

    pub(in crate::store) fn check_owner_only(
        _metadata: &Metadata,
        _path: &Path,
    ) -> Result<(), StoreError> {
        Ok(())
    }

    /// Directories cannot be opened to be flushed here.
    pub(in crate::store) fn sync_directory(_directory: &Path) -> io::Result<()> {
        Ok(())
    }
}
