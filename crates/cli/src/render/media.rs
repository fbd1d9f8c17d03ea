use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// Bytes of a server that a terminal cannot show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Media {
    /// Word for it: image, audio or data.
    pub(crate) kind: &'static str,
    /// Media type, as the server wrote it.
    pub(crate) mime_type: String,
    pub(crate) bytes: Vec<u8>,
}

/// Endings of files, by media type. The name of a file is never taken from a server.
const ENDINGS: [(&str, &str); 21] = [
    ("image/png", "png"),
    ("image/jpeg", "jpg"),
    ("image/gif", "gif"),
    ("image/webp", "webp"),
    ("image/svg+xml", "svg"),
    ("image/bmp", "bmp"),
    ("image/avif", "avif"),
    ("audio/wav", "wav"),
    ("audio/x-wav", "wav"),
    ("audio/mpeg", "mp3"),
    ("audio/mp3", "mp3"),
    ("audio/ogg", "ogg"),
    ("audio/flac", "flac"),
    ("audio/mp4", "m4a"),
    ("video/mp4", "mp4"),
    ("application/pdf", "pdf"),
    ("application/json", "json"),
    ("application/zip", "zip"),
    ("application/gzip", "gz"),
    ("text/plain", "txt"),
    ("text/csv", "csv"),
];

/// Servers leave out the padding or not.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

impl Media {
    /// Reads base64, which may have line breaks; `None` if it is none.
    pub(crate) fn decode(kind: &'static str, mime_type: &str, base64: &str) -> Option<Self> {
        let has_spaces = base64.bytes().any(|byte| byte.is_ascii_whitespace());
        let bytes = match has_spaces {
            true => BASE64.decode(base64.split_ascii_whitespace().collect::<String>()),
            false => BASE64.decode(base64),
        };
        Some(Self {
            kind,
            mime_type: mime_type.to_owned(),
            bytes: bytes.ok()?,
        })
    }

    /// Ending of a file with these bytes.
    pub(crate) fn ending(&self) -> &'static str {
        let mime_type = self.mime_type.split(';').next().unwrap_or_default();
        let mime_type = mime_type.trim().to_ascii_lowercase();
        let found = ENDINGS.iter().find(|(name, _)| *name == mime_type);
        found.map_or("bin", |(_, ending)| ending)
    }
}

/// A number of bytes for people.
pub(crate) fn size(bytes: usize) -> String {
    let units = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match units.iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) => format!("{}.{} {name}", bytes / unit, bytes % unit * 10 / unit),
        None => format!("{bytes} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_read_as_servers_write_it() {
        let decode = |text| Media::decode("data", "", text).map(|media| media.bytes);
        for text in ["aGk=", "aGk", "aG\nk=\n"] {
            assert_eq!(decode(text).as_deref(), Some(&b"hi"[..]), "{text}");
        }
        for text in ["\u{1b}[2J", "aGk=\u{7}", "a"] {
            assert_eq!(decode(text), None, "{text}");
        }
    }

    #[test]
    fn files_are_named_by_known_types_alone() {
        let ending = |mime_type| Media::decode("data", mime_type, "").unwrap().ending();
        assert_eq!(ending("image/PNG; x=y"), "png");
        assert_eq!(ending("x/../../../etc"), "bin");
    }

    #[test]
    fn sizes_are_rounded_down() {
        assert_eq!(
            [size(7), size(1536), size(5 << 20)],
            ["7 bytes", "1.5 KiB", "5.0 MiB"]
        );
    }
}
