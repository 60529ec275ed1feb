//! What calls have changed of a contact since its start, so that a reset puts it back.

use std::mem::replace;
use std::sync::Arc;

use super::Input;
use super::snapshot::Drives;
use crate::contact::Contact;
use crate::patch::Patch;
use crate::schedule::Signal;

/// What a contact was at its start, where calls have changed it. Most contacts differ from it in one or two
/// inputs, so that a whole copy of each would take most of the memory of a batch of small contacts.
#[derive(Clone, Debug, Default)]
pub(super) struct Start {
    /// The signals of the inputs that were set; none of a coefficient of friction that was a constant.
    signals: Vec<(Input, Option<Signal>)>,
    /// The patch, if it was given another map.
    patch: Option<Arc<Patch>>,
    /// All signals, if all were replaced.
    all: Option<Box<Drives>>,
}

impl Start {
    /// Keeps the signal of an input that is going to be set. The contact holds its value at the time `now`
    /// [s] from here on.
    pub(super) fn keep(&mut self, contact: &mut Contact, input: Input, now: f64) {
        if self.all.is_some() || self.signals.iter().any(|(kept, _)| *kept == input) {
            return;
        }
        let is_none = match input {
            Input::MuC => contact.inputs.mu_c.is_none(),
            Input::MuS => contact.inputs.mu_s.is_none(),
            _ => false,
        };
        let hold = |signal: &mut Signal| {
            let value = signal.value(now);
            replace(signal, Signal::constant(value))
        };
        let signal = if is_none { None } else { input.signal(contact).map(hold) };
        // Few inputs are set, most often one.
        self.signals.reserve_exact(1);
        self.signals.push((input, signal));
    }

    /// Keeps the patch of a contact that is going to have another map.
    pub(super) fn keep_patch(&mut self, contact: &Contact) {
        self.patch.get_or_insert_with(|| Arc::clone(&contact.patch));
    }

    /// Keeps all signals of a contact, which are going to be replaced, and its patch, if it may have another
    /// map.
    pub(super) fn keep_all(&mut self, contact: &Contact) {
        if contact.patch.takes_frames() {
            self.keep_patch(contact);
        }
        if self.all.is_none() {
            let mut first = Drives::default();
            first.take_from(&self.first(contact));
            self.signals.clear();
            self.all = Some(Box::new(first.without_frame()));
        }
    }

    /// Makes a contact what it was at its start, and forgets that.
    pub(super) fn put_back(&mut self, contact: &mut Contact) {
        if let Some(all) = self.all.take() {
            all.give_to(contact);
        }
        for (input, kept) in self.signals.drain(..) {
            match (input, kept) {
                (Input::MuC, kept) => contact.inputs.mu_c = kept,
                (Input::MuS, kept) => contact.inputs.mu_s = kept,
                (_, kept) => {
                    if let (Some(signal), Some(kept)) = (input.signal(contact), kept) {
                        *signal = kept;
                    }
                }
            }
        }
        if let Some(patch) = self.patch.take() {
            contact.patch = patch;
        }
    }

    /// What a contact was at its start.
    pub(super) fn first(&self, contact: &Contact) -> Contact {
        let mut first = contact.clone();
        self.clone().put_back(&mut first);
        first
    }

    /// Takes a contact as it is for one at its start.
    pub(super) fn forget(&mut self) {
        self.signals.clear();
        (self.patch, self.all) = (None, None);
    }

    /// The patch at the start of a contact.
    pub(super) fn patch<'a>(&'a self, contact: &'a Contact) -> &'a Patch {
        self.patch.as_ref().unwrap_or(&contact.patch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact::Model;
    use crate::fixtures::{disc, held};

    /// A contact with a signal for the normal force, none for the coefficients of friction.
    fn contact() -> Contact {
        let mut contact = held(Model::Distributed, &disc(5), 1.0);
        contact.inputs.normal_force = Signal::linear(&[(0.0, 1.0), (2.0, 3.0)]).unwrap();
        contact.patch = Arc::new(Patch::clone(&contact.patch).with_frames());
        contact
    }

    fn shown(contact: &Contact) -> String {
        format!("{contact:?}")
    }

    #[test]
    fn what_was_kept_comes_back_whatever_was_set_since_and_in_whatever_order() {
        let first = contact();
        let set = |start: &mut Start, contact: &mut Contact| {
            for (input, value) in [(Input::NormalForce, 7.0), (Input::MuC, 0.3), (Input::NormalForce, 8.0)] {
                start.keep(contact, input, 0.5);
                *input.signal(contact).unwrap() = value.into();
            }
        };
        let frame = |start: &mut Start, contact: &mut Contact| {
            start.keep_patch(contact);
            Arc::make_mut(&mut contact.patch).set_pressure(&[2.0; 25]).unwrap();
        };
        let all = |start: &mut Start, contact: &mut Contact| {
            start.keep_all(contact);
            contact.inputs = crate::contact::Inputs { remap_every: Some(0.1), ..Default::default() };
        };
        type Change<'a> = &'a dyn Fn(&mut Start, &mut Contact);
        let changes: [Change<'_>; 3] = [&set, &frame, &all];
        for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0], [0, 2, 1]] {
            let (mut start, mut contact) = (Start::default(), first.clone());
            for k in order {
                changes[k](&mut start, &mut contact);
                assert_ne!(shown(&contact), shown(&first));
                assert_eq!(start.patch(&contact), &*first.patch, "after {k} of {order:?}");
            }
            start.put_back(&mut contact);
            assert_eq!(shown(&contact), shown(&first), "after {order:?}");
            // Nothing is left of it.
            set(&mut start, &mut contact);
            start.put_back(&mut contact);
            assert_eq!(shown(&contact), shown(&first), "after {order:?}");
        }
    }

    #[test]
    fn a_signal_that_is_kept_leaves_its_present_value() {
        let (mut start, mut contact) = (Start::default(), contact());
        start.keep(&mut contact, Input::NormalForce, 0.5);
        assert_eq!(contact.inputs.normal_force, Signal::constant(1.5));
        start.keep(&mut contact, Input::MuC, 0.5);
        assert_eq!(contact.inputs.mu_c.as_ref().map(|signal| signal.value(0.5)), None);
    }
}
