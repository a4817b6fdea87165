//! ZIP archives whose bytes depend on their members alone: stored, dated 1980, in the order given.

use std::io::{Cursor, Write};
use zip::write::FileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

/// The archive of `members`, each a path and its bytes.
pub(super) fn stored<'a>(members: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Vec<u8> {
    let options = FileOptions::default()
        .compression_method(CompressionMethod::Stored)
        .last_modified_time(DateTime::default())
        .unix_permissions(0o644);
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (path, bytes) in members {
        archive.start_file(path, options).expect("a new member can be begun");
        archive.write_all(bytes).expect("writing to memory does not fail");
    }
    archive.finish().expect("small archives can be finished").into_inner()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use zip::ZipArchive;

    #[test]
    fn members_come_back_in_their_order_without_a_date() {
        let file = stored([("b/2.txt", b"two".as_slice()), ("a.txt", b"")]);
        assert_eq!(file, stored([("b/2.txt", b"two".as_slice()), ("a.txt", b"")]));
        let mut archive = ZipArchive::new(Cursor::new(file)).unwrap();
        let mut member = archive.by_index(0).unwrap();
        let mut text = String::new();
        member.read_to_string(&mut text).unwrap();
        let year = member.last_modified().year();
        assert_eq!((member.name(), text.as_str(), year), ("b/2.txt", "two", 1980));
        drop(member);
        assert_eq!(archive.len(), 2);
    }
}
