//! Settings of the system's allocator for processes that serve.

/// Keeps freed memory for the next messages, instead of returning it to the system after each one.
///
/// The allocator of glibc returns the end of its memory as soon as 128 KiB of it are free, and maps
/// larger blocks one by one. A message of 100 KB then costs about 50 page faults, which take as long
/// as all other work on it. After this call, blocks of up to 2 MiB are not mapped, and each of the
/// allocator's few areas keeps up to 4 MiB.
///
/// Call it first of all in `main`, before other threads exist. It does nothing with allocators other
/// than that of glibc.
pub fn keep_freed_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    set_thresholds(2 << 20, 4 << 20);
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "no crate wraps this function of the C library")]
fn set_thresholds(mapped_block: i32, trimmed_end: i32) {
    // SAFETY: the function takes two integers and stores them under the lock of the allocator; it
    // refuses values that it cannot use, and then nothing changes.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, mapped_block);
        libc::mallopt(libc::M_TRIM_THRESHOLD, trimmed_end);
    }
}
