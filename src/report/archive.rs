//! Arrays of an NPZ file, read in part.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use zip::ZipArchive;

use super::ReportError;

/// An NPZ file.
pub(super) struct Archive {
    path: PathBuf,
    zip: ZipArchive<BufReader<File>>,
}

impl Archive {
    pub fn open(path: &Path) -> Result<Self, ReportError> {
        let file = File::open(path).map_err(|source| ReportError::Io { path: path.to_owned(), source })?;
        let zip = ZipArchive::new(BufReader::with_capacity(1 << 16, file))
            .map_err(|e| ReportError::file(path, format!("not an NPZ archive: {e}")))?;
        Ok(Self { path: path.to_owned(), zip })
    }

    /// Names of the arrays.
    pub fn names(&self) -> Vec<String> {
        let names = self.zip.file_names().filter_map(Result::ok);
        names.filter_map(|n| n.strip_suffix(".npy").map(str::to_owned)).collect()
    }

    /// Shape of an array.
    pub fn shape(&mut self, name: &str) -> Result<Vec<usize>, ReportError> {
        let entry = entry(&mut self.zip, &self.path, name)?;
        let npy = npyz::NpyFile::new(entry).map_err(|e| wrong(&self.path, name, e))?;
        Ok(npy.shape().iter().map(|n| *n as usize).collect())
    }

    /// All numbers of an array.
    pub fn numbers(&mut self, name: &str) -> Result<Vec<f64>, ReportError> {
        Ok(self.rows(name, None)?.concat())
    }

    /// Rows along the first axis, those of `chosen` (in increasing order) or all.
    pub fn rows(&mut self, name: &str, chosen: Option<&[usize]>) -> Result<Vec<Vec<f64>>, ReportError> {
        let path = self.path.clone();
        let entry = entry(&mut self.zip, &path, name)?;
        let npy = npyz::NpyFile::new(entry).map_err(|e| wrong(&path, name, e))?;
        let shape: Vec<usize> = npy.shape().iter().map(|n| *n as usize).collect();
        let rows = shape.first().copied().unwrap_or(1);
        let width = shape.iter().skip(1).product::<usize>();
        let kind = npy.dtype().descr();
        match kind.trim_matches('\'').trim_start_matches(['<', '|', '=']) {
            "f8" => pick(npy.data::<f64>(), rows, width, chosen, |v| v),
            "u4" => pick(npy.data::<u32>(), rows, width, chosen, f64::from),
            "u8" => pick(npy.data::<u64>(), rows, width, chosen, |v| v as f64),
            "i8" => pick(npy.data::<i64>(), rows, width, chosen, |v| v as f64),
            "u1" | "|u1" => pick(npy.data::<u8>(), rows, width, chosen, f64::from),
            _ => {
                return Err(ReportError::file(
                    &path,
                    format!("array {name} has type {kind}: expected f8, u4, u8, i8 or u1"),
                ));
            }
        }
        .map_err(|e| wrong(&path, name, e))
    }
}

type Entry<'a> = zip::read::ZipFile<'a, BufReader<File>>;

fn entry<'a>(zip: &'a mut ZipArchive<BufReader<File>>, path: &Path, name: &str) -> Result<Entry<'a>, ReportError> {
    let found = zip.by_name(&format!("{name}.npy"));
    found.map_err(|e| ReportError::file(path, format!("array {name}: {e}; expected a file that this program wrote")))
}

fn wrong(path: &Path, name: &str, e: std::io::Error) -> ReportError {
    ReportError::file(path, format!("array {name}: {e}"))
}

fn pick<T: npyz::Deserialize, R: Read>(
    data: Result<npyz::NpyReader<T, R>, npyz::DTypeError>,
    rows: usize,
    width: usize,
    chosen: Option<&[usize]>,
    number: fn(T) -> f64,
) -> std::io::Result<Vec<Vec<f64>>> {
    let mut data = data.map_err(std::io::Error::other)?;
    let mut out = Vec::new();
    let mut next = 0;
    for row in 0..rows {
        let wanted = chosen.is_none_or(|c| c.get(next) == Some(&row));
        let mut kept = Vec::with_capacity(if wanted { width } else { 0 });
        for _ in 0..width {
            let value = data.next().ok_or(std::io::ErrorKind::UnexpectedEof)??;
            if wanted {
                kept.push(number(value));
            }
        }
        if wanted {
            next += 1;
            out.push(kept);
        }
    }
    Ok(out)
}
