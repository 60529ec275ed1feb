//! Arrays of NumPy: the header, which is compared with the length of the file, and the numbers.
//!
//! `npyz`, which writes them, is not used here: it takes memory for as long a header as the file claims,
//! recurses into its brackets without a limit, and multiplies the lengths of a shape without checking for
//! overflow, all before a caller can check them.

use std::io::{Error, ErrorKind, Read, Result};

use half::f16;

use super::MAX_BYTES;

/// Longest header; NumPy itself reads at most 10000 characters.
const MAX_HEADER: u64 = 1 << 16;
/// Bytes that are decoded at a time.
const CHUNK: usize = 1 << 16;

/// Makes a number of its bytes.
type Decode = fn(&[u8]) -> f64;

/// An array whose numbers come next, as many as its shape says.
pub(crate) struct Array<R> {
    /// The rest of the file.
    pub reader: R,
    /// Lengths along the axes.
    pub shape: Vec<usize>,
    /// Whether the first axis runs fastest.
    pub fortran: bool,
    /// Bytes of a number.
    pub item: usize,
    number: Decode,
}

fn wrong<T>(reason: impl Into<String>) -> Result<T> {
    Err(Error::new(ErrorKind::InvalidData, reason.into()))
}

impl<R: Read> Array<R> {
    /// Reads the header of the array that takes up the `length` bytes of `reader`.
    ///
    /// # Errors
    /// No such header, numbers that are not real, or a shape for which there are not enough bytes.
    pub fn new(mut reader: R, length: u64) -> Result<Self> {
        let mut start = [0; 8];
        if reader.read_exact(&mut start).is_err() || !start.starts_with(b"\x93NUMPY") {
            return wrong("not an .npy array: no NumPy header");
        }
        let mut size = [0; 4];
        let used = if start[6] == 1 { 2 } else { 4 };
        reader.read_exact(&mut size[..used])?;
        let size = u64::from(u32::from_le_bytes(size));
        let left = length.saturating_sub(8 + used as u64);
        if size > MAX_HEADER.min(left) {
            return wrong(format!("a header of {size} bytes: expected at most {}", MAX_HEADER.min(left)));
        }
        let mut header = vec![0; size as usize];
        reader.read_exact(&mut header)?;
        let header = String::from_utf8_lossy(&header);
        let Some((kind, fortran, shape)) = fields(&header) else {
            return wrong("not an .npy array: expected a header with 'descr', 'fortran_order' and 'shape'");
        };
        let Some((item, number)) = number(kind) else {
            let text = kind.trim_start_matches(['<', '>', '|', '=']).starts_with(['U', 'S']);
            let text = if text { " (text)" } else { "" };
            return wrong(format!("an array of type {kind}{text}: expected real numbers"));
        };
        // Zeros are left out of this product, so that it bounds the product along any of the axes.
        let fits = shape.iter().try_fold(item, |bytes, n| bytes.checked_mul((*n).max(1))).is_some();
        if !fits || (item * shape.iter().product::<usize>()) as u64 > left - size {
            return wrong(format!("an array of shape {shape:?}: the file ends before it, after {length} bytes"));
        }
        Ok(Self { reader, shape, fortran, item, number })
    }

    /// Number of numbers, by the shape.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// The next `n` numbers.
    ///
    /// # Errors
    /// Too many for memory (see [`MAX_BYTES`]), or too few in the file.
    pub fn numbers(&mut self, n: usize) -> Result<Vec<f64>> {
        let most = MAX_BYTES / 8;
        if n as u64 > most {
            return wrong(format!("an array of shape {:?}: expected at most {most} numbers at once", self.shape));
        }
        let mut numbers = Vec::with_capacity(n);
        let mut chunk = vec![0; CHUNK.min(n * self.item)];
        while numbers.len() < n {
            let bytes = (CHUNK / self.item).min(n - numbers.len()) * self.item;
            self.reader.read_exact(&mut chunk[..bytes])?;
            numbers.extend(chunk[..bytes].chunks_exact(self.item).map(self.number));
        }
        Ok(numbers)
    }

    /// All numbers, the last axis the fastest.
    ///
    /// # Errors
    /// As [`Array::numbers`].
    pub fn all(&mut self) -> Result<Vec<f64>> {
        let values = self.numbers(self.len())?;
        Ok(if self.fortran && self.shape.len() > 1 { last_axis_fastest(&self.shape, &values) } else { values })
    }

    /// Skips `n` numbers by reading them.
    ///
    /// # Errors
    /// Too few in the file.
    pub fn skip(&mut self, n: usize) -> Result<()> {
        let bytes = (n * self.item) as u64;
        let passed = std::io::copy(&mut self.reader.by_ref().take(bytes), &mut std::io::sink())?;
        if passed < bytes { Err(ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
    }
}

/// The numbers of an array whose first axis is fastest.
fn last_axis_fastest(shape: &[usize], values: &[f64]) -> Vec<f64> {
    let place = |k: usize| {
        let (mut rest, mut place) = (k, 0);
        for n in shape.iter().rev() {
            place = place * n + rest % n;
            rest /= n;
        }
        place
    };
    (0..values.len()).map(|k| values[place(k)]).collect()
}

/// Type, order and shape of a header, which is a dictionary as Python prints it.
fn fields(header: &str) -> Option<(&str, bool, Vec<usize>)> {
    let value = |key: &str| {
        let (_, rest) = header.split_once(&format!("'{key}'"))?;
        Some(rest.trim_start().strip_prefix(':')?.trim_start())
    };
    let kind = value("descr")?;
    // Types with fields are lists.
    let kind = kind.strip_prefix('\'').and_then(|kind| kind.split('\'').next()).unwrap_or("with fields");
    let fortran = value("fortran_order")?.starts_with("True");
    let (shape, _) = value("shape")?.strip_prefix('(')?.split_once(')')?;
    let lengths = shape.split(',').map(|n| n.trim().trim_end_matches('L')).filter(|n| !n.is_empty());
    Some((kind, fortran, lengths.map(str::parse).collect::<std::result::Result<_, _>>().ok()?))
}

/// Size and reader of a number of the type `kind`, such as `<f8`.
fn number(kind: &str) -> Option<(usize, Decode)> {
    macro_rules! of {
        ($type:ty) => {{
            let big: Decode = |bytes| <$type>::from_be_bytes(bytes.try_into().unwrap_or_default()) as f64;
            let little: Decode = |bytes| <$type>::from_le_bytes(bytes.try_into().unwrap_or_default()) as f64;
            (size_of::<$type>(), if kind.starts_with('>') { big } else { little })
        }};
    }
    Some(match kind.trim_start_matches(['<', '>', '|', '=']) {
        "f8" => of!(f64),
        "f4" => of!(f32),
        "f2" if kind.starts_with('>') => (2, |bytes| f16::from_be_bytes(bytes.try_into().unwrap_or_default()).to_f64()),
        "f2" => (2, |bytes| f16::from_le_bytes(bytes.try_into().unwrap_or_default()).to_f64()),
        "u1" => of!(u8),
        "u2" => of!(u16),
        "u4" => of!(u32),
        "u8" => of!(u64),
        "i1" => of!(i8),
        "i2" => of!(i16),
        "i4" => of!(i32),
        "i8" => of!(i64),
        "b1" => (1, |bytes| f64::from(u8::from(bytes != [0]))),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use npyz::WriterBuilder;

    fn of(header: &str, data: &[u8]) -> Vec<u8> {
        [b"\x93NUMPY\x01\x00", &(header.len() as u16).to_le_bytes()[..], header.as_bytes(), data].concat()
    }

    fn read(bytes: &[u8]) -> Result<(Vec<usize>, Vec<f64>)> {
        let mut array = Array::new(bytes, bytes.len() as u64)?;
        let n = array.len();
        Ok((array.shape.clone(), array.numbers(n)?))
    }

    /// What `npyz` writes, of every type.
    #[test]
    fn every_type_is_read_as_it_was_written() {
        fn check<T: npyz::AutoSerialize + Copy + Into<f64>>(values: [T; 3]) {
            let mut bytes = Vec::new();
            let mut writer =
                npyz::WriteOptions::new().default_dtype().shape(&[3, 1]).writer(&mut bytes).begin_nd().unwrap();
            writer.extend(values).unwrap();
            writer.finish().unwrap();
            assert_eq!(read(&bytes).unwrap(), (vec![3, 1], values.map(Into::into).to_vec()));
        }
        check([0.1f64, -1e300, f64::INFINITY]);
        check([0.1f32, -1e30, 7.0]);
        check([0u8, 7, 255]);
        check([0u16, 7, 65535]);
        check([0u32, 7, u32::MAX]);
        check([-128i8, 7, 127]);
        check([i16::MIN, 7, i16::MAX]);
        check([i32::MIN, 7, i32::MAX]);
        let header = |kind: &str| format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': (1,), }}\n");
        for (kind, data, value) in [
            (">f8", &1.5f64.to_be_bytes()[..], 1.5),
            (">i2", &[1, 2], 258.0),
            ("<u8", &[0, 0, 0, 0, 0, 0, 0, 128], 2f64.powi(63)),
            (">i8", &(-3i64).to_be_bytes(), -3.0),
            ("|b1", &[1], 1.0),
            // 2^-24 is the least, 65504 the greatest number of half precision.
            ("<f2", &[0x00, 0x3e], 1.5),
            (">f2", &[0xc0, 0x00], -2.0),
            ("<f2", &[0x01, 0x00], 2f64.powi(-24)),
            ("<f2", &[0xff, 0x7b], 65504.0),
            ("<f2", &[0x00, 0x7c], f64::INFINITY),
        ] {
            assert_eq!(read(&of(&header(kind), data)).unwrap(), (vec![1], vec![value]), "{kind}");
        }
        let number = of("{\"shape\": (), 'shape': (), 'descr':'<f8','fortran_order':True}", &2.0f64.to_le_bytes());
        assert_eq!(read(&number).unwrap(), (vec![], vec![2.0]));
    }

    #[test]
    fn headers_that_claim_what_is_not_there_are_refused_before_memory_is_taken() {
        let shape =
            |shape: &str| of(&format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}}}"), &[0; 64]);
        let deep = "(".repeat(60_000);
        let long = [&b"\x93NUMPY\x02\x00"[..], &u32::MAX.to_le_bytes(), b"{"].concat();
        for (bytes, part) in [
            (shape("(4294967296, 4294967296)"), "the file ends before it"),
            (shape("(18446744073709551615, 0)"), "the file ends before it"),
            (shape("(0, 4294967296, 4294967296)"), "the file ends before it"),
            (shape("(18446744073709551615, 18446744073709551615, 0)"), "the file ends before it"),
            (shape("(18446744073709551616,)"), "expected a header"),
            (shape("(-1,)"), "expected a header"),
            (shape("(9,)"), "the file ends before it"),
            (shape(&deep), "expected a header"),
            (long, "a header of 4294967295 bytes"),
            (of("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,)}", &[0; 8]), "type with fields"),
            (of("{'descr': '<c16', 'fortran_order': False, 'shape': (1,)}", &[0; 16]), "type <c16: expected real"),
            (b"PK\x03\x04".to_vec(), "no NumPy header"),
            (Vec::new(), "no NumPy header"),
        ] {
            let message = read(&bytes).unwrap_err().to_string();
            assert!(message.contains(part) && message.len() < 200, "{message}");
        }
    }
}
