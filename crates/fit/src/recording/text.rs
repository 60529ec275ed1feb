//! Text files of columns, separated by commas, tabs, semicolons or spaces.
//!
//! Lines that begin with `#` are comments. The names of the columns are the first row, unless that is of
//! numbers; then they are in the comment right above it, if that has as many names as there are columns.

use std::io::Read;
use std::path::Path;

use bristle_scenario::input::{self, InputError, MAX_BYTES};
use csv::{ByteRecord, Reader, ReaderBuilder};

/// Longest file \[byte\]: the end of a cell takes a byte of text at least, and eight in memory.
const MAX_LENGTH: u64 = MAX_BYTES / 8;

/// Most columns.
const MOST_COLUMNS: usize = 10_000;

/// What sensors and programs write where there is no number.
const MISSING: [&str; 7] = ["", "nan", "na", "n/a", "null", "none", "-"];

/// A text file in memory.
pub(super) struct Text {
    text: Vec<u8>,
    separator: u8,
    pub names: Vec<String>,
    has_header: bool,
}

impl Text {
    /// Reads the file and the names of its columns.
    pub(super) fn open(path: &Path) -> Result<Self, InputError> {
        let file = input::open(path)?;
        let length = file.get_ref().metadata().map_err(|e| InputError::of(path, e))?.len();
        let wrong = |reason: String| InputError::File { path: path.to_owned(), reason };
        if length > MAX_LENGTH {
            return Err(wrong(format!("{length} bytes of text: expected at most {MAX_LENGTH}; an .npz holds more")));
        }
        let mut text = Vec::new();
        file.take(MAX_LENGTH).read_to_end(&mut text).map_err(|e| InputError::of(path, e))?;
        Self::new(text).map_err(wrong)
    }

    fn new(mut text: Vec<u8>) -> Result<Self, String> {
        if text.starts_with(b"\xef\xbb\xbf") {
            text.drain(..3);
        }
        if text.starts_with(b"\xff\xfe") || text.starts_with(b"\xfe\xff") {
            return Err("is UTF-16: expected text as UTF-8".to_owned());
        }
        let mut comment = &b""[..];
        let mut lines = text.split(|byte| *byte == b'\n');
        let first = lines.by_ref().find(|line| {
            let is_row = !is_skipped(line);
            if !is_row {
                comment = line;
            }
            is_row
        });
        let Some(first) = first else { return Err("no rows: expected a header and numbers".to_owned()) };
        let separator = *[b'\t', b';', b','].iter().find(|mark| first.contains(mark)).unwrap_or(&b',');
        let second = lines.find(|line| !is_skipped(line)).unwrap_or_default();
        if !first.contains(&separator) && [first, second].into_iter().any(is_spaced) {
            return Self::new(with_tabs(&text));
        }
        let above = comment.strip_prefix(b"#").map_or(&b""[..], |names| names).to_vec();
        let mut file = Self { text, separator, names: Vec::new(), has_header: false };
        let mut record = ByteRecord::new();
        read(&mut file.reader(&file.text), &mut record)?;
        if record.len() > MOST_COLUMNS {
            return Err(format!("{} columns: expected at most {MOST_COLUMNS}", record.len()));
        }
        file.has_header = record.iter().any(|cell| number(cell).is_none());
        let names = |record: &ByteRecord| record.iter().map(|name| lossy(name).trim().to_owned()).collect();
        file.names = if file.has_header { names(&record) } else { vec![String::new(); record.len()] };
        let mut comment = ByteRecord::new();
        if !file.has_header && read(&mut file.reader(&above), &mut comment)? && comment.len() == record.len() {
            file.names = names(&comment);
        }
        Ok(file)
    }

    fn reader<'a>(&self, text: &'a [u8]) -> Reader<&'a [u8]> {
        ReaderBuilder::new().has_headers(false).delimiter(self.separator).comment(Some(b'#')).from_reader(text)
    }

    /// The columns `chosen`, NaN where there is no number.
    ///
    /// # Errors
    /// Rows that cannot be read, and text in a column, with the line.
    pub(super) fn columns(&self, chosen: &[usize]) -> Result<Vec<Vec<f64>>, String> {
        let mut columns = vec![Vec::new(); chosen.len()];
        let mut reader = self.reader(&self.text);
        let mut record = ByteRecord::new();
        let mut is_header = self.has_header;
        while read(&mut reader, &mut record).map_err(|e| self.at_line(&record, &e))? {
            if std::mem::take(&mut is_header) {
                continue;
            }
            for (column, k) in columns.iter_mut().zip(chosen) {
                let cell = record.get(*k).unwrap_or_default();
                let Some(value) = number(cell) else {
                    let found = lossy(cell);
                    let accepted = match found.contains(',') {
                        true => "expected a number with a decimal point",
                        false => "expected a number, or nothing",
                    };
                    let named = self.names[*k].clone();
                    return Err(self.at_line(&record, &format!("column `{named}` has `{found}`: {accepted}")));
                };
                column.push(value);
            }
        }
        Ok(columns)
    }

    /// The line of row `row`, for messages.
    pub(super) fn line(&self, row: usize) -> u64 {
        let (mut reader, mut record) = (self.reader(&self.text), ByteRecord::new());
        for _ in 0..=row + usize::from(self.has_header) {
            if !matches!(read(&mut reader, &mut record), Ok(true)) {
                break;
            }
        }
        self.line_of(&record)
    }

    /// The line of a record; the reader gives that of the comments and empty lines before it.
    fn line_of(&self, record: &ByteRecord) -> u64 {
        let Some(at) = record.position() else { return 1 };
        let rest = self.text.get(at.byte() as usize..).unwrap_or_default();
        at.line() + rest.split(|byte| *byte == b'\n').take_while(|line| is_skipped(line)).count() as u64
    }

    fn at_line(&self, record: &ByteRecord, reason: &str) -> String {
        format!("line {}: {reason}", self.line_of(record))
    }
}

/// Reads a row; false at the end.
fn read(reader: &mut Reader<&[u8]>, record: &mut ByteRecord) -> Result<bool, String> {
    reader.read_byte_record(record).map_err(|e| match e.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("{len} cells: expected {expected_len}, as in the first row")
        }
        _ => e.to_string(),
    })
}

/// The text with one tab for spaces between numbers and names, as `numpy.savetxt` separates them.
fn with_tabs(text: &[u8]) -> Vec<u8> {
    let mut tabbed = Vec::with_capacity(text.len());
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let comment = if line.starts_with(b"#") { 1 } else { 0 };
        tabbed.extend_from_slice(&line[..comment]);
        let cells = line[comment..].split(u8::is_ascii_whitespace).filter(|cell| !cell.is_empty());
        for (k, cell) in cells.enumerate() {
            if k > 0 {
                tabbed.push(b'\t');
            }
            tabbed.extend_from_slice(cell);
        }
        tabbed.push(b'\n');
    }
    tabbed
}

/// Whether a line is of numbers with spaces between them.
fn is_spaced(line: &[u8]) -> bool {
    let mut cells = line.trim_ascii().split(|byte| *byte == b' ');
    line.trim_ascii().contains(&b' ') && cells.all(|cell| number(cell).is_some())
}

/// Whether a line is a comment or empty.
fn is_skipped(line: &[u8]) -> bool {
    line.starts_with(b"#") || line.is_empty() || line == b"\r"
}

fn lossy(cell: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(cell)
}

/// The number in a cell, NaN for none.
fn number(cell: &[u8]) -> Option<f64> {
    let cell = cell.trim_ascii();
    let text = std::str::from_utf8(cell).ok()?;
    let is_missing = || MISSING.iter().any(|missing| text.eq_ignore_ascii_case(missing));
    text.parse().ok().or_else(|| is_missing().then_some(f64::NAN))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(text: &str, chosen: &[usize]) -> Result<(Vec<String>, Vec<Vec<f64>>), String> {
        let text = Text::new(text.as_bytes().to_vec())?;
        Ok((text.names.clone(), text.columns(chosen)?))
    }

    #[test]
    fn separators_comments_quotes_and_names() {
        let numbers = vec![vec![0.1, 0.2], vec![2.0, 3.0]];
        for (text, names) in [
            ("t,f\n0.1,2\n0.2,3\n", ["t", "f"]),
            ("t\tf\r\n0.1\t2\r\n0.2\t3\r\n", ["t", "f"]),
            ("t;f\n0.1;2\n0.2;3", ["t", "f"]),
            ("\u{feff}# made on Monday\n\n\"t, or time\" , f\n 0.1, 2\n# between\n0.2,3\n", ["t, or time", "f"]),
            ("# t,f\n0.1,2\n0.2,3\n", ["t", "f"]),
            ("# a,b,c\n0.1,2\n0.2,3\n", ["", ""]),
            ("# t f\n 1.0e-1   2\n 2.0e-1   3\n", ["t", "f"]),
            ("0.1 2\n\n0.2 3", ["", ""]),
            ("t  f\n0.1 2\n0.2 3\n", ["t", "f"]),
            ("0.1,2\n0.2,3\n", ["", ""]),
        ] {
            let (found, read) = columns(text, &[0, 1]).unwrap();
            assert_eq!((&*found, &read), (&names.map(str::to_owned)[..], &numbers), "{text:?}");
        }
        let (_, read) = columns("t,note,f\n1,a,\n2,b,NaN\n3,c,4\n", &[2]).unwrap();
        assert!(read[0][0].is_nan() && read[0][1].is_nan() && read[0][2] == 4.0);
    }

    #[test]
    fn what_is_no_number_is_named_with_its_line() {
        for (text, message) in [
            ("t,f\n1,2\n# c\n\n2,abc\n", "line 5: column `f` has `abc`: expected a number, or nothing"),
            ("t;f\n1;2,5\n", "line 2: column `f` has `2,5`: expected a number with a decimal point"),
            ("t,f\n1,2\n3\n", "line 3: 1 cells: expected 2, as in the first row"),
            ("1 2\n3 x\n", "line 2: column `` has `x`: expected a number, or nothing"),
            ("normal force\n1 2 3\n", "line 2: 3 cells: expected 2, as in the first row"),
            (&*",".repeat(10_000), "10001 columns: expected at most 10000"),
            ("# nothing\n\n", "no rows: expected a header and numbers"),
        ] {
            assert_eq!(columns(text, &[1]).unwrap_err(), message, "{text:?}");
        }
        let text = Text::new(b"# c\nt,f\n1,2\n\n# c\n2,3\n".to_vec()).unwrap();
        assert_eq!([text.line(0), text.line(1)], [3, 6]);
    }
}
