use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::screen::{ImageProtocol, Screen};
use super::sixel;

/// An image as the escape sequence that shows it. It holds nothing of a server but data that we have encoded.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct InlineImage(String);

/// Format of an image, by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Png,
    Jpeg,
    Gif,
}

/// Maximum bytes of an image that is shown on the terminal.
const MAX_BYTES: usize = 8 * 1024 * 1024;
/// Maximum width and height of such an image.
const MAX_SIDE: u32 = 8192;
/// Maximum characters of base64 in one sequence of kitty.
const CHUNK: usize = 4096;
/// Usual columns of pixels in one of a terminal.
const PIXELS: u32 = 9;

impl InlineImage {
    /// The image for this terminal; `None` if it cannot show it.
    pub(crate) fn new(bytes: &[u8], screen: &Screen) -> Option<Self> {
        if bytes.len() > MAX_BYTES {
            return None;
        }
        let format = Format::of(bytes)?;
        let protocol = screen.images?;
        match (protocol, format) {
            (ImageProtocol::Kitty, Format::Png) => kitty(bytes, screen.width),
            (ImageProtocol::Iterm, _) => Some(iterm(bytes)),
            (ImageProtocol::Sixel, Format::Png) => sixel::encode(bytes, screen.width),
            (ImageProtocol::Kitty | ImageProtocol::Sixel, _) => None,
        }
        .map(Self)
    }

    pub(crate) fn sequence(&self) -> &str {
        &self.0
    }
}

impl Format {
    fn of(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some(Self::Png),
            [0xff, 0xd8, 0xff, ..] => Some(Self::Jpeg),
            [b'G', b'I', b'F', b'8', ..] => Some(Self::Gif),
            _ => None,
        }
    }
}

/// Width and height of a PNG, if they are reasonable.
pub(super) fn png_size(bytes: &[u8]) -> Option<(u32, u32)> {
    let number = |at: usize| {
        let bytes = bytes.get(at..at + 4)?;
        Some(u32::from_be_bytes(bytes.try_into().ok()?))
    };
    if bytes.get(12..16)? != b"IHDR" {
        return None;
    }
    let (width, height) = (number(16)?, number(20)?);
    let is_reasonable = |side: u32| (1..=MAX_SIDE).contains(&side);
    (is_reasonable(width) && is_reasonable(height)).then_some((width, height))
}

/// Graphics protocol of kitty, which takes PNG. `q=2` asks for no answer, which the shell would read.
fn kitty(bytes: &[u8], columns: usize) -> Option<String> {
    let (width, _) = png_size(bytes)?;
    let columns = u32::try_from(columns).ok()?;
    let fit = match width > columns * PIXELS {
        true => format!(",c={columns}"),
        false => String::new(),
    };
    let data = STANDARD.encode(bytes);
    let mut sequence = String::with_capacity(data.len() + data.len() / 256 + 64);
    let mut rest = data.as_str();
    let mut settings = format!("a=T,f=100,q=2{fit},");
    while !rest.is_empty() {
        let (chunk, left) = rest.split_at(rest.len().min(CHUNK));
        let more = u8::from(!left.is_empty());
        sequence.push_str(&format!("\u{1b}_G{settings}m={more};{chunk}\u{1b}\\"));
        settings.clear();
        rest = left;
    }
    Some(sequence)
}

/// Inline images of iTerm2. The name of a file is not sent.
fn iterm(bytes: &[u8]) -> String {
    let data = STANDARD.encode(bytes);
    let size = bytes.len();
    format!("\u{1b}]1337;File=inline=1;size={size};preserveAspectRatio=1:{data}\u{7}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A PNG of one color.
    pub(crate) fn png(width: u32, height: u32) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, width, height);
        encoder.set_color(png::ColorType::Rgb);
        let mut writer = encoder.write_header().unwrap();
        let pixels = [255, 0, 0].repeat((width * height) as usize);
        writer.write_image_data(&pixels).unwrap();
        drop(writer);
        bytes
    }

    fn screen(images: ImageProtocol) -> Screen {
        Screen {
            width: 40,
            styles: true,
            images: Some(images),
        }
    }

    fn show(bytes: &[u8], protocol: ImageProtocol) -> Option<String> {
        InlineImage::new(bytes, &screen(protocol)).map(|image| image.0)
    }

    #[test]
    fn kitty_gets_png_in_pieces() {
        let small = png(2, 2);
        let data = STANDARD.encode(&small);
        assert_eq!(
            show(&small, ImageProtocol::Kitty),
            Some(format!("\u{1b}_Ga=T,f=100,q=2,m=0;{data}\u{1b}\\"))
        );
        let mut large = png(1000, 2);
        large.resize(4000, 0);
        let sequence = show(&large, ImageProtocol::Kitty).unwrap();
        let begins: Vec<&str> = sequence
            .split_inclusive(';')
            .filter_map(|part| part.rsplit_once("\u{1b}_G").map(|(_, begin)| begin))
            .collect();
        assert_eq!(begins, ["a=T,f=100,q=2,c=40,m=1;", "m=0;"]);
    }

    #[test]
    fn iterm_gets_any_known_format() {
        assert_eq!(
            show(b"GIF89a", ImageProtocol::Iterm).as_deref(),
            Some("\u{1b}]1337;File=inline=1;size=6;preserveAspectRatio=1:R0lGODlh\u{7}")
        );
    }

    #[test]
    fn other_data_is_not_sent_to_a_terminal() {
        let mut huge = png(2, 2);
        huge[16..20].copy_from_slice(&u32::MAX.to_be_bytes());
        let mut long = png(2, 2);
        long.resize(MAX_BYTES + 1, 0);
        for bytes in [
            &b"\x1b[2J"[..],
            b"",
            b"<svg/>",
            &huge,
            &long,
            &png(2, 2)[..20],
        ] {
            assert_eq!(show(bytes, ImageProtocol::Kitty), None);
            assert_eq!(show(bytes, ImageProtocol::Sixel), None);
        }
        assert_eq!(show(b"\x1b[2J", ImageProtocol::Iterm), None);
        assert_eq!(show(&[0xff, 0xd8, 0xff], ImageProtocol::Kitty), None);
    }
}
