//! CSV files, as spreadsheets, pandas and NumPy's `savetxt` write them.
//!
//! Lines that begin with `#` are comments. The names of the columns are the first row, unless that is of
//! numbers; then they are in the comment right above it, if that has as many names as there are columns.

use csv::{Position, Reader, ReaderBuilder, StringRecord, Trim};

/// The rows of a CSV, one after the other, and the names of its columns.
pub struct Csv<'a> {
    text: &'a str,
    reader: Reader<&'a [u8]>,
    names: Option<Vec<String>>,
    /// Whether these are from a comment.
    is_named_above: bool,
    first_line: u64,
    record: StringRecord,
    /// Whether `record` is the first row, which comes next.
    is_first: bool,
}

impl<'a> Csv<'a> {
    /// Reads the names of the columns.
    ///
    /// # Errors
    /// Rows that cannot be read, or columns that something else than commas separates.
    pub fn new(text: &'a str) -> Result<Self, String> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut builder = ReaderBuilder::new();
        let reader = builder.has_headers(false).trim(Trim::All).comment(Some(b'#')).from_reader(text.as_bytes());
        let mut csv = Self {
            text,
            reader,
            names: None,
            is_named_above: false,
            first_line: 0,
            record: StringRecord::new(),
            is_first: false,
        };
        let first_line = csv.read()?;
        (csv.is_first, csv.first_line) = (first_line.is_some(), first_line.unwrap_or(0));
        if csv.is_first {
            let mut lines = text.lines().enumerate().filter(|(_, line)| !is_skipped(line));
            let (first, second) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
            if let Some(by) = separated(first.1, second.1) {
                let accepted = "expected commas between columns, and points in numbers";
                return Err(format!("line {}: columns separated by {by}: {accepted}", first.0 + 1));
            }
            if is_numbers(&csv.record) {
                let above = first.0.checked_sub(1).and_then(|k| text.lines().nth(k));
                csv.names = above.and_then(|comment| names(comment, csv.record.len()));
                csv.is_named_above = csv.names.is_some();
            } else {
                csv.take_first_as_names();
            }
        }
        Ok(csv)
    }

    /// Names of the columns, if there are any.
    pub fn names(&self) -> Option<&[String]> {
        self.names.as_deref()
    }

    /// Whether a comment gives the names.
    pub const fn is_named_above(&self) -> bool {
        self.is_named_above
    }

    /// The line of the first row, names or numbers; 0 if there is none.
    pub const fn first_line(&self) -> u64 {
        self.first_line
    }

    /// The number of columns.
    pub fn columns(&self) -> usize {
        self.record.len()
    }

    /// Takes the first row for the names of the columns, though it is of numbers.
    pub fn take_first_as_names(&mut self) {
        if std::mem::take(&mut self.is_first) {
            self.names = Some(self.record.iter().map(str::to_owned).collect());
        }
    }

    /// The next row, and its line.
    ///
    /// # Errors
    /// Another number of cells than in the first row.
    pub fn row(&mut self) -> Result<Option<(u64, &StringRecord)>, String> {
        let first = std::mem::take(&mut self.is_first).then(|| self.line(self.record.position()));
        let line = if first.is_some() { first } else { self.read()? };
        Ok(line.map(|line| (line, &self.record)))
    }

    /// Reads a row; returns its line.
    fn read(&mut self) -> Result<Option<u64>, String> {
        match self.reader.read_record(&mut self.record) {
            Ok(true) => Ok(Some(self.line(self.record.position()))),
            Ok(false) => Ok(None),
            Err(e) => Err(match e.kind() {
                csv::ErrorKind::UnequalLengths { pos, expected_len, len } => {
                    let line = self.line(pos.as_ref());
                    let first = if self.names.is_some() { "header" } else { "first row" };
                    format!("line {line}: {len} cells: expected {expected_len}, as in the {first}")
                }
                _ => e.to_string(),
            }),
        }
    }

    /// The line of the record at a position, which the reader gives before comments and empty lines.
    fn line(&self, at: Option<&Position>) -> u64 {
        let Some(at) = at else { return 0 };
        let rest = self.text.get(at.byte() as usize..).unwrap_or_default();
        at.line() + rest.lines().take_while(|line| is_skipped(line)).count() as u64
    }
}

/// Whether a line is a comment or empty.
fn is_skipped(line: &str) -> bool {
    line.starts_with('#') || line.is_empty()
}

fn is_number(text: &str) -> bool {
    text.parse::<f64>().is_ok()
}

/// Whether a row is of numbers and empty cells.
fn is_numbers(row: &StringRecord) -> bool {
    row.iter().any(is_number) && row.iter().all(|cell| cell.is_empty() || is_number(cell))
}

/// The names of `n` columns that a comment gives, if it does.
fn names(comment: &str, n: usize) -> Option<Vec<String>> {
    let names = comment.strip_prefix('#')?.trim_start_matches('#');
    let mut reader = ReaderBuilder::new().has_headers(false).trim(Trim::All).from_reader(names.as_bytes());
    let names: Vec<String> = reader.records().next()?.ok()?.iter().map(str::to_owned).collect();
    (names.len() == n && names.iter().all(|name| !name.is_empty() && !is_number(name))).then_some(names)
}

/// What separates the columns, if it is no comma, by the first two rows; the second may be empty.
fn separated(first: &str, second: &str) -> Option<&'static str> {
    let of_numbers = |line: &str, parts: &mut dyn Iterator<Item = &str>| {
        let numbers: Vec<bool> = parts.map(|part| is_number(&part.trim().replacen(',', ".", 1))).collect();
        !line.is_empty() && numbers.len() > 1 && numbers.iter().all(|is| *is)
    };
    for (mark, name) in [(';', "semicolons (`;`)"), ('\t', "tabs")] {
        let is_alone = !first.contains(',') && first.contains(mark) && (second.is_empty() || second.contains(mark));
        if is_alone || [first, second].iter().any(|line| of_numbers(line, &mut line.split(mark))) {
            return Some(name);
        }
    }
    let by_spaces = |line: &&str| !line.contains(',') && of_numbers(line, &mut line.split_whitespace());
    [first, second].iter().any(by_spaces).then_some("spaces")
}

#[cfg(test)]
mod tests {
    use super::*;

    type Names = Option<Vec<String>>;

    /// Names, and the rows with their lines.
    fn read(text: &str) -> Result<(Names, Vec<(u64, String)>), String> {
        let mut csv = Csv::new(text)?;
        let names = csv.names().map(<[String]>::to_vec);
        let mut rows = Vec::new();
        while let Some((line, row)) = csv.row()? {
            rows.push((line, row.iter().collect::<Vec<_>>().join("|")));
        }
        Ok((names, rows))
    }

    #[test]
    fn names_are_the_first_row_or_the_comment_above_it() {
        let rows = |first: u64| vec![(first, "0.1|2".to_owned()), (first + 1, "0.2|3".to_owned())];
        for (text, names, first) in [
            ("mass,grip\n0.1,2\n0.2,3\n", Some("mass,grip"), 2),
            ("# mass,grip\n0.1,2\n0.2,3\n", Some("mass,grip"), 2),
            ("#mass,\"grip\"\r\n0.1,2\r\n0.2,3\r\n", Some("mass,grip"), 2),
            ("\u{feff}# made on Monday\n## mass ,grip\n0.1, 2\n0.2,3", Some("mass,grip"), 3),
            ("# made on Monday, by hand\n\n# x\nmass,grip\n0.1,2\n0.2,3", Some("mass,grip"), 5),
            // A comment with another number of names, without names, or further above.
            ("# 2026-11-25 sensor 3\n0.1,2\n0.2,3", None, 2),
            ("# a,b,c\n0.1,2\n0.2,3", None, 2),
            ("# mass,\n0.1,2\n0.2,3", None, 2),
            ("# 20,25\n0.1,2\n0.2,3", None, 2),
            ("# mass,grip\n\n0.1,2\n0.2,3", None, 3),
            ("0.1,2\n0.2,3", None, 1),
        ] {
            let names = names.map(|names| names.split(',').map(str::to_owned).collect());
            assert_eq!(read(text).unwrap(), (names, rows(first)), "{text:?}");
        }
        // Empty cells are no names, and comments and empty lines count.
        let (names, rows) = read("# a,b\n1,\n# between\n\n2,3\n").unwrap();
        assert_eq!(names.unwrap(), ["a", "b"]);
        assert_eq!(rows, [(2, "1|".to_owned()), (5, "2|3".to_owned())]);
        assert_eq!(read("").unwrap(), (None, vec![]));
        assert_eq!(read("# mass,grip\n").unwrap(), (None, vec![]));
        let mut numbered = Csv::new("0,1\n0.5,2\n").unwrap();
        numbered.take_first_as_names();
        assert_eq!(numbered.names().unwrap(), ["0", "1"]);
        assert_eq!(numbered.row().unwrap().unwrap().0, 2);
        assert_eq!(read("# c\na,b\n1,2\n# c\n3\n").unwrap_err(), "line 5: 1 cells: expected 2, as in the header");
        assert_eq!(read("1,2\n3\n").unwrap_err(), "line 2: 1 cells: expected 2, as in the first row");
    }

    #[test]
    fn another_separator_than_a_comma_is_named() {
        for (text, by) in [
            ("mass;grip\n0.1;2\n", "line 1: columns separated by semicolons (`;`): expected commas between columns"),
            ("mass;grip\n0,1;2,5\n", "semicolons"),
            ("0,1;2,5\n", "semicolons"),
            ("# mass;grip\n0.1;2\n", "line 2: columns separated by semicolons"),
            ("name;mass\na;0.1\n", "semicolons"),
            ("mass\tgrip\n0.1\t2\n", "tabs"),
            ("0,1\t2,5\n0,2\t3\n", "tabs"),
            ("# mass grip\n0.1 2\n0.2 3\n", "spaces"),
            ("mass grip\n0.1 2\n", "spaces"),
        ] {
            let message = read(text).unwrap_err();
            assert!(message.contains(by), "{text:?}: {message}");
        }
        for text in ["mass [kg; dry]\n0.1\n", "a,b;c\n1,2\n", "note,mass\ngrip; left,0.1\n", "mass of box,f\n1,2\n"] {
            assert!(read(text).is_ok(), "{text:?}: {:?}", read(text));
        }
    }
}
