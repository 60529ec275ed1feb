//! Lists the kernels that an adapter gets, with their text.

use bristle::friction::Law;
use bristle::gpu::{Adapter, KernelShape, Layout, Program, Reduced, Storage, Variant};
use bristle::point::PointLaw;

/// Cells with pressure of the circle of 21 x 21 cells.
pub const CELLS: usize = 317;

/// Elements of the point contacts in the list whose law has elements.
const ELEMENTS: u32 = 4;

/// A kernel as an engine compiles it.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Law, model, layout and steps; or what it computes.
    pub name: String,
    /// Its WGSL.
    pub text: String,
    /// The entry point.
    pub entry: &'static str,
    /// The pipeline constants.
    pub constants: Vec<(&'static str, f64)>,
    /// How it steps contacts; none of a kernel that does not.
    pub steps: Option<Steps>,
}

/// How a kernel steps contacts.
#[derive(Clone, Copy, Debug)]
pub struct Steps {
    /// The kernel's shape.
    pub shape: KernelShape,
    /// Cells of a contact; 1 of a reduced bristle and of a point contact.
    pub cells: u32,
}

impl Steps {
    /// Turns that a lane takes for its cells: as many as it must, as its memory may be for more.
    pub const fn turns(self) -> u32 {
        let turns = self.cells.div_ceil(self.shape.lanes * self.shape.width());
        if turns > 1 { turns } else { 1 }
    }

    /// Turns of the loop over cells; none if there is none.
    pub fn turns_of_loop(self) -> Option<u32> {
        (!self.shape.is_reduced()).then(|| self.turns())
    }
}

/// The kernels of an adapter. Those that step contacts: each law with a grid, in steps of one length and in
/// chosen ones, and with a reduced bristle; for Elasto-Plastic also other forms, layouts and sizes, surfaces
/// that move, friction by region and by direction; each law of a point contact. Then all others.
///
/// # Errors
/// A shader whose text cannot be made.
pub fn of(adapter: &Adapter) -> Result<Vec<Kernel>, String> {
    let mut all = Vec::new();
    let reduced = KernelShape::reduced(adapter);
    for &law in Law::ALL {
        let mut add = |what: &str, shape: KernelShape, cells: usize, adaptive: bool, reduced: Option<Reduced>| {
            let variant = Variant { law, adaptive, reduced, ..plain(shape) };
            let steps = if adaptive { ", adaptive" } else { "" };
            let made = stepping(format!("{}, {what}{steps}", law.name()), &variant, cells as u32)?;
            all.push(made);
            Ok::<_, String>(())
        };
        let grid = KernelShape::of(CELLS, adapter);
        add("grid of 317", grid, CELLS, false, None)?;
        add("grid of 317", grid, CELLS, true, None)?;
        let consistent = |ellipsoid| Some(Reduced { ellipsoid, consistent: true });
        add("limit surface", reduced, 1, true, consistent(false))?;
        if law != Law::ElastoPlastic {
            continue;
        }
        add("ellipsoid", reduced, 1, true, consistent(true))?;
        add("limit surface, published", reduced, 1, true, Some(Reduced { ellipsoid: false, consistent: false }))?;
        // Not every adapter can have this, and the one it gets anyway is in the list already.
        let layout = Layout { lanes: grid.workgroup, storage: Storage::Workgroup };
        if let Some(shape) = layout.shape(CELLS, adapter).filter(|shape| *shape != grid) {
            add(&format!("grid of 317, {layout}"), shape, CELLS, false, None)?;
        }
        for cells in [25, 1024, 4096] {
            add(&format!("grid of {cells}"), KernelShape::of(cells, adapter), cells, false, None)?;
        }
        for (what, shape, cells, reduced) in
            [("grid of 317", grid, CELLS, None), ("ellipsoid", reduced, 1, consistent(true))]
        {
            let adaptive = Variant { law, adaptive: true, reduced, ..plain(shape) };
            let (moving, directed) = (Variant { moving: true, ..adaptive }, Variant { has_axes: true, ..adaptive });
            for (with, variant) in [("moving surface", moving), ("axes of friction", directed)] {
                all.push(stepping(format!("{}, {what}, adaptive, {with}", law.name()), &variant, cells as u32)?);
            }
        }
        let variant = Variant { law, adaptive: true, mapped: true, ..plain(grid) };
        let name = format!("{}, grid of {CELLS}, adaptive, friction map", law.name());
        all.push(stepping(name, &variant, CELLS as u32)?);
        let variant = Variant { law, adaptive: true, drives_parts: true, ..plain(grid) };
        let name = format!("{}, grid of {CELLS}, adaptive, inputs of patches", law.name());
        all.push(stepping(name, &variant, CELLS as u32)?);
        let name = format!("{}, grid of {CELLS}, adaptive, load moves among patches", law.name());
        all.push(stepping(name, &Variant { moves_loads: true, ..variant }, CELLS as u32)?);
    }
    for &law in PointLaw::ALL {
        let (elements, what) = if law.has_elements() { (ELEMENTS, ", 4 elements") } else { (0, "") };
        let variant = Variant { point: Some((law, elements)), ..plain(reduced) };
        all.push(stepping(format!("point, {}{what}", law.name()), &variant, 1)?);
    }
    let others = Program::all().into_iter().chain(bristle_rigid::gpu::programs());
    all.extend(others.map(|Program { name, text, entry, constants }| Kernel {
        name,
        text,
        entry,
        constants,
        steps: None,
    }));
    Ok(all)
}

/// A grid of Elasto-Plastic bristles in steps of one length.
fn plain(shape: KernelShape) -> Variant {
    Variant {
        shape,
        law: Law::ElastoPlastic,
        gaussian: true,
        adaptive: false,
        moving: false,
        mapped: false,
        has_axes: false,
        drives_parts: false,
        moves_loads: false,
        reduced: None,
        point: None,
    }
}

/// The kernel of a variant for contacts with so many cells.
///
/// # Errors
/// A shader whose text cannot be made.
pub fn stepping(name: String, variant: &Variant, cells: u32) -> Result<Kernel, String> {
    let text = variant.source().map_err(|e| format!("{name}: {e}"))?;
    let steps = Some(Steps { shape: variant.shape, cells });
    Ok(Kernel { name, text, entry: "rollout", constants: variant.constants(), steps })
}
