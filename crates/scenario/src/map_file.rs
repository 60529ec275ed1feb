//! Pressure maps from files: `.npy` arrays, CSV of `x, y, w`, PNG images (8 and 16 bits).

use std::ops::Range;
use std::path::Path;

use crate::input::{self, Array, Csv, InputError};
use crate::patch_failure::PatchFailure;
use bristle::error::{ParameterError, PatchError};
use bristle::patch::{Grid, MAX_CELLS_PER_SIDE, Patch};

/// A pressure map from a file, bottom row first, before it has a size in metres.
#[derive(Clone, Debug, PartialEq)]
pub struct FileMap {
    /// Columns.
    pub nx: usize,
    /// Rows.
    pub ny: usize,
    /// Pressures in the file's unit, bottom row first.
    pub pressure: Vec<f64>,
}

impl FileMap {
    /// The map over `width` x `height` \[m\].
    ///
    /// # Errors
    /// As [`Grid::new`] and [`Patch::from_pressure`].
    pub fn over(&self, width: f64, height: f64) -> Result<Patch, PatchError> {
        Patch::from_pressure(Grid::new(self.nx, self.ny, width, height)?, &self.pressure)
    }

    fn from_top(nx: usize, ny: usize, rows: &[f64]) -> Self {
        let pressure = rows.chunks(nx.max(1)).rev().flatten().copied().collect();
        Self { nx, ny, pressure }
    }
}

/// A map of rows of numbers, top row first, which is `field`.
pub(crate) fn from_rows(field: &str, rows: &[Vec<f64>]) -> Result<FileMap, PatchFailure> {
    let (ny, nx) = (rows.len(), rows.first().map_or(0, Vec::len));
    if nx == 0 {
        return PatchFailure::wrong(field, "is empty: expected rows of numbers, at least one");
    }
    if let Some(i) = rows.iter().position(|row| row.len() != nx) {
        let n = rows[i].len();
        return PatchFailure::wrong(
            &format!("{field}.{i}"),
            format!("a row of {n} values: expected {nx}, as in the first row"),
        );
    }
    Ok(FileMap { nx, ny, pressure: rows.iter().rev().flatten().copied().collect() })
}

/// The maps of an `.npy` array of any real number type: the one of two dimensions (rows, columns), or those
/// of three (frames, rows, columns), of which `frame` picks one. Row 0 is the TOP of the patch, as it prints.
/// Columns and rows are `cells`, if the caller knows them; that they are is for the caller to check.
///
/// # Errors
/// A file that cannot be read, or is no such array of numbers; without `cells`, a shape that is rather that
/// of an image with colours or of frames whose cells are in one row; a frame that it has not; maps that
/// together take more than [`input::MAX_BYTES`].
pub fn load_npy(path: &Path, frame: Option<usize>, cells: Option<[usize; 2]>) -> Result<Vec<FileMap>, PatchError> {
    let no_frame = |found: String| {
        let frame = frame.unwrap_or_default();
        Err(PatchError::Parameter(ParameterError::new("patch.frame", frame, format!("{found} in {}", path.display()))))
    };
    let maps = NpyMaps::open(path)?.with_maps(path, cells)?;
    match (frame, maps.frames) {
        (None, frames) => maps.read(path, 0..frames.unwrap_or(1)),
        (Some(_), None) => no_frame("no `frame`: there is one map".to_owned()),
        (Some(k), Some(frames)) if k >= frames => no_frame(format!("0 to {}, one of the frames", frames - 1)),
        (Some(k), Some(_)) => maps.read(path, k..k + 1),
    }
}

/// The one array of rows and columns of an `.npy`, whatever its shape looks like.
///
/// # Errors
/// As [`load_npy`], or an array of three dimensions.
pub fn load_one(path: &Path) -> Result<FileMap, PatchError> {
    let maps = NpyMaps::open(path)?;
    if maps.frames.is_some() {
        let reason = "an array of three dimensions: expected two (rows, columns)".to_owned();
        return Err(PatchError::File { path: path.to_owned(), reason });
    }
    Ok(maps.read(path, 0..1)?.remove(0))
}

/// The frames of an `.npy` as of [`load_npy`] from number `from` on, up to that before `to` or the last. Only
/// those are read.
///
/// # Errors
/// As [`load_npy`], or an array of two dimensions, or no frame in the range, or a frame that is not there.
pub fn load_frames(
    path: &Path,
    from: usize,
    to: Option<usize>,
    cells: Option<[usize; 2]>,
) -> Result<Vec<FileMap>, PatchError> {
    let maps = NpyMaps::open(path)?.with_maps(path, cells)?;
    let wrong = |field: &str, value: usize, accepted: String| {
        let accepted = format!("{accepted} in {}", path.display());
        Err(PatchError::Parameter(ParameterError::new(field, value, accepted)))
    };
    let Some(frames) = maps.frames else {
        let reason = "an array of two dimensions, one map: expected three (frames, rows, columns)".to_owned();
        return Err(PatchError::File { path: path.to_owned(), reason });
    };
    let end = to.unwrap_or(frames);
    if from >= frames {
        return wrong("patch.frames.from", from, format!("0 to {}, one of the frames", frames - 1));
    }
    if end <= from || end > frames {
        return wrong(
            "patch.frames.to",
            end,
            format!("{} to {frames}, the frame after the last, which is itself left out; there are {frames}", from + 1),
        );
    }
    maps.read(path, from..end)
}

/// What an array is rather than maps, by its shape: few sensors have one or three columns and more rows than
/// that, or four columns and sixteen rows; and few maps have as many columns as a square sensor has cells,
/// unless these are few and the map is nearly square.
fn looks_like(shape: &[usize]) -> Option<String> {
    match *shape {
        [rows, columns, colours @ (1 | 3 | 4)] => {
            let least = if colours == 4 { 16 } else { colours + 1 };
            let name = if colours == 1 { "one number".to_owned() } else { format!("{colours} colours") };
            (rows.min(columns) >= least).then(|| format!("an image of {rows} x {columns} pixels with {name} each"))
        }
        [frames, cells] => {
            let side = cells.isqrt();
            let is_square = side * side == cells && side >= 4 && frames != cells;
            let is_long = 2 * frames.min(cells) < frames.max(cells);
            let reshaped = format!("`a.reshape({frames}, {side}, {side})`");
            (is_square && (side >= 16 || is_long))
                .then(|| format!("{frames} flat frames of {side} x {side} cells, whose maps are {reshaped}"))
        }
        _ => None,
    }
}

/// An `.npy` of maps whose header has been read.
struct NpyMaps {
    array: Array<std::io::BufReader<std::fs::File>>,
    /// Number of frames; none of an array of two dimensions.
    frames: Option<usize>,
    ny: usize,
    nx: usize,
}

impl NpyMaps {
    fn open(path: &Path) -> Result<Self, PatchError> {
        let wrong = |reason: String| Err(PatchError::File { path: path.to_owned(), reason });
        let file = input::open(path)?;
        let length = input::length(path, &file)?;
        let array = Array::new(file, length).map_err(|e| InputError::of(path, e))?;
        let (frames, ny, nx) = match *array.shape {
            [ny, nx] => (None, ny, nx),
            [frames, ny, nx] => (Some(frames), ny, nx),
            _ => {
                let accepted = "expected two dimensions (rows, columns), or three (frames, rows, columns)";
                return wrong(format!("an array of shape {:?}: {accepted}", array.shape));
            }
        };
        let within = |n| (1..=MAX_CELLS_PER_SIDE).contains(&n);
        if frames == Some(0) || !within(ny) || !within(nx) {
            let accepted = format!("expected at least one frame, of 1 to {MAX_CELLS_PER_SIDE} rows and columns");
            return wrong(format!("an array of shape {:?}: {accepted}", array.shape));
        }
        Ok(Self { array, frames, ny, nx })
    }

    /// Refuses an array that looks like something else, unless `cells` are given.
    fn with_maps(self, path: &Path, cells: Option<[usize; 2]>) -> Result<Self, PatchError> {
        let Self { array, ny, nx, .. } = &self;
        let wrong = |reason: String| Err(PatchError::File { path: path.to_owned(), reason });
        if let Some(other) = looks_like(&array.shape).filter(|_| cells.is_none()) {
            let accepted = "expected [rows, columns], or [frames, rows, columns]";
            let meant = format!("if its maps do have {ny} rows and {nx} columns, say `cells = [{nx}, {ny}]`");
            return wrong(format!("an array of shape {:?} looks like {other}: {accepted}; {meant}", array.shape));
        }
        Ok(self)
    }

    /// Reads some frames, or the one map.
    fn read(self, path: &Path, wanted: Range<usize>) -> Result<Vec<FileMap>, PatchError> {
        let Self { mut array, frames, ny, nx } = self;
        // Maps lie in one piece each, or numbers of all of them side by side.
        let (cells, frames) = (ny * nx, frames.unwrap_or(1));
        let stored = if array.fortran { 0..frames * cells } else { wanted.start * cells..wanted.end * cells };
        let skipped = (stored.start * array.item) as i64;
        let read = array.reader.seek_relative(skipped).and_then(|()| array.numbers(stored.len()));
        let values = read.map_err(|e| InputError::of(path, e))?;
        let map = |k: usize| {
            let row_major = |i: usize| values[k + frames * (i / nx + ny * (i % nx))];
            if array.fortran {
                FileMap::from_top(nx, ny, &(0..cells).map(row_major).collect::<Vec<_>>())
            } else {
                FileMap::from_top(nx, ny, &values[(k - wanted.start) * cells..][..cells])
            }
        };
        Ok(wanted.clone().map(map).collect())
    }
}

/// A PNG, 8 or 16 bits a channel; brighter is more pressure, colour counts by its luminance, alpha
/// is ignored. The image's top row is the top of the patch.
///
/// # Errors
/// A file that cannot be read, is no PNG, or has more than [`MAX_CELLS_PER_SIDE`] pixels a side.
pub fn load_png(path: &Path) -> Result<FileMap, PatchError> {
    let wrong = |reason: String| PatchError::File { path: path.to_owned(), reason };
    let failed = |e: png::DecodingError| wrong(format!("not a PNG image: {e}"));
    let mut decoder = png::Decoder::new(input::open(path)?);
    decoder.set_transformations(png::Transformations::EXPAND);
    let header = decoder.read_header_info().map_err(failed)?;
    let (nx, ny) = (header.width as usize, header.height as usize);
    if nx.max(ny) > MAX_CELLS_PER_SIDE {
        return Err(wrong(format!("an image of {nx} x {ny} pixels: expected at most {MAX_CELLS_PER_SIDE} a side")));
    }
    let mut reader = decoder.read_info().map_err(failed)?;
    // The decoder relies on it.
    let palette = reader.info().palette.as_ref().map_or(0, |palette| palette.len());
    if !palette.is_multiple_of(3) || palette > 3 * 256 {
        return Err(wrong(format!("a palette of {palette} bytes: expected three for each of at most 256 colours")));
    }
    let mut bytes = vec![0; reader.output_buffer_size().unwrap_or(0)];
    let frame = reader.next_frame(&mut bytes).map_err(failed)?;
    bytes.truncate(frame.buffer_size());
    let deep = frame.bit_depth == png::BitDepth::Sixteen;
    let size = if deep { 2 } else { 1 };
    let sample = |b: &[u8]| if deep { f64::from(u16::from_be_bytes([b[0], b[1]])) } else { f64::from(b[0]) };
    // Rec. 709 luminance.
    let gray = |pixel: &[u8]| match pixel.len() / size {
        1 | 2 => sample(pixel),
        _ => 0.2126 * sample(pixel) + 0.7152 * sample(&pixel[size..]) + 0.0722 * sample(&pixel[2 * size..]),
    };
    let rows: Vec<f64> = bytes.chunks_exact(size * frame.color_type.samples()).map(gray).collect();
    Ok(FileMap::from_top(frame.width as usize, frame.height as usize, &rows))
}

/// A CSV with a header and columns `x`, `y` \[m\] and `w` [any unit], one row a cell centre. The grid
/// is the one the points lie on; cells that are not listed carry nothing. A single row or column
/// of cells is taken to be square. Lines that begin with `#` are comments; the last before the first row may
/// be the header, as `numpy.savetxt` writes it.
///
/// # Errors
/// A file that cannot be read, a missing column, a value that is no number, points that are on no
/// regular grid or there twice, or a map that [`Patch::from_pressure`] refuses.
pub fn load_csv(path: &Path) -> Result<Patch, PatchError> {
    let wrong = |reason: String| PatchError::File { path: path.to_owned(), reason };
    let text = input::text(path)?;
    let mut csv = Csv::new(&text).map_err(wrong)?;
    let header = csv.names().unwrap_or_default().to_vec();
    let column = |name: &str| {
        let found = header.iter().position(|h| h == name);
        found.ok_or_else(|| wrong(format!("no column `{name}`: expected a header with x, y, w")))
    };
    let columns = [column("x")?, column("y")?, column("w")?];
    let (mut points, mut lines) = (Vec::new(), Vec::new());
    while let Some((line, record)) = csv.row().map_err(wrong)? {
        let mut point = [0.0; 3];
        for (value, &c) in point.iter_mut().zip(&columns) {
            let text = record.get(c).unwrap_or("");
            *value = text.parse().ok().filter(|v: &f64| v.is_finite()).ok_or_else(|| {
                wrong(format!("line {line}, column `{}`: `{text}` is not a finite number", &header[c]))
            })?;
        }
        points.push(point);
        lines.push(line as u32);
    }
    if points.is_empty() {
        return Err(PatchError::Empty);
    }
    let axis = |k: usize| Axis::of(points.iter().map(|p| p[k]).collect());
    let (x_axis, y_axis) = (axis(0), axis(1));
    let (dx, dy) = match (x_axis.step, y_axis.step) {
        (Some(dx), Some(dy)) => (dx, dy),
        (Some(d), None) | (None, Some(d)) => (d, d),
        (None, None) => {
            return Err(wrong("a single point has no cell size: list a second cell, with w = 0 if it is empty".into()));
        }
    };
    // The patch frame has its origin at the grid's centre, so the points decide how far the grid reaches.
    let reach = |axis: &Axis, d: f64| ((axis.max.abs().max(axis.min.abs()) / d) * 2.0 + 1.0).round() as usize;
    let (mut nx, mut ny) = (reach(&x_axis, dx), reach(&y_axis, dy));
    let on_grid = |v: f64, d: f64, n: usize| {
        let i = v / d + n as f64 / 2.0 - 0.5;
        ((i - i.round()).abs() < 1e-3 && i.round() >= 0.0 && (i.round() as usize) < n).then(|| i.round() as usize)
    };
    // Centres on half cells belong to an even number of columns; `reach` rounds to the right parity.
    nx = nx.max(1);
    ny = ny.max(1);
    if nx > MAX_CELLS_PER_SIDE || ny > MAX_CELLS_PER_SIDE {
        let most = MAX_CELLS_PER_SIDE;
        return Err(wrong(format!("the points span {nx} x {ny} cells of {dx} x {dy} m: at most {most} a side")));
    }
    let grid = Grid { nx, ny, dx, dy };
    let (mut pressure, mut line_of) = (vec![0.0; grid.len()], vec![0; grid.len()]);
    for ([x, y, w], line) in points.into_iter().zip(lines) {
        let (Some(ix), Some(iy)) = (on_grid(x, dx, nx), on_grid(y, dy, ny)) else {
            return Err(wrong(format!(
                "the point ({x}, {y}) is on no regular grid around the origin with cells of {dx} x {dy} m"
            )));
        };
        let first = std::mem::replace(&mut line_of[iy * nx + ix], line);
        if first > 0 {
            return Err(wrong(format!("lines {first} and {line} have the same point ({x}, {y}): expected each once")));
        }
        pressure[iy * nx + ix] = w;
    }
    Patch::from_pressure(grid, &pressure)
}

/// The extent and spacing of the coordinates along one axis.
struct Axis {
    min: f64,
    max: f64,
    step: Option<f64>,
}

impl Axis {
    fn of(mut v: Vec<f64>) -> Self {
        v.sort_by(f64::total_cmp);
        let (min, max) = (v[0], v[v.len() - 1]);
        let tiny = 1e-6 * (max - min);
        let gaps: Vec<f64> = v.windows(2).map(|p| p[1] - p[0]).filter(|g| *g > tiny).collect();
        let smallest = gaps.iter().copied().min_by(f64::total_cmp);
        // The mean over the whole span is free of the rounding of a single gap.
        let step = smallest.map(|g| (max - min) / ((max - min) / g).round());
        Self { min, max, step }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;
    use bristle::patch::Shape;

    #[test]
    fn a_csv_of_any_shape_gives_the_same_patch_back() {
        let dir = tempfile::tempdir().unwrap();
        for (nx, ny) in [(5, 5), (6, 4), (21, 7)] {
            let patch = Patch::shape(Grid::new(nx, ny, 0.03, 0.01).unwrap(), Shape::Circle).unwrap();
            let path = dir.path().join("map.csv");
            let mut text = String::from("w, x, y\n");
            for c in patch.cells() {
                text += &format!("{}, {}, {}\n", c.w * 7.0, c.x, c.y);
            }
            std::fs::write(&path, text).unwrap();
            let read = load_csv(&path).unwrap();
            assert_eq!(read.cells().len(), patch.cells().len());
            for (a, b) in read.cells().iter().zip(patch.cells()) {
                approx::assert_relative_eq!(a.x, b.x, epsilon = 1e-15);
                approx::assert_relative_eq!(a.y, b.y, epsilon = 1e-15);
                approx::assert_relative_eq!(a.w, b.w, epsilon = 1e-15);
            }
        }
    }

    #[test]
    fn a_csv_has_comments_and_names_in_the_last_of_them_if_not_below() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("map.csv");
        for header in ["x,y,w", "# 2026-11-25 sensor 3\nx,y,w", "# x,y,w", "# 2026-11-25, sensor 3, cold\n# x,y,w"] {
            std::fs::write(&path, format!("{header}\n-0.001,0,1\n# the other\n0.001,0,3\n")).unwrap();
            assert_eq!(load_csv(&path).unwrap().weights(), [0.25, 0.75], "{header:?}");
        }
        for (text, part) in [
            ("# 2026-11-25 sensor 3\nx,y,p\n0,0,1\n", "no column `w`: expected a header with x, y, w"),
            ("0,0,1\n0,1,1\n", "no column `x`: expected a header with x, y, w"),
            ("x;y;w\n0;0;1\n", "line 1: columns separated by semicolons (`;`)"),
        ] {
            std::fs::write(&path, text).unwrap();
            let message = load_csv(&path).unwrap_err().to_string();
            assert!(message.contains(part) && message.contains("map.csv"), "{message}");
        }
    }

    #[test]
    fn files_that_are_no_maps_say_what_would_be_accepted() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("map.csv");
        std::fs::write(&path, "x,y,w\n0,0,hello\n").unwrap();
        let message = load_csv(&path).unwrap_err().to_string();
        assert!(message.contains("line 2") && message.contains("`w`") && message.contains("hello"), "{message}");
        std::fs::write(&path, "x,y,w\n0,0,1\n0.001,0.00037,1\n0.0025,0.001,1").unwrap();
        assert!(load_csv(&path).unwrap_err().to_string().contains("no regular grid"));
        std::fs::write(&path, "x,y,w\n0,0,1\n0.001,0,1\n0,0,1\n").unwrap();
        let message = load_csv(&path).unwrap_err().to_string();
        assert!(message.contains("map.csv: lines 2 and 4 have the same point (0, 0): expected each once"), "{message}");
        std::fs::write(&path, "x,y,w\n0,0,1\n0.001,0\n").unwrap();
        let message = load_csv(&path).unwrap_err().to_string();
        assert!(message.ends_with("map.csv: line 3: 2 cells: expected 3, as in the header"), "{message}");
        assert!(load_png(&path).unwrap_err().to_string().contains("not a PNG"));
        assert!(load_npy(&path, None, None).unwrap_err().to_string().contains("not an .npy"));
        assert!(matches!(load_npy(&dir.path().join("none.npy"), None, None), Err(PatchError::Io { .. })));
    }

    #[test]
    fn a_sixteen_bit_png_and_an_npy_have_their_top_row_at_the_top() {
        let dir = tempfile::tempdir().unwrap();
        let image = dir.path().join("map.png");
        let mut encoder = png::Encoder::new(File::create(&image).unwrap(), 2, 2);
        encoder.set_color(png::ColorType::Grayscale);
        encoder.set_depth(png::BitDepth::Sixteen);
        let bytes: Vec<u8> = [1u16, 300, 0, 65535].iter().flat_map(|v| v.to_be_bytes()).collect();
        encoder.write_header().unwrap().write_image_data(&bytes).unwrap();
        let expected = FileMap { nx: 2, ny: 2, pressure: vec![0.0, 65535.0, 1.0, 300.0] };
        assert_eq!(load_png(&image).unwrap(), expected);

        let array = dir.path().join("map.npy");
        use npyz::WriterBuilder;
        let file = File::create(&array).unwrap();
        let mut writer = npyz::WriteOptions::new().default_dtype().shape(&[2, 2]).writer(file).begin_nd().unwrap();
        writer.extend([1.0f64, 300.0, 0.0, 65535.0]).unwrap();
        writer.finish().unwrap();
        assert_eq!(load_npy(&array, None, None).unwrap(), [expected]);
    }

    #[test]
    fn frames_are_the_maps_of_an_array_in_either_order() {
        use npyz::WriterBuilder;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("frames.npy");
        let value = |k: usize, j: usize, i: usize| (100 * k + 10 * j + i) as i16;
        let write = |order, shape: &[u64], values: Vec<i16>| {
            let options = npyz::WriteOptions::new().default_dtype().order(order).shape(shape);
            let mut writer = options.writer(File::create(&path).unwrap()).begin_nd().unwrap();
            writer.extend(values).unwrap();
            writer.finish().unwrap();
        };
        let expected = |k: usize| {
            let rows = (0..2).rev().flat_map(|j| (0..3).map(move |i| f64::from(value(k, j, i))));
            FileMap { nx: 3, ny: 2, pressure: rows.collect() }
        };
        let by_frames = (0..4).flat_map(|k| (0..2).flat_map(move |j| (0..3).map(move |i| value(k, j, i))));
        let by_columns = (0..3).flat_map(|i| (0..2).flat_map(move |j| (0..4).map(move |k| value(k, j, i))));
        for (order, values) in
            [(npyz::Order::C, by_frames.collect::<Vec<_>>()), (npyz::Order::Fortran, by_columns.collect())]
        {
            write(order, &[4, 2, 3], values);
            assert_eq!(load_npy(&path, None, None).unwrap(), (0..4).map(expected).collect::<Vec<_>>());
            for k in 0..4 {
                assert_eq!(load_npy(&path, Some(k), None).unwrap(), [expected(k)]);
            }
            let message = load_npy(&path, Some(4), None).unwrap_err().to_string();
            assert!(
                message.contains("patch.frame = 4: expected 0 to 3") && message.contains("frames.npy"),
                "{message}"
            );
        }
        write(npyz::Order::C, &[2, 3], vec![1; 6]);
        assert!(load_npy(&path, Some(0), None).unwrap_err().to_string().contains("one map"));
        // Headers that promise what is not there.
        let header = |order: &str, shape: &str| {
            let text = format!("{{'descr': '<f8', 'fortran_order': {order}, 'shape': {shape}, }}\n");
            let length = (text.len() as u16).to_le_bytes();
            std::fs::write(&path, [&b"\x93NUMPY\x01\x00"[..], &length, text.as_bytes()].concat()).unwrap();
        };
        for order in ["False", "True"] {
            for frame in [None, Some(1)] {
                for (shape, part) in [
                    ("(1000000000000, 0, 0)", "1 to 4096 rows"),
                    ("(3, 0, 4)", "1 to 4096 rows"),
                    ("(1099511627776, 4096, 1)", "the file ends before it"),
                    ("(7, 4, 5)", "the file ends before it"),
                ] {
                    header(order, shape);
                    let message = load_npy(&path, frame, None).unwrap_err().to_string();
                    assert!(message.contains(part) && message.contains("frames.npy"), "{shape}: {message}");
                }
            }
        }
        // Images, and frames whose cells are in one row, unless the caller knows the grid.
        for (shape, part) in [
            (
                &[6, 5, 3][..],
                "[6, 5, 3] looks like an image of 6 x 5 pixels with 3 colours each: expected [rows, columns]",
            ),
            (&[16, 20, 4], "an image of 16 x 20 pixels with 4 colours each"),
            (&[4, 4, 1], "an image of 4 x 4 pixels with one number each"),
            (&[5, 256], "5 flat frames of 16 x 16 cells, whose maps are `a.reshape(5, 16, 16)`: expected"),
            (&[300, 256], "if its maps do have 300 rows and 256 columns, say `cells = [256, 300]`"),
            (&[40, 16], "40 flat frames of 4 x 4 cells"),
        ] {
            let n: u64 = shape.iter().product();
            write(npyz::Order::C, shape, vec![1; n as usize]);
            let message = load_npy(&path, None, None).unwrap_err().to_string();
            assert!(message.contains(part) && message.contains("frames.npy"), "{shape:?}: {message}");
            assert!(load_npy(&path, None, Some([1, 1])).is_ok());
            let message = load_frames(&path, 0, None, None).unwrap_err().to_string();
            assert!(message.contains(part), "{message}");
        }
        for shape in [&[9, 3, 3][..], &[2, 5, 3], &[99, 4, 4], &[9, 6, 4], &[256, 256], &[16, 16], &[12, 16], &[99, 20]]
        {
            let n: u64 = shape.iter().product();
            write(npyz::Order::C, shape, vec![1; n as usize]);
            assert!(load_npy(&path, None, None).is_ok(), "{shape:?}");
        }
        write(npyz::Order::C, &[0, 2, 3], vec![]);
        assert!(load_npy(&path, None, None).unwrap_err().to_string().contains("at least one frame"));
        write(npyz::Order::C, &[1, 1, 2, 3], vec![1; 6]);
        assert!(load_npy(&path, None, None).unwrap_err().to_string().contains("three (frames, rows, columns)"));
    }
}
