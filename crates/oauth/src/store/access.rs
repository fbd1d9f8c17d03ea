//! File permissions of the store.
//!
//! On systems without Unix permissions, the user's directory keeps other users out.

#[cfg(unix)]
pub(super) use unix::{
    check_directory, check_owner_only, for_owner, no_links, private_directories, sync_directory,
};

#[cfg(not(unix))]
pub(super) use elsewhere::{
    check_directory, check_owner_only, for_owner, no_links, private_directories, sync_directory,
};

#[cfg(unix)]
mod unix {
    use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
    use std::io;
    use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
    use std::path::Path;

    use rustix::fs::OFlags;

    use crate::store::error::StoreError;

    /// Creates files with mode 600, from the first moment on.
    pub(in crate::store) fn for_owner(options: &mut OpenOptions) -> &mut OpenOptions {
        options.mode(0o600)
    }

    /// Creates directories with mode 700.
    pub(in crate::store) fn private_directories(builder: &mut DirBuilder) -> &mut DirBuilder {
        builder.mode(0o700)
    }

    /// Follows no symbolic link, and does not block on a named pipe.
    pub(in crate::store) fn no_links(options: &mut OpenOptions) -> &mut OpenOptions {
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        options.custom_flags(i32::try_from(flags.bits()).expect("flags fit"))
    }

    /// Checks that the file belongs to this user and is closed to all others.
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

    /// Checks that no other user can put a file in the place of one in this directory.
    pub(in crate::store) fn check_directory(directory: &Path) -> Result<(), StoreError> {
        let metadata = fs::metadata(directory).map_err(StoreError::io("find", directory))?;
        let (path, mode) = (directory.to_owned(), metadata.mode() & 0o7777);
        if mode & 0o022 != 0 {
            return Err(StoreError::ExposedDirectory { path, mode });
        }
        // The system administrator can read everything anyway.
        let owner = metadata.uid();
        if owner != 0 && owner != rustix::process::geteuid().as_raw() {
            return Err(StoreError::ForeignOwner { path });
        }
        Ok(())
    }

    /// Flushes the entries of a directory to the disk.
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

    pub(in crate::store) fn check_directory(_directory: &Path) -> Result<(), StoreError> {
        Ok(())
    }

    /// Directories cannot be opened to be flushed here.
    pub(in crate::store) fn sync_directory(_directory: &Path) -> io::Result<()> {
        Ok(())
    }
}
