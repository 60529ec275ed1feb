//! From the `[patch]` table to the patches of the contacts. Maps are made once and shared.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::friction_map::{FrictionMap, MAP};
use super::indenter::Indented;
use super::level::{Clipped, Level};
use super::number::Number;
use super::patch_failure::{FILE, PatchFailure};
use super::sampler::Sampler;
use super::sequence::FramesSpec;
use super::shapes::{OneOrTwo, ShapeName, ShapeSpec};
use super::spec::{PatchSpec, PressureUnit};
use crate::digest::Digest;
use crate::map_file::{FileMap, from_rows, load_csv, load_npy, load_png};
use bristle::error::{ParameterError, PatchError};
use bristle::parameter::{HERTZ_EXPONENT, HERTZ_RADIUS, LAYER_SHEAR, SIZE, UPDATE};
use bristle::patch::{Exponent, FrictionAxes, Grid, Hertz, Patch};
use bristle::schedule::Signal;

/// Columns and rows of a shape.
const CELLS: usize = 21;

/// The data from which the patches of all contacts are made.
#[derive(Debug)]
pub(super) struct Patches {
    /// One for each choice of a shape or frame; with a size of 1 if the size is drawn.
    bases: Vec<Base>,
    /// The number of each in the file, if it has frames.
    frames: Vec<usize>,
    /// The file with those frames, and how many it has, those without pressure too.
    file: Option<(PathBuf, usize)>,
    /// The sum of the pressure of each over its cells [Pa], if the map has a unit.
    sums: Vec<f64>,
    /// The frame of a contact, if the scenario names several: by a choice, or by a column of its table.
    frame: Option<Number>,
    size: Option<OneOrTwo<Number>>,
    /// The patches of the sizes that were drawn last.
    sized: Sized,
    /// What `patch.clip` has changed, if it is given.
    clipped: Option<Clipped>,
    /// How many Pa the unit of the map is, if it has one.
    pascal: Option<f64>,
    hertz: HertzSpec,
    /// The period [s] at which a map that changes is made anew, if the scenario says one.
    update: Option<f64>,
    /// What presses on an elastic layer, if the scenario has an indenter; then there are no bases.
    indented: Option<Indented>,
    /// The stiffness per area of a layer along its surface [N/m^3], if frames press on one.
    shear: Option<Number>,
    /// Friction by region, if the scenario has it.
    friction: Option<FrictionMap>,
    /// Friction by direction, if the scenario has it.
    axes: Option<FrictionAxes>,
    /// The mean of the factors over the pressure of each base [-], where they have moved into the pressure.
    means: Vec<f64>,
}

/// The patch of a contact.
pub(super) struct DrawnPatch {
    pub patch: Arc<Patch>,
    /// The period [s] at which its map is made anew.
    pub update: Option<f64>,
    /// The normal force [N] that its pressure makes, if it is known.
    pub force: Option<Signal>,
    /// The mean of its friction map [-], if that has moved into the pressure; else 1.
    pub friction: f64,
    /// Of an elastic layer its stiffness per area along its surface [N/m^3], and how many Pa the unit of its
    /// frames is.
    pub layer: Option<(f64, f64)>,
}

#[derive(Debug)]
enum Base {
    /// A patch with its size.
    Whole(Arc<Patch>),
    /// A patch that is scaled to the drawn size.
    Unit(Arc<Patch>),
    /// Columns and rows of a map that is made for every contact.
    Hertz([usize; 2]),
}

impl Base {
    /// The same, whose map may be replaced.
    fn with_frames(self) -> Self {
        match self {
            Self::Whole(patch) => Self::Whole(Arc::new(Arc::unwrap_or_clone(patch).with_frames())),
            Self::Unit(patch) => Self::Unit(Arc::new(Arc::unwrap_or_clone(patch).with_frames())),
            Self::Hertz(cells) => Self::Hertz(cells),
        }
    }
}

/// For each base the patch of the size that was drawn last, which contacts of that size share: most have one
/// size, and a patch sums over its cells.
#[derive(Debug, Default)]
struct Sized(Mutex<Vec<Option<Last>>>);

/// A base, the factors of its sides, and the patch of that size.
#[derive(Clone, Debug)]
struct Last {
    base: Arc<Patch>,
    factors: [f64; 2],
    patch: Arc<Patch>,
}

impl Sized {
    /// The base at a `place`, with its sides multiplied by `factors`.
    fn scaled(&self, place: usize, base: &Arc<Patch>, factors: [f64; 2]) -> Result<Arc<Patch>, ParameterError> {
        let kept = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |last: &&Last| Arc::ptr_eq(&last.base, base) && last.factors == factors;
        if let Some(last) = kept().get(place).and_then(Option::as_ref).filter(is_it) {
            return Ok(Arc::clone(&last.patch));
        }
        let [kx, ky] = factors;
        let patch = Arc::new(base.scaled(kx, ky)?);
        let mut kept = kept();
        if kept.len() <= place {
            kept.resize(place + 1, None);
        }
        kept[place] = Some(Last { base: Arc::clone(base), factors, patch: Arc::clone(&patch) });
        Ok(patch)
    }
}

#[derive(Debug)]
struct HertzSpec {
    radius: Number,
    exponent: Number,
    per_newton: bool,
}

impl Patches {
    /// Reads and checks the maps; relative files are looked for in `base`.
    pub fn prepare(spec: &PatchSpec, base: &Path) -> Result<Self, PatchFailure> {
        let sources = [("patch.shape", spec.shape.is_some()), ("patch.file", spec.file.is_some())];
        let given: Vec<&str> = sources
            .into_iter()
            .chain([("patch.pressure", spec.pressure.is_some())])
            .filter_map(|(name, given)| given.then_some(name))
            .collect();
        if let [_, second, ..] = given[..] {
            return PatchFailure::wrong(second, "expected only one of `shape`, `file`, `pressure`");
        }
        let default = ShapeSpec(vec![ShapeName::Circle]);
        let shapes: &[ShapeName] =
            if given.is_empty() || spec.shape.is_some() { &spec.shape.as_ref().unwrap_or(&default).0 } else { &[] };
        let hertz_keys = [
            ("patch.radius", spec.radius.is_some()),
            ("patch.exponent", spec.exponent.is_some()),
            ("patch.exponent_per_newton", spec.exponent_per_newton.is_some()),
        ];
        if let Some((key, _)) = hertz_keys.iter().find(|(_, given)| *given)
            && !shapes.contains(&ShapeName::Hertz)
        {
            return PatchFailure::wrong(key, "belongs to `shape = \"hertz\"`");
        }
        if spec.update.is_some() && spec.frames.is_none() && !shapes.contains(&ShapeName::Hertz) {
            return PatchFailure::wrong("patch.update", "belongs to `shape = \"hertz\"` or to `frames`");
        }
        if spec.exponent.is_some() && spec.exponent_per_newton.is_some() {
            return PatchFailure::wrong("patch.exponent_per_newton", "expected only one of the two exponents");
        }
        let is_npy = |file: &Path| file.extension().is_some_and(|e| e.eq_ignore_ascii_case("npy"));
        if spec.frame.is_some() && !spec.file.as_deref().is_some_and(is_npy) {
            return PatchFailure::wrong("patch.frame", "belongs to a `file` that ends in .npy");
        }
        if spec.frames.is_some() {
            if !spec.file.as_deref().is_some_and(is_npy) {
                return PatchFailure::wrong("patch.frames", "belongs to a `file` that ends in .npy");
            }
            if spec.frame.is_some() {
                return PatchFailure::wrong("patch.frames", "expected only one of `frame`, `frames`");
            }
        }
        let size = match &spec.size {
            None => Some([SIZE.default; 2]),
            Some(size) => match size.both() {
                [Number::Constant(w), Number::Constant(h)] => Some([*w, *h]),
                _ => None,
            },
        };
        let cells = spec.cells.as_ref().map(|cells| cells.both().map(|n| *n));
        let takes_frames = spec.takes_frames == Some(true);
        if takes_frames && (shapes.contains(&ShapeName::Hertz) || spec.frames.is_some()) {
            let accepted = "a map that follows the normal force or frames cannot be replaced";
            return PatchFailure::wrong("patch.takes_frames", accepted);
        }
        let of_readings = [
            ("patch.unit", spec.unit.is_some()),
            ("patch.baseline", spec.baseline.is_some()),
            ("patch.clip", spec.clip.is_some()),
        ];
        if let Some((key, _)) = of_readings.iter().find(|(_, given)| *given)
            && spec.pressure.is_none()
            && !spec.file.as_deref().is_some_and(is_npy)
        {
            return PatchFailure::wrong(key, "belongs to a `file` that ends in .npy, or to `pressure`");
        }
        let level = Level::of(spec.baseline.as_ref(), spec.clip == Some(true), cells, base)?;
        let (mut sums, mut count, mut clipped) = (Vec::new(), 0, None);
        let (frames, bases) = if let (Some(file), Some(frames)) = (&spec.file, &spec.frames) {
            let (base, changed) = following(frames, &base.join(file), cells, size, &level, spec.layer.is_some())?;
            clipped = changed;
            (Vec::new(), vec![base])
        } else if let Some(file) = spec.file.as_deref().filter(|file| is_npy(file)) {
            let frame = one_frame(spec.frame.as_ref())?;
            let path = base.join(file);
            let mut maps = load_npy(&path, frame, cells).map_err(|e| PatchFailure::of(FILE, e).named(&path))?;
            clipped = level.apply(&mut maps)?;
            count = maps.len();
            from_frames(&path, maps, frame, cells, size, &mut sums)?
        } else if let Some(file) = &spec.file {
            (Vec::new(), vec![from_file(&base.join(file), cells, size, spec.size.is_some())?])
        } else if let Some(rows) = &spec.pressure {
            let mut map = from_rows("patch.pressure", rows)?;
            clipped = level.apply(std::slice::from_mut(&mut map))?;
            sums.push(map.pressure.iter().sum());
            (Vec::new(), vec![from_map(&map, "patch.pressure", cells, size)?])
        } else if spec.indenter.is_some() {
            (Vec::new(), Vec::new())
        } else {
            let [nx, ny] = cells.unwrap_or([CELLS; 2]);
            let bases = shapes.iter().map(|shape| from_shape(*shape, nx, ny, size));
            (Vec::new(), bases.collect::<Result<_, _>>()?)
        };
        let bases = if takes_frames { bases.into_iter().map(Base::with_frames).collect() } else { bases };
        let hertz = HertzSpec {
            radius: spec.radius.clone().unwrap_or(Number::Constant(HERTZ_RADIUS.default)),
            exponent: (spec.exponent_per_newton.clone().or(spec.exponent.clone()))
                .unwrap_or(Number::Constant(HERTZ_EXPONENT.default)),
            per_newton: spec.exponent_per_newton.is_some(),
        };
        // A CSV has a size of its own, which is used unless the scenario gives another one.
        let size = match (&spec.size, &spec.file) {
            (None, Some(_)) => None,
            (size, _) => Some(size.clone().unwrap_or(OneOrTwo::One(Number::Constant(SIZE.default)))),
        };
        let frame = spec.frame.clone().filter(|frame| !matches!(frame, Number::Constant(_)));
        let pascal = spec.unit.map(PressureUnit::pascal);
        let sums = pascal.map_or_else(Vec::new, |pascal| sums.iter().map(|sum| pascal * sum).collect());
        let file = spec.file.as_ref().map(|file| (base.join(file), count));
        let (update, friction, axes, means) = (spec.update, None, None, Vec::new());
        let by = spec.indenter.as_ref().zip(spec.layer.as_ref());
        let cells = cells.unwrap_or([CELLS; 2]);
        let indented = by.map(|(by, layer)| Indented::prepare(by, layer, cells, spec.size.as_ref(), base));
        let (indented, shear) = (indented.transpose()?, spec.layer.as_ref().map(|layer| layer.shear_stiffness.clone()));
        Ok(Self {
            bases,
            frames,
            file,
            sums,
            frame,
            size,
            sized: Sized::default(),
            clipped,
            pascal,
            hertz,
            update,
            indented,
            shear,
            friction,
            axes,
            means,
        })
    }

    /// The same with friction by region. Of `reduced` bristles the map moves into the pressure, which then
    /// must not change.
    pub fn with_friction(mut self, map: &FrictionMap, reduced: bool) -> Result<Self, PatchFailure> {
        let changes = "with a reduced bristle, whose pressure must not change then: expected no `hertz`, `frames` or \
                       `takes_frames`, or `contact.model = \"distributed\"`";
        let with = |patch: Patch| {
            let factors = map.over(patch.grid());
            patch.with_friction_map(&factors).map_err(|e| PatchFailure::of(MAP, e))
        };
        let mut bases = Vec::with_capacity(self.bases.len());
        for base in self.bases {
            let (patch, is_whole) = match base {
                Base::Whole(patch) => (with(Arc::unwrap_or_clone(patch))?, true),
                Base::Unit(patch) => (with(Arc::unwrap_or_clone(patch))?, false),
                Base::Hertz(_) if reduced => return PatchFailure::wrong(MAP, changes),
                Base::Hertz(cells) => {
                    bases.push(Base::Hertz(cells));
                    continue;
                }
            };
            if reduced && (patch.changes() || patch.takes_frames()) {
                return PatchFailure::wrong(MAP, changes);
            }
            if reduced {
                self.means.push(patch.mean_friction());
            }
            let patch = if reduced { patch.with_friction_in_pressure() } else { patch };
            bases.push(if is_whole { Base::Whole(Arc::new(patch)) } else { Base::Unit(Arc::new(patch)) });
        }
        Ok(Self { bases, friction: Some(map.clone()), ..self })
    }

    /// The same with friction by direction, if it is given.
    pub fn with_axes(self, axes: Option<FrictionAxes>) -> Self {
        let Some(axes) = axes else { return self };
        let with = |base| match base {
            Base::Whole(patch) => Base::Whole(Arc::new(Arc::unwrap_or_clone(patch).with_friction_axes(axes))),
            Base::Unit(patch) => Base::Unit(Arc::new(Arc::unwrap_or_clone(patch).with_friction_axes(axes))),
            Base::Hertz(cells) => Base::Hertz(cells),
        };
        Self { bases: self.bases.into_iter().map(with).collect(), axes: Some(axes), ..self }
    }

    /// What `patch.clip` has changed, if it is given.
    pub const fn clipped(&self) -> Option<Clipped> {
        self.clipped
    }

    /// What presses on the layers of all contacts, if that is an indenter, and friction by direction.
    pub const fn indented(&self) -> Option<(&Indented, Option<FrictionAxes>)> {
        if let Some(indented) = &self.indented { Some((indented, self.axes)) } else { None }
    }

    /// Refuses frames that would stand still through a run of `duration` [s].
    pub fn check_over(&self, spec: &PatchSpec, duration: f64) -> Result<(), ParameterError> {
        self.bases.iter().try_for_each(|base| {
            let patch = match base {
                Base::Whole(patch) => patch,
                Base::Unit(patch) => patch,
                Base::Hertz(_) => return Ok(()),
            };
            let frames = patch.sequence().zip(spec.frames.as_ref());
            frames.map_or(Ok(()), |(sequence, frames)| frames.check_over(sequence, duration))
        })
    }

    /// A digest of the maps.
    pub fn digest(&self) -> u64 {
        let mut digest = Digest::default();
        digest.counts(&self.frames);
        digest.numbers(&self.sums);
        digest.numbers(self.friction.as_ref().map_or(&[], FrictionMap::factors));
        digest.numbers(&self.axes.map_or_else(Vec::new, |axes| vec![axes.across(), axes.angle()]));
        self.indented.iter().for_each(|indented| indented.digest(&mut digest));
        for base in &self.bases {
            let patch = match base {
                Base::Whole(patch) => patch,
                Base::Unit(patch) => patch,
                Base::Hertz(cells) => {
                    digest.counts(cells);
                    continue;
                }
            };
            let Grid { nx, ny, dx, dy } = *patch.grid();
            digest.counts(&[nx, ny]);
            digest.numbers(&[dx, dy]);
            digest.numbers(patch.weights());
            if let Some(sequence) = patch.sequence() {
                digest.numbers(sequence.times());
                digest.numbers(sequence.sums());
                (0..sequence.map_count()).for_each(|map| digest.numbers(&sequence.map(map)));
            }
        }
        digest.finish()
    }

    /// The frames of a file that a contact may have: those with pressure, or the one that was named; none if
    /// there are no frames.
    pub fn frames(&self) -> &[usize] {
        &self.frames
    }

    /// The error of a frame that is none, or has no pressure.
    fn no_frame(&self, frame: f64) -> ParameterError {
        let (file, count) = self.file.as_ref().map_or((Path::new(""), 1), |(file, count)| (file, *count));
        let is_there = frame.fract() == 0.0 && (0.0..count as f64).contains(&frame);
        let accepted = if is_there {
            format!("a frame with pressure, which this one has not in {}", file.display())
        } else {
            format!("0 to {}, one of the frames in {}", count - 1, file.display())
        };
        ParameterError::new("patch.frame", frame, accepted)
    }

    /// The patch of one contact whose normal force starts with `f_n` [N].
    pub fn draw(&self, f_n: f64, sampler: &mut Sampler<'_>) -> Result<DrawnPatch, ParameterError> {
        let place = match self.frames.as_slice() {
            [] => sampler.index("patch.shape", self.bases.len()),
            frames => match &self.frame {
                None => sampler.one_of("patch.frame", frames),
                Some(number) => {
                    let frame = sampler.number("patch.frame", number);
                    let known = frames.iter().position(|k| *k as f64 == frame);
                    known.ok_or_else(|| self.no_frame(frame))?
                }
            },
        };
        let base = &self.bases[place];
        let size = self.size.as_ref().map(|size| match size {
            OneOrTwo::One(n) => [sampler.number("patch.size", n); 2],
            OneOrTwo::Two(w, h) => [sampler.number("patch.size.0", w), sampler.number("patch.size.1", h)],
        });
        let [w, h] = size.unwrap_or([SIZE.default; 2]);
        let (patch, update) = match base {
            Base::Whole(patch) => {
                // It has the size of the file, unless another one is given.
                let Grid { nx, ny, dx, dy } = *patch.grid();
                let [kx, ky] = size.map_or([1.0; 2], |[w, h]| [w / (nx as f64 * dx), h / (ny as f64 * dy)]);
                let is_its_own = [kx, ky].iter().all(|k| (k - 1.0).abs() < 1e-12);
                let patch = if is_its_own { Arc::clone(patch) } else { self.sized.scaled(place, patch, [kx, ky])? };
                (patch, self.update)
            }
            Base::Unit(patch) => {
                let Grid { nx, ny, dx, dy } = *patch.grid();
                Grid::new(nx, ny, w, h)?;
                (self.sized.scaled(place, patch, [w / (nx as f64 * dx), h / (ny as f64 * dy)])?, self.update)
            }
            Base::Hertz([nx, ny]) => {
                let radius = sampler.number("patch.radius", &self.hertz.radius);
                let exponent = if self.hertz.per_newton {
                    Exponent::PerNewton(sampler.number("patch.exponent_per_newton", &self.hertz.exponent))
                } else {
                    Exponent::Fixed(sampler.number("patch.exponent", &self.hertz.exponent))
                };
                let grid = Grid::new(*nx, *ny, w, h)?;
                let made = Patch::hertz(grid, Hertz { radius, exponent }, f_n);
                let with_map = |patch: Patch| match &self.friction {
                    Some(map) => patch.with_friction_map(&map.over(&grid)),
                    None => Ok(patch),
                };
                let with_axes = |patch: Patch| match self.axes {
                    Some(axes) => patch.with_friction_axes(axes),
                    None => patch,
                };
                let patch = made.and_then(with_map).map(with_axes).map_err(|e| match e {
                    PatchError::Parameter(e) => e,
                    other => ParameterError::new("patch.shape", "hertz", other.to_string()),
                })?;
                (Arc::new(patch), Some(self.update.unwrap_or(UPDATE.default)))
            }
        };
        let Grid { dx, dy, .. } = *patch.grid();
        let force = match (patch.sequence(), self.pascal) {
            (Some(sequence), Some(pascal)) => {
                let force = sequence.normal_force(pascal * dx * dy);
                Some(update.map_or(Ok(force.clone()), |update| force.held(update))?)
            }
            _ => self.sums.get(place).map(|sum| Signal::constant(sum * dx * dy)),
        };
        let update = update.filter(|_| patch.changes());
        let friction = self.means.get(place).copied().unwrap_or(1.0);
        let layer = self.shear.as_ref().zip(self.pascal);
        let layer = layer.map(|(shear, pascal)| (sampler.number(LAYER_SHEAR.name, shear), pascal));
        layer.map_or(Ok(()), |(shear, _)| LAYER_SHEAR.check(shear))?;
        Ok(DrawnPatch { patch, update, force, friction, layer })
    }
}

fn from_shape(shape: ShapeName, nx: usize, ny: usize, size: Option<[f64; 2]>) -> Result<Base, PatchFailure> {
    let [w, h] = size.unwrap_or([1.0; 2]);
    let grid = Grid::new(nx, ny, w, h).map_err(|e| PatchFailure::of("patch", e.into()))?;
    let Some(fixed) = shape.fixed() else { return Ok(Base::Hertz([nx, ny])) };
    let patch = Patch::shape(grid, fixed).map_err(|e| PatchFailure::of("patch.shape", e))?;
    Ok(if size.is_some() { Base::Whole(Arc::new(patch)) } else { Base::Unit(Arc::new(patch)) })
}

fn from_map(
    map: &FileMap,
    field: &str,
    cells: Option<[usize; 2]>,
    size: Option<[f64; 2]>,
) -> Result<Base, PatchFailure> {
    check_cells(field, [map.nx, map.ny], cells)?;
    let [w, h] = size.unwrap_or([1.0; 2]);
    let patch = map.over(w, h).map_err(|e| PatchFailure::of(field, e).below_zero(&map.pressure))?;
    Ok(if size.is_some() { Base::Whole(Arc::new(patch)) } else { Base::Unit(Arc::new(patch)) })
}

/// A map that follows frames, which may be `on_layer`, and what `level` has changed of them.
fn following(
    frames: &FramesSpec,
    path: &Path,
    cells: Option<[usize; 2]>,
    size: Option<[f64; 2]>,
    level: &Level,
    on_layer: bool,
) -> Result<(Base, Option<Clipped>), PatchFailure> {
    let (sequence, clipped) = frames.load(path, cells, level, on_layer)?;
    let [nx, ny] = sequence.cells();
    check_cells(FILE, [nx, ny], cells)?;
    let [w, h] = size.unwrap_or([1.0; 2]);
    let failed = |e| PatchFailure::of(FILE, e).named(path);
    let grid = Grid::new(nx, ny, w, h).map_err(|e| failed(e.into()))?;
    let patch = Patch::following(grid, Arc::new(sequence)).map_err(failed)?;
    Ok((if size.is_some() { Base::Whole(Arc::new(patch)) } else { Base::Unit(Arc::new(patch)) }, clipped))
}

/// The frame that a scenario names for all contacts; none if each has its own.
fn one_frame(frame: Option<&Number>) -> Result<Option<usize>, PatchFailure> {
    let accepted = "expected an integer >= 0, `{ choice = [..] }` of some, or `{ column = \"name\" }`";
    match frame {
        None | Some(Number::Choice(_) | Number::Column(_)) => Ok(None),
        Some(Number::Constant(k)) if *k >= 0.0 && k.fract() == 0.0 => Ok(Some(*k as usize)),
        Some(Number::Constant(k)) => PatchFailure::wrong("patch.frame", format!("{k}: {accepted}")),
        Some(_) => PatchFailure::wrong("patch.frame", accepted),
    }
}

/// The patches of the `maps` of an `.npy`: of the one of two dimensions; of the `frame` that is named, or of
/// all that have pressure, with their numbers, and `sums` of their pressure.
fn from_frames(
    path: &Path,
    maps: Vec<FileMap>,
    frame: Option<usize>,
    cells: Option<[usize; 2]>,
    size: Option<[f64; 2]>,
    sums: &mut Vec<f64>,
) -> Result<(Vec<usize>, Vec<Base>), PatchFailure> {
    let count = maps.len();
    let has_frames = frame.is_some() || count > 1;
    let (mut frames, mut bases) = (Vec::new(), Vec::new());
    for (k, map) in maps.into_iter().enumerate() {
        // Frames in which nothing touches the sensor are left out.
        if count > 1 && map.pressure.iter().all(|p| *p == 0.0) {
            continue;
        }
        let number = frame.unwrap_or(k);
        let base = from_map(&map, FILE, cells, size).map_err(|mut f| {
            if has_frames && f.message.starts_with(FILE) {
                f.message = f.message.replacen(FILE, &format!("{FILE}: frame {number}"), 1);
            }
            f.named(path)
        })?;
        bases.push(base);
        sums.push(map.pressure.iter().sum());
        if has_frames {
            frames.push(number);
        }
    }
    if bases.is_empty() {
        return PatchFailure::wrong(FILE, format!("{}: none of {count} frames has pressure > 0", path.display()));
    }
    Ok((frames, bases))
}

/// The map of a `.csv` or `.png`.
fn from_file(
    path: &Path,
    cells: Option<[usize; 2]>,
    size: Option<[f64; 2]>,
    sized: bool,
) -> Result<Base, PatchFailure> {
    let failed = |e| PatchFailure::of(FILE, e).named(path);
    match path.extension().and_then(|e| e.to_str()).unwrap_or_default().to_lowercase().as_str() {
        "csv" => {
            let patch = load_csv(path).map_err(failed)?;
            let Grid { nx, ny, dx, dy } = *patch.grid();
            check_cells(FILE, [nx, ny], cells)?;
            Ok(match (sized, size) {
                (false, _) => Base::Whole(Arc::new(patch)),
                (true, Some([w, h])) => {
                    let scaled = patch.scaled(w / (nx as f64 * dx), h / (ny as f64 * dy));
                    let patch = Grid::new(nx, ny, w, h).and(scaled).map_err(|e| PatchFailure::of(FILE, e.into()))?;
                    Base::Whole(Arc::new(patch))
                }
                (true, None) => Base::Unit(Arc::new(patch)),
            })
        }
        "png" => from_map(&load_png(path).map_err(failed)?, FILE, cells, size).map_err(|f| f.named(path)),
        _ => PatchFailure::wrong(FILE, format!("{}: expected a name that ends in .npy, .csv or .png", path.display())),
    }
}

fn check_cells(field: &str, found: [usize; 2], cells: Option<[usize; 2]>) -> Result<(), PatchFailure> {
    match cells {
        Some(cells) if cells != found => PatchFailure::wrong(
            "patch.cells",
            format!(
                "{} x {}, but the map of {field} has {} x {} (columns x rows): expected the same, or no `cells`",
                cells[0], cells[1], found[0], found[1]
            ),
        ),
        _ => Ok(()),
    }
}
