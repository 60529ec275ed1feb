//! Stability of many grasps as arrays: each is one body that touches the world at points with friction cones.

use bristle::error::ParameterError;
use bristle::{pool, range};
use bristle_rigid::cone::{Cone, ContactFrame, Fit, Polygon, Section};
use bristle_rigid::stability::{Assembly, PointContact, RigidBody, SpatialWrench, Stability};
use numpy::{
    Element, PyArray1, PyArray2, PyArray3, PyArray4, PyArrayMethods, PyReadonlyArray, PyReadonlyArray2,
    PyReadonlyArray3, PyUntypedArrayMethods, ndarray,
};
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::errors::Failure;
use crate::memory::{check, product};
use crate::signals::interruptible;

/// Memory of an assembly and of an answer beside their contacts [byte], and of a contact in both; rounded up.
const ASSEMBLY: usize = 500;
const CONTACT: usize = 400;

/// The numbers of all contacts: of `contacts` for each grasp.
struct Grasps<'a> {
    contacts: usize,
    position: &'a [[f64; 3]],
    normal: &'a [[f64; 3]],
    tangent: Option<&'a [[f64; 3]]>,
    /// `mu`, `most` and `torsion`.
    numbers: &'a [[f64; 3]],
    /// Which there are; all if none.
    present: Option<&'a [bool]>,
    section: Section,
}

impl Grasps<'_> {
    fn has(&self, k: usize) -> bool {
        self.present.is_none_or(|present| present[k])
    }

    /// Contact `k` of all.
    fn contact(&self, k: usize) -> Result<PointContact, ParameterError> {
        let [mu, most, torsion] = self.numbers[k];
        self.position[k].iter().try_for_each(|v| range::POSITION.check("position", *v))?;
        let frame = ContactFrame::new(self.normal[k], self.tangent.map(|all| all[k]))?;
        let cone = Cone::new(self.section, mu, frame)?;
        if most != f64::INFINITY {
            let or_none = |e: ParameterError| ParameterError { accepted: format!("{}, or inf", e.accepted), ..e };
            range::LIMIT_FORCE.check("most", most).map_err(or_none)?;
        }
        range::TORSION.check("torsion", torsion)?;
        Ok(PointContact { most, torsion, ..PointContact::new(self.position[k], cone) })
    }

    /// Grasp `g` under what is fixed.
    fn assembly(&self, g: usize, fixed: SpatialWrench) -> Result<Assembly, Failure> {
        let contact = |c: usize| {
            let refused = |error| Failure::Grasp { error, grasp: Some(g), contact: Some(c) };
            self.contact(g * self.contacts + c).map_err(refused)
        };
        let present = (0..self.contacts).filter(|c| self.has(g * self.contacts + c));
        let bodies = vec![RigidBody { fixed, load: SpatialWrench::default() }];
        Ok(Assembly { bodies, contacts: present.map(contact).collect::<Result<_, _>>()? })
    }
}

/// A wrench of an array; errors call it `field`.
fn wrench(of: &[f64; 6], field: impl Fn() -> String) -> Result<SpatialWrench, ParameterError> {
    for (k, v) in of.iter().enumerate() {
        let (part, range) = if k < 3 { ("force", range::FORCE) } else { ("moment", range::TORQUE) };
        if !range.contains(*v) {
            range.check(&format!("{}.{part}.{}", field(), k % 3), *v)?;
        }
    }
    let [fx, fy, fz, mx, my, mz] = *of;
    Ok(SpatialWrench { force: [fx, fy, fz], moment: [mx, my, mz] })
}

/// Wrenches of `rows` grasps with `each` of them; one row is of all grasps.
fn wrenches(name: &str, values: &[[f64; 6]], rows: usize, each: usize) -> Result<Vec<SpatialWrench>, Failure> {
    let of = |(k, value): (usize, &[f64; 6])| {
        let field = || if name == "load" { format!("load.{}", k % each) } else { name.to_owned() };
        let grasp = (rows > 1).then_some(k / each);
        wrench(value, field).map_err(|error| Failure::Grasp { error, grasp, contact: None })
    };
    values.iter().enumerate().map(of).collect()
}

/// The section of all cones: sides, fit and angle of a pyramid, or a circle.
fn section(pyramid: Option<(usize, String, f64)>) -> Result<Section, ParameterError> {
    let Some((sides, kind, angle)) = pyramid else { return Ok(Section::Circle) };
    let fit = match kind.as_str() {
        "inner" => Fit::Inner,
        "outer" => Fit::Outer,
        other => return Err(ParameterError::new("cone.kind", other, "\"inner\" or \"outer\"")),
    };
    let section = Section::Polygon(Polygon { sides, fit, angle });
    let field = |e: &ParameterError| if e.field == "sides" { "cone.pyramid" } else { "cone.angle" };
    section.validate().map_err(|e| ParameterError { field: field(&e).to_owned(), ..e })?;
    Ok(section)
}

/// The elements of an array as arrays of `N` numbers, its last axis.
fn rows<'a, const N: usize, D: ndarray::Dimension>(
    array: &'a PyReadonlyArray<'_, f64, D>,
) -> Result<&'a [[f64; N]], Failure> {
    Ok(array.as_slice().map_err(PyErr::from)?.as_chunks::<N>().0)
}

fn slice<'a, T: Element, D: ndarray::Dimension>(array: &'a PyReadonlyArray<'_, T, D>) -> Result<&'a [T], Failure> {
    Ok(array.as_slice().map_err(PyErr::from)?)
}

/// An answer as numbers; what there is not is not a number.
struct Answer {
    holds: bool,
    is_solved: bool,
    factors: [f64; 2],
    residual: f64,
    twist: [f64; 6],
    /// Force, moment about the normal and margin of every contact.
    forces: Vec<[f64; 5]>,
}

impl Answer {
    /// Of an assembly whose contacts are those of `has` in a grasp.
    fn new(of: &Assembly, has: &[bool]) -> Self {
        let Ok(Stability { holds, forces, residual, factors, motion }) = of.stability() else {
            return Self::unsolved(has.len());
        };
        let found = forces.map(|forces| {
            let mut found = of.contacts.iter().zip(&forces).map(|(contact, of)| {
                let [x, y, z] = of.force;
                [x, y, z, of.torsion, contact.margin(of)]
            });
            has.iter().map(|has| if *has { found.next().unwrap_or_default() } else { [0.0; 5] }).collect()
        });
        Self {
            holds,
            is_solved: true,
            factors: factors.unwrap_or([f64::NAN; 2]),
            residual: if holds { residual } else { f64::NAN },
            twist: motion.map_or([f64::NAN; 6], |motion| motion.twists[0]),
            forces: found.unwrap_or_else(|| vec![[f64::NAN; 5]; has.len()]),
        }
    }

    fn unsolved(contacts: usize) -> Self {
        let (factors, twist, forces) = ([f64::NAN; 2], [f64::NAN; 6], vec![[f64::NAN; 5]; contacts]);
        Self { holds: false, is_solved: false, factors, residual: f64::NAN, twist, forces }
    }
}

/// Answers of grasps under loads, in the order of the fields of `Stability` of the package.
type Arrays<'py> = (
    Bound<'py, PyArray2<bool>>,
    Bound<'py, PyArray3<f64>>,
    Bound<'py, PyArray4<f64>>,
    Bound<'py, PyArray3<f64>>,
    Bound<'py, PyArray3<f64>>,
    Bound<'py, PyArray3<f64>>,
    Bound<'py, PyArray2<f64>>,
    Bound<'py, PyArray2<bool>>,
);

fn arrays<'py>(py: Python<'py>, all: &[Answer], [n, loads, contacts]: [usize; 3]) -> Result<Arrays<'py>, Failure> {
    let forces = || all.iter().flat_map(|a| &a.forces);
    let flags = |of: fn(&Answer) -> bool| PyArray1::from_iter(py, all.iter().map(of)).reshape([n, loads]);
    Ok((
        flags(|a| a.holds)?,
        PyArray1::from_iter(py, all.iter().flat_map(|a| a.factors)).reshape([n, loads, 2])?,
        PyArray1::from_iter(py, forces().flat_map(|f| [f[0], f[1], f[2]])).reshape([n, loads, contacts, 3])?,
        PyArray1::from_iter(py, forces().map(|f| f[3])).reshape([n, loads, contacts])?,
        PyArray1::from_iter(py, forces().map(|f| f[4])).reshape([n, loads, contacts])?,
        PyArray1::from_iter(py, all.iter().flat_map(|a| a.twist)).reshape([n, loads, 6])?,
        PyArray1::from_iter(py, all.iter().map(|a| a.residual)).reshape([n, loads])?,
        flags(|a| a.is_solved)?,
    ))
}

/// Whether grasps hold loads: positions, normals, tangents and numbers [grasps, contacts, 3], which contacts
/// there are [grasps, contacts], what is fixed [grasps or 1, 6] and loads [grasps or 1, loads, 6].
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "arrays of the package's own module")]
pub fn stability<'py>(
    py: Python<'py>,
    position: PyReadonlyArray3<'py, f64>,
    normal: PyReadonlyArray3<'py, f64>,
    tangent: Option<PyReadonlyArray3<'py, f64>>,
    numbers: PyReadonlyArray3<'py, f64>,
    present: Option<PyReadonlyArray2<'py, bool>>,
    fixed: PyReadonlyArray2<'py, f64>,
    load: PyReadonlyArray3<'py, f64>,
    pyramid: Option<(usize, String, f64)>,
) -> Result<Arrays<'py>, Failure> {
    let [n, contacts, _] = *position.shape() else { unreachable!("it has three axes") };
    let [of_loads, loads, _] = *load.shape() else { unreachable!("it has three axes") };
    let what = || format!("{loads} loads of {n} grasps of {contacts} contacts");
    check(what, product([n, loads.max(1), product([contacts, CONTACT]).saturating_add(ASSEMBLY)]))?;
    let grasps = Grasps {
        contacts,
        position: rows(&position)?,
        normal: rows(&normal)?,
        tangent: tangent.as_ref().map(rows).transpose()?,
        numbers: rows(&numbers)?,
        present: present.as_ref().map(slice).transpose()?,
        section: section(pyramid)?,
    };
    let (fixed_rows, fixed, load) = (fixed.shape()[0], rows(&fixed)?, rows(&load)?);
    let all: Vec<Answer> = py.detach(|| {
        let fixed = wrenches("fixed", fixed, fixed_rows, 1)?;
        let load = wrenches("load", load, of_loads, loads)?;
        // All numbers are checked before anything is solved.
        let of = |g: usize| grasps.assembly(g, fixed[if fixed_rows == 1 { 0 } else { g }]);
        let assemblies: Vec<Assembly> = (0..n).map(of).collect::<Result<_, _>>()?;
        let everywhere = vec![true; contacts];
        let answer = |k: usize| {
            let (g, l) = (k / loads, k % loads);
            let mut assembly = assemblies[g].clone();
            assembly.bodies[0].load = load[if of_loads == 1 { l } else { k }];
            Answer::new(&assembly, grasps.present.map_or(&everywhere[..], |all| &all[g * contacts..][..contacts]))
        };
        interruptible(|goes_on| {
            // Where it is interrupted there are fewer answers, of which none is returned.
            let one = |k: usize| goes_on().then(|| answer(k));
            pool::run(|| (0..n * loads).into_par_iter().map(one).while_some().collect())
        })
    })?;
    arrays(py, &all, [n, loads, contacts])
}
