//! The structs that Rust and WGSL share. Each is declared once here and once in a shader
//! (`shaders/rollout.wgsl`, `shaders/models/cells.wgsl` or `shaders/limit_surface.wgsl`); a test compares
//! every offset with naga's reflection.

use bytemuck::{Pod, Zeroable};

use crate::schedule::slot;

/// Declares a `Pod` struct and remembers its fields' offsets for the test.
macro_rules! shared {
    ($(#[$doc:meta])* struct $name:ident { $($field:ident: $type:ty),+ $(,)? }) => {
        $(#[$doc])*
        #[repr(C)]
        #[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
        pub struct $name { $(pub $field: $type),+ }

        impl $name {
            /// Name, size and fields with their offsets.
            #[cfg(test)]
            pub const LAYOUT: Layout = Layout {
                name: stringify!($name),
                size: size_of::<$name>(),
                fields: &[$((stringify!($field), std::mem::offset_of!($name, $field))),+],
            };
        }
    };
}

/// What the test compares.
#[cfg(test)]
pub struct Layout {
    pub name: &'static str,
    pub size: usize,
    pub fields: &'static [(&'static str, usize)],
}

shared! {
    struct MapCell { x: f32, y: f32, w: f32, f: f32 }
}

shared! {
    struct Cell { x: f32, y: f32, w: f32 }
}

shared! {
    struct Contact {
        sigma0: f32, sigma1: f32, sigma2: f32, gamma: f32, v_s: f32, s_ba: f32, k_g: f32, most_friction: f32, kind: u32,
        mass: f32, inertia: f32, pads: f32, offset_x: f32, offset_y: f32, dx: f32, dy: f32,
        hertz_radius: f32, hertz_k: f32, hertz_k_per_newton: f32, hertz_most: f32, h_max: f32, tolerance: f32,
        n_ls: u32,
        spring: f32, band: f32, slider_mass: f32, attraction: f32,
        stop_displacement: f32, stop_rotation: f32, stop_slip_for: f32,
        start_x: f32, start_y: f32, start_theta: f32, arm_x: f32, arm_y: f32,
        cell_count: u32, zeta_first: u32,
        axes_xx: f32, axes_xy: f32, axes_yy: f32, across: f32,
    }
}

shared! {
    struct Window {
        interval_first: u32, begin: u32, end: u32, record_first: u32, sample_from: u32, most_steps: u32,
    }
}

shared! {
    struct Interval {
        length: f32, flags: u32, map_f_n: f32, map_radius: f32, map_arm2: f32, map_cop_x: f32, map_cop_y: f32,
        map_deflection: f32, map_rotation: f32,
        map_first: u32, term_first: u32, term_count: u32, c: [f32; 3 * slot::SURFACE],
    }
}

shared! {
    struct Term { slot: u32, amplitude: f32, omega: f32, phase: f32 }
}

shared! {
    struct State {
        u: [f32; 3], u_low: [f32; 3], q: [f32; 3], q_low: [f32; 3], patch_twist: [f32; 3],
        rate: [f32; 3], left: f32, h_next: f32, interval: u32, at_least: u32, recorded: u32, status: u32,
        failed_step: u32, unconverged: u32, steps: u32, passes: u32, is_pending: u32, pending: [f32; 4],
        slides_for: f32, turn: f32, turn_low: f32,
    }
}

shared! {
    struct Record {
        q: [f32; 3], q_low: [f32; 3], twist: [f32; 3], wrench: [f32; 3], f_n: f32, slip: f32,
        near_limit: f32,
    }
}

shared! {
    struct PatchConstants {
        lever: f32, span: f32, hx: f32, hy: f32, cop_x: f32, cop_y: f32, nx: f32, ny: f32,
        spin: [f32; 20], along_x: [f32; 20], along_y: [f32; 20],
    }
}

shared! {
    struct Slice { patch_index: u32, first: u32, count: u32 }
}

shared! {
    struct Motion { v: [f32; 3] }
}

shared! {
    struct Load { f: [f32; 3] }
}

shared! {
    struct Batch { motions: u32, slices: u32, zero: u32 }
}

shared! {
    struct Run { contacts: u32, max_passes: u32, zero: u32 }
}

/// Bits of [`Interval::flags`].
pub mod flag {
    /// An input may jump at the start.
    pub const JUMP: u32 = 1;
    /// A sample is recorded at the end.
    pub const RECORD: u32 = 2;
    /// The pressure map is made anew at the start.
    pub const REMAP: u32 = 4;
    /// It is entered at its end: no time passes.
    pub const AT_END: u32 = 8;
    /// The map is that of an elastic layer.
    pub const LAYER: u32 = 16;
}

/// Values of [`Contact::kind`].
pub mod kind {
    use crate::body::{Body, Frame, FreeBody};

    /// The twist is given.
    pub const PRESCRIBED: u32 = 0;
    /// The patch is fixed in the gripper.
    pub const GRIPPER: u32 = 1;
    /// The patch turns with the body.
    pub const BODY: u32 = 2;
    /// The patch keeps the axes of the world.
    pub const WORLD: u32 = 3;

    /// The number of a body's kind in the shader.
    pub const fn of(body: &Body) -> u32 {
        match body {
            Body::Prescribed { .. } => PRESCRIBED,
            Body::Free(FreeBody { frame: Frame::Gripper, .. }) => GRIPPER,
            Body::Free(FreeBody { frame: Frame::Body { .. }, .. }) => BODY,
            Body::Free(FreeBody { frame: Frame::World, .. }) => WORLD,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::friction::Law;
    use crate::gpu::shader::{point_source, source, surface_source};
    use crate::gpu::shape::{KernelShape, Storage, Sums};
    use crate::point::PointLaw;

    #[test]
    fn every_shared_struct_has_the_layout_that_naga_reflects() {
        let rollout = [
            MapCell::LAYOUT,
            Contact::LAYOUT,
            Window::LAYOUT,
            Interval::LAYOUT,
            Term::LAYOUT,
            State::LAYOUT,
            Record::LAYOUT,
            Run::LAYOUT,
        ];
        compare(&source(shape(64, 4, Storage::Private, Sums::Memory), Law::LuGre, false).unwrap(), &rollout);
        let surface =
            [Cell::LAYOUT, PatchConstants::LAYOUT, Slice::LAYOUT, Motion::LAYOUT, Load::LAYOUT, Batch::LAYOUT];
        compare(&surface_source(), &surface);
    }

    fn shape(workgroup: u32, turns: u32, storage: Storage, sums: Sums) -> KernelShape {
        let lanes = if sums == Sums::Part { workgroup / 4 } else { workgroup };
        KernelShape { workgroup, lanes, turns, storage, sums }
    }

    fn compare(source: &str, layouts: &[Layout]) {
        let module = naga::front::wgsl::parse_str(source).unwrap();
        for layout in layouts {
            let (_, ty) = module.types.iter().find(|(_, t)| t.name.as_deref() == Some(layout.name)).expect(layout.name);
            let naga::TypeInner::Struct { members, span } = &ty.inner else { panic!("{} is no struct", layout.name) };
            assert_eq!(*span as usize, layout.size, "size of {}", layout.name);
            let reflected: Vec<(&str, usize)> =
                members.iter().map(|m| (m.name.as_deref().unwrap_or(""), m.offset as usize)).collect();
            assert_eq!(reflected, layout.fields, "fields of {}", layout.name);
        }
    }

    #[test]
    fn the_shaders_validate() {
        let mut texts = vec![surface_source()];
        let lanes = KernelShape { lanes: 1, ..shape(32, 0, Storage::Workgroup, Sums::Memory) };
        for &law in Law::ALL {
            let text = |shape| source(shape, law, false).unwrap();
            let of_parts = |shape| source(shape, law, true).unwrap();
            let sums =
                [(4, 32, Sums::Memory), (8, 32, Sums::Part), (32, 8, Sums::Subgroups(1)), (8, 256, Sums::Subgroups(8))];
            for (turns, workgroup, sums) in sums {
                let storages = [Storage::Private, Storage::Workgroup];
                texts.extend(storages.map(|storage| text(shape(workgroup, turns, storage, sums))));
                texts.extend(storages.map(|storage| of_parts(shape(workgroup, turns, storage, sums))));
            }
            texts.push(text(lanes));
        }
        texts.extend(PointLaw::ALL.iter().map(|&law| point_source(lanes, law, 3)));
        for text in texts {
            let module = naga::front::wgsl::parse_str(&text).unwrap();
            let capabilities = naga::valid::Capabilities::default() | naga::valid::Capabilities::SUBGROUP;
            naga::valid::Validator::new(naga::valid::ValidationFlags::all(), capabilities).validate(&module).unwrap();
        }
    }
}
