//! The container of NumPy's `.npz`: a ZIP archive of uncompressed files.
//!
//! Own code because it is little, and because a ZIP library stamps the current time on every entry, where identical
//! runs must give identical bytes.

use std::io;

const LOCAL: u32 = 0x0403_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;
/// 1 January 1980, the earliest date the format knows.
const DATE: u16 = 0x0021;
const VERSION: u16 = 20;
const LOCAL_LENGTH: usize = 30;
const END_LENGTH: usize = 22;

/// An archive of the files given.
pub(super) fn pack(files: &[(&str, Vec<u8>)]) -> io::Result<Vec<u8>> {
    let (mut archive, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in files {
        let offset = to_u32(archive.len())?;
        let size = to_u32(content.len())?;
        // What the entry and the directory have in common: flags, stored, time, date, checksum, sizes, lengths.
        let mut common = Vec::new();
        for word in [VERSION, 0, 0, 0, DATE] {
            common.extend(word.to_le_bytes());
        }
        for word in [crc32(content), size, size] {
            common.extend(word.to_le_bytes());
        }
        common.extend((name.len() as u16).to_le_bytes());
        common.extend(0u16.to_le_bytes());

        archive.extend(LOCAL.to_le_bytes());
        archive.extend(&common);
        archive.extend(name.as_bytes());
        archive.extend(content);

        directory.extend(CENTRAL.to_le_bytes());
        directory.extend(VERSION.to_le_bytes());
        directory.extend(&common);
        // No comment, first disk, no attributes.
        directory.extend([0; 10]);
        directory.extend(offset.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let (start, length, count) = (to_u32(archive.len())?, to_u32(directory.len())?, files.len() as u16);
    archive.append(&mut directory);
    archive.extend(END.to_le_bytes());
    archive.extend([0; 4]);
    archive.extend(count.to_le_bytes());
    archive.extend(count.to_le_bytes());
    archive.extend(length.to_le_bytes());
    archive.extend(start.to_le_bytes());
    archive.extend([0; 2]);
    Ok(archive)
}

/// The files of an archive made by [`pack`], with their names. Other archives and damaged ones are refused.
pub(super) fn unpack(archive: &[u8]) -> io::Result<Vec<(String, Vec<u8>)>> {
    parse(archive).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "not an archive this program wrote"))
}

fn parse(archive: &[u8]) -> Option<Vec<(String, Vec<u8>)>> {
    let end = archive.len().checked_sub(END_LENGTH)?;
    if u32_at(archive, end)? != END {
        return None;
    }
    let (count, directory) = (u16_at(archive, end + 10)?, u32_at(archive, end + 16)? as usize);
    let mut at = 0;
    let mut files = Vec::new();
    for _ in 0..count {
        let stored = u16_at(archive, at + 8)? == 0;
        let (checksum, size) = (u32_at(archive, at + 14)?, u32_at(archive, at + 18)? as usize);
        let (name_length, extra) = (usize::from(u16_at(archive, at + 26)?), u16_at(archive, at + 28)?);
        if u32_at(archive, at)? != LOCAL || !stored || extra != 0 {
            return None;
        }
        let name = archive.get(at + LOCAL_LENGTH..at + LOCAL_LENGTH + name_length)?;
        let start = at + LOCAL_LENGTH + name_length;
        let content = archive.get(start..start + size)?;
        if crc32(content) != checksum {
            return None;
        }
        files.push((String::from_utf8(name.to_vec()).ok()?, content.to_vec()));
        at = start + size;
    }
    (at == directory).then_some(files)
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|chunk| u16::from_le_bytes(*chunk))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|chunk| u32::from_le_bytes(*chunk))
}

fn to_u32(length: usize) -> io::Result<u32> {
    u32::try_from(length).map_err(|_| io::Error::new(io::ErrorKind::FileTooLarge, "more than 4 GB of evaluations"))
}

/// The checksum of ZIP (reflected polynomial 0xEDB88320), not the crc32c of TensorBoard.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| if crc & 1 == 1 { (crc >> 1) ^ 0xEDB8_8320 } else { crc >> 1 })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_the_standard_one() {
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
    }

    #[test]
    fn unpacks_what_it_packed_and_refuses_the_rest() {
        let files = [("a.npy", vec![1, 2, 3]), ("b.npy", Vec::new())];
        let archive = pack(&files).unwrap();
        let unpacked = unpack(&archive).unwrap();
        assert_eq!(unpacked, files.map(|(name, content)| (name.to_owned(), content)));
        for cut in 0..archive.len() {
            assert!(unpack(&archive[..cut]).is_err(), "cut to {cut}");
        }
        let mut flipped = archive;
        flipped[LOCAL_LENGTH + 5] ^= 1;
        assert!(unpack(&flipped).is_err());
    }
}
