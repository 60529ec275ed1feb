//! Contacts to start from, for unit tests.

use std::sync::Arc;

use crate::body::{Body, Frame, FreeBody};
use crate::contact::{Contact, Form, Initial, Inputs, Model};
use crate::friction::Friction;
use crate::patch::{Grid, Patch, Shape};
use crate::point::PointModel;
use crate::schedule::Signal;

/// A disc on `n` x `n` cells, 2 cm wide.
pub fn disc(n: usize) -> Arc<Patch> {
    Arc::new(Patch::shape(Grid::new(n, n, 0.02, 0.02).unwrap(), Shape::Disc).unwrap())
}

/// An object of 200 g between two pads, its centre of mass beside them: a grip of 4 N holds it, one of 0.9 N
/// lets it slide and turn.
pub fn held(model: impl Into<Model>, patch: &Arc<Patch>, grip: f64) -> Contact {
    let gravity = [Signal::constant(0.0), Signal::constant(-9.81)];
    Contact {
        patch: Arc::clone(patch),
        model: model.into(),
        friction: Friction::default(),
        body: FreeBody { gravity, ..FreeBody::new(Frame::Gripper, 0.2, 4.8e-4) }.into(),
        inputs: Inputs { normal_force: Signal::constant(grip), ..Inputs::default() },
        initial: Initial { pose: [0.01, -0.005, 0.0].into(), ..Initial::default() },
    }
}

/// The same patch, moved with a twist.
pub fn moved(patch: &Arc<Patch>, twist: [f64; 3]) -> Contact {
    Contact { body: Body::prescribed(twist.into()), ..held(Model::Distributed, patch, 1.0) }
}

/// Contacts by what may share the lanes of a solver, each in another grip.
pub fn families() -> [(&'static str, Vec<Contact>); 4] {
    let of = |model: Model, cells| [0.9, 4.0, 1.3].map(|grip| held(model.clone(), &disc(cells), grip)).to_vec();
    [
        ("small grids", of(Model::Distributed, 5)),
        ("large grids", of(Model::Distributed, 11)),
        ("reduced bristles", of(Model::Ellipsoid(Form::Consistent), 11)),
        ("point contacts", of(PointModel::default().into(), 5)),
    ]
}
