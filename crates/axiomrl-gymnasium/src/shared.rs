//! Memory that two processes see.

use memmap2::MmapMut;
use rustix::fd::{AsRawFd, OwnedFd};
use std::io;
use std::ops::Range;

/// Anonymous memory that a child process inherits: nothing of it is left when both are gone, however they went.
pub struct SharedMemory {
    fd: OwnedFd,
    map: Option<MmapMut>,
}

impl SharedMemory {
    /// Of no size yet. Child processes inherit it until [`SharedMemory::keep`].
    #[cfg(target_os = "linux")]
    pub fn new() -> io::Result<Self> {
        let fd = rustix::fs::memfd_create("axiomrl-environments", rustix::fs::MemfdFlags::empty())?;
        Ok(Self { fd, map: None })
    }

    #[cfg(not(target_os = "linux"))]
    pub fn new() -> io::Result<Self> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "worker processes need Linux"))
    }

    /// The number by which the child knows it.
    pub fn number(&self) -> i32 {
        self.fd.as_raw_fd()
    }

    /// No further child inherits it.
    pub fn keep(&self) -> io::Result<()> {
        Ok(rustix::io::fcntl_setfd(&self.fd, rustix::io::FdFlags::CLOEXEC)?)
    }

    /// Makes it as large as asked for, with zeros everywhere.
    pub fn resize(&mut self, bytes: u64) -> io::Result<()> {
        self.map = None;
        rustix::fs::ftruncate(&self.fd, 0)?;
        rustix::fs::ftruncate(&self.fd, bytes)?;
        // SAFETY: nobody else knows the file, and the child maps it without changing its size. It writes only between a command
        // and its answer, and this side reads and writes only while it waits for a command, so no byte has two users at once.
        self.map = Some(unsafe { MmapMut::map_mut(&self.fd)? });
        Ok(())
    }

    /// The bytes at `place`. A caller has seen to it that they are there.
    pub fn read(&self, place: &Range<usize>) -> &[u8] {
        self.map.as_ref().map_or(&[], |map| &map[place.clone()])
    }

    pub fn write(&mut self, place: &Range<usize>, bytes: &[u8]) {
        if let Some(map) = &mut self.map {
            map[place.clone()].copy_from_slice(bytes);
        }
    }
}
