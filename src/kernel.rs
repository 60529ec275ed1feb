//! What both engines run, in the shape that both read: the cell ([`friction`]), the sweep over a grid
//! ([`distributed`]), the one bristle of the reduced model ([`reduced`]) and the step ([`step`]). These have
//! their twins of the same stem in `shaders/`, with the same names in the same order. The rest is how the CPU
//! does it fast; [`abreast`] is the step once more, with a contact in every lane.

pub mod abreast;
pub mod apart;
pub mod bristles;
pub mod distributed;
pub mod friction;
pub mod grid;
pub mod ramp;
pub mod reduced;
pub mod rest;
pub mod step;
pub mod three;
