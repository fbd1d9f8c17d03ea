//! Images for terminals that show sixels: bands of six rows, one character for each column and color.

use std::io::Cursor;

use png::{ColorType, Decoder, Limits, Transformations};

use super::image::png_size;

/// Maximum pixels of a picture that is decoded.
const MAX_PIXELS: u64 = 16 * 1024 * 1024;
/// Maximum bytes that the decoder may take.
const MAX_MEMORY: usize = 64 * 1024 * 1024;
/// Maximum height on the terminal.
const MAX_HEIGHT: usize = 600;
/// Usual columns of pixels in one of a terminal.
const PIXELS: usize = 9;
/// Levels of red, green and blue.
const LEVELS: usize = 6;

/// Encodes a PNG, made smaller to fit `columns`; `None` if it is not one.
pub(super) fn encode(bytes: &[u8], columns: usize) -> Option<String> {
    let picture = Picture::decode(bytes)?;
    Some(picture.fit(columns * PIXELS, MAX_HEIGHT).encode())
}

/// Colors by their number, row after row; `None` is transparent.
struct Picture {
    width: usize,
    height: usize,
    pixels: Vec<Option<u8>>,
}

impl Picture {
    fn decode(bytes: &[u8]) -> Option<Self> {
        let (width, height) = png_size(bytes)?;
        if u64::from(width) * u64::from(height) > MAX_PIXELS {
            return None;
        }
        let limits = Limits { bytes: MAX_MEMORY };
        let mut decoder = Decoder::new_with_limits(Cursor::new(bytes), limits);
        decoder.set_transformations(Transformations::normalize_to_color8());
        let mut reader = decoder.read_info().ok()?;
        let mut data = vec![0; reader.output_buffer_size()?];
        let info = reader.next_frame(&mut data).ok()?;
        let samples = info.color_type.samples();
        let pixels = data
            .chunks_exact(samples)
            .map(|pixel| color(pixel, info.color_type));
        Some(Self {
            width: info.width as usize,
            height: info.height as usize,
            pixels: pixels.collect(),
        })
    }

    fn pixel(&self, x: usize, y: usize) -> Option<u8> {
        match x < self.width {
            true => self.pixels.get(y * self.width + x).copied().flatten(),
            false => None,
        }
    }

    /// The nearest pixels of the picture in this size at most, with its proportions.
    fn fit(self, width: usize, height: usize) -> Self {
        if self.width <= width && self.height <= height {
            return self;
        }
        let by_width = (width, (self.height * width / self.width).max(1));
        let (new_width, new_height) = match by_width.1 <= height {
            true => by_width,
            false => ((self.width * height / self.height).max(1), height),
        };
        let mut pixels = Vec::with_capacity(new_width * new_height);
        for y in 0..new_height {
            for x in 0..new_width {
                pixels.push(self.pixel(x * self.width / new_width, y * self.height / new_height));
            }
        }
        Self {
            width: new_width,
            height: new_height,
            pixels,
        }
    }

    fn encode(&self) -> String {
        let mut out = format!("\u{1b}P0;1q\"1;1;{};{}", self.width, self.height);
        for number in 0..LEVELS * LEVELS * LEVELS {
            let level = |weight: usize| number / weight % LEVELS * 100 / (LEVELS - 1);
            let (red, green, blue) = (level(LEVELS * LEVELS), level(LEVELS), level(1));
            out.push_str(&format!("#{number};2;{red};{green};{blue}"));
        }
        for top in (0..self.height).step_by(6) {
            self.encode_band(top, &mut out);
            out.push('-');
        }
        out.push_str("\u{1b}\\");
        out
    }

    /// Six rows: one pass for each color that occurs in them.
    fn encode_band(&self, top: usize, out: &mut String) {
        let mut masks = vec![Vec::new(); LEVELS * LEVELS * LEVELS];
        for x in 0..self.width {
            for row in 0..6 {
                let Some(color) = self.pixel(x, top + row) else {
                    continue;
                };
                let Some(mask) = masks.get_mut(usize::from(color)) else {
                    continue;
                };
                if mask.is_empty() {
                    mask.resize(self.width, 0_u8);
                }
                if let Some(column) = mask.get_mut(x) {
                    *column |= 1 << row;
                }
            }
        }
        for (color, mask) in masks
            .iter()
            .enumerate()
            .filter(|(_, mask)| !mask.is_empty())
        {
            out.push_str(&format!("#{color}"));
            encode_columns(mask, out);
            out.push('$');
        }
    }
}

/// One character for each column, and a number before those that repeat.
fn encode_columns(mask: &[u8], out: &mut String) {
    for run in mask.chunk_by(|a, b| a == b) {
        let Some(column) = run.first() else {
            continue;
        };
        let character = char::from(b'?' + column);
        match run.len() {
            1..=3 => out.extend(std::iter::repeat_n(character, run.len())),
            count => out.push_str(&format!("!{count}{character}")),
        }
    }
}

/// The number of the nearest color; `None` if the pixel is mostly transparent.
fn color(pixel: &[u8], kind: ColorType) -> Option<u8> {
    let (red, green, blue, alpha) = match (kind, pixel) {
        (ColorType::Grayscale, [gray]) => (*gray, *gray, *gray, 255),
        (ColorType::GrayscaleAlpha, [gray, alpha]) => (*gray, *gray, *gray, *alpha),
        (_, [red, green, blue]) => (*red, *green, *blue, 255),
        (_, [red, green, blue, alpha]) => (*red, *green, *blue, *alpha),
        _ => return None,
    };
    let level = |value: u8| (usize::from(value) * (LEVELS - 1) + 127) / 255;
    let number = (level(red) * LEVELS + level(green)) * LEVELS + level(blue);
    match alpha < 128 {
        true => None,
        false => u8::try_from(number).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_is_bands_of_six_rows() {
        let red = Some(180);
        let picture = Picture {
            width: 5,
            height: 7,
            pixels: [[red; 5].as_slice(), &[None; 30]].concat(),
        };
        let encoded = picture.encode();
        let (head, bands) = encoded.split_at(encoded.rfind(';').unwrap());
        assert!(
            head.starts_with("\u{1b}P0;1q\"1;1;5;7#0;2;0;0;0#1;2;0;0;20"),
            "{head}"
        );
        assert_eq!(bands, ";100#180!5@$--\u{1b}\\");
    }

    #[test]
    fn a_large_picture_is_made_smaller() {
        let picture = Picture {
            width: 1000,
            height: 500,
            pixels: vec![Some(1); 500_000],
        };
        let small = picture.fit(90, 600);
        assert_eq!(
            (small.width, small.height, small.pixels.len()),
            (90, 45, 4050)
        );
        let tall = Picture {
            width: 10,
            height: 5000,
            pixels: vec![Some(1); 50_000],
        };
        let small = tall.fit(90, 600);
        assert_eq!((small.width, small.height), (1, 600));
    }

    #[test]
    fn colors_are_the_nearest_of_the_palette() {
        assert_eq!(color(&[255, 255, 255], ColorType::Rgb), Some(215));
        assert_eq!(color(&[0], ColorType::Grayscale), Some(0));
        assert_eq!(color(&[255, 0, 0, 10], ColorType::Rgba), None);
        assert_eq!(color(&[255, 0, 0, 200], ColorType::Rgba), Some(180));
    }
}
