//! Cones and contact problems on the device of a GPU engine.

mod cone;
mod contact_lcp;

use std::sync::{Arc, Mutex};

use bristle::error::EngineError;
use bristle::gpu::kernel::Kernel;
use bristle::gpu::{Gpu, Program};

/// A GPU for cones, contact problems and worlds. A clone is the same device.
#[derive(Clone, Debug)]
pub struct RigidGpu(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    gpu: Gpu,
    /// Margins and projections.
    cones: [Once; 2],
    blocks: Once,
}

/// A kernel that is compiled when it is first asked for.
#[derive(Debug, Default)]
struct Once(Mutex<Option<Arc<Kernel>>>);

impl Once {
    fn get(&self, make: impl FnOnce() -> Result<Kernel, EngineError>) -> Result<Arc<Kernel>, EngineError> {
        let mut kernel = self.0.lock().expect("no panic while compiling");
        if let Some(kernel) = &*kernel {
            return Ok(Arc::clone(kernel));
        }
        Ok(Arc::clone(kernel.insert(Arc::new(make()?))))
    }
}

impl RigidGpu {
    /// The device of an engine.
    pub fn new(gpu: &Gpu) -> Self {
        Self(Arc::new(Inner { gpu: gpu.clone(), cones: Default::default(), blocks: Once::default() }))
    }

    /// The engine whose device it is.
    pub fn gpu(&self) -> &Gpu {
        &self.0.gpu
    }
}

/// All shaders of this crate, for who wants to know what a compiler makes of them: margins of cones and
/// projections onto them, and contact problems.
pub fn programs() -> Vec<Program> {
    let cone = |(what, projects)| Program {
        name: format!("{what} of friction cones"),
        text: cone::cone_source(),
        entry: "answer",
        constants: vec![("projects", projects)],
    };
    let mut all = [("margins", 0.0), ("projections", 1.0)].map(cone).to_vec();
    all.push(Program {
        name: "contact problems".to_owned(),
        text: contact_lcp::blocks_source(),
        entry: "run",
        constants: Vec::new(),
    });
    all
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::cone::{ConeBatch, cone_source};
    use super::contact_lcp::{Blocks, blocks_source};

    /// Size, and the fields with their offsets.
    type Layout<'a> = (usize, Vec<(&'a str, usize)>);

    /// The struct `name` of a shader that is valid.
    fn reflected(module: &naga::Module, name: &str) -> (usize, Vec<(String, usize)>) {
        let (_, ty) = module.types.iter().find(|(_, ty)| ty.name.as_deref() == Some(name)).expect(name);
        let naga::TypeInner::Struct { members, span } = &ty.inner else { panic!("{name} is no struct") };
        let member = |m: &naga::StructMember| (m.name.clone().unwrap_or_default(), m.offset as usize);
        (*span as usize, members.iter().map(member).collect())
    }

    #[test]
    fn shaders_are_valid_and_their_structs_have_the_layouts_of_ours() {
        macro_rules! layout {
            ($name:ident: $($field:ident),+) => {
                (size_of::<$name>(), vec![$((stringify!($field), offset_of!($name, $field))),+])
            };
        }
        let cones: Layout<'_> = layout!(ConeBatch: share, half, sides, count, coefficients, zero);
        let blocks: Layout<'_> = layout!(Blocks: problems, room, directions, turns, most_rounds, zero);
        for (text, name, (size, fields)) in [(cone_source(), "ConeBatch", cones), (blocks_source(), "Blocks", blocks)] {
            let module = naga::front::wgsl::parse_str(&text).unwrap();
            let flags = naga::valid::ValidationFlags::all();
            naga::valid::Validator::new(flags, naga::valid::Capabilities::default()).validate(&module).unwrap();
            let fields = fields.into_iter().map(|(field, offset)| (field.to_owned(), offset)).collect();
            assert_eq!(reflected(&module, name), (size, fields), "{name}");
        }
    }
}
