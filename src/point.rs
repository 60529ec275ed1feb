//! Point contacts: Coulomb friction and its relatives in fixed steps, on a body that does not turn
//! (`docs/model.md`, section 13).
//!
//! The equations of both engines are in `src/solver/point/laws` and `shaders/point`; this file has the
//! parameters that a user sets. A law is a file in each of the two folders and a line in the registry
//! (`point_laws!`). The registry makes [`PointLaw`], the dispatch and the text of the shader; nothing else
//! depends on the list of laws.

use crate::error::ParameterError;
use crate::parameter::{ATTRACTION, BAND, ELEMENTS, SLIDER_MASS, about};
use crate::range::Range;

/// The registry of the laws of a point contact, a line each: variant and type; key in files; the file of that
/// stem in `src/solver/point/laws` and in `shaders/point`; whether it has a band of velocities; whether it
/// has elements, each with a state; whether these have a slider with a mass, and an attraction; a sentence
/// for the documentation.
macro_rules! point_laws {
    ($then:ident) => {
        $then! {
            Implicit, "implicit", implicit, band: false, elements: false, mass: false, attraction: false,
                "Kikuuwe et al. (2005), (16) and (17): the velocity comes to rest exactly. The default.";
            Approximate, "approximate", approximate, band: false, elements: false, mass: false, attraction: false,
                "The same with their approximation (18) in place of a root; adds energy if sigma2 f_N T/M > 1.";
            Karnopp, "karnopp", karnopp, band: true, elements: false, mass: false, attraction: false,
                "Karnopp (1985): within a band of velocities friction balances the load, and the body drifts on.";
            ViscousBand, "viscous-band", viscous_band, band: true, elements: false, mass: false, attraction: false,
                "Friction in proportion to the velocity within a band: holds no load.";
            Quinn, "quinn", quinn, band: true, elements: false, mass: false, attraction: false,
                "Quinn (2004): a band that is shifted by the load; as `implicit` if it is T f_N mu_c/M wide.";
            ViscoelastoPlastic, "viscoelasto-plastic", viscoelasto_plastic,
                band: false, elements: true, mass: true, attraction: false,
                "Kikuuwe et al. (2005), (29): a spring and a damper on a slider; several are Maxwell slip.";
            GeneralizedMaxwellSlip, "gms", gms, band: false, elements: true, mass: false, attraction: true,
                "Lampaert et al. (2003): elements that stick or slide, with a lag of friction behind the velocity.";
            Dahl, "dahl", dahl, band: false, elements: true, mass: false, attraction: false,
                "Dahl (1968): the exponential of the way, exact for a constant velocity over the step.";
        }
    };
}
pub(crate) use point_laws;

macro_rules! law_enum {
    ($($law:ident, $key:literal, $file:ident, band: $band:literal, elements: $elements:literal, mass: $mass:literal,
        attraction: $attraction:literal, $doc:literal;)+) => {
        /// Which law a point contact follows.
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize
        )]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum PointLaw {
            $(#[doc = $doc] #[serde(rename = $key)] $law,)+
        }

        impl PointLaw {
            /// All laws.
            pub const ALL: &[Self] = &[$(Self::$law,)+];

            /// The name in files.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$law => $key,)+ }
            }

            /// Whether it has a [`PointModel::band`].
            #[must_use]
            pub const fn has_band(self) -> bool {
                match self { $(Self::$law => $band,)+ }
            }

            /// Whether it has elements, each with a state.
            pub const fn has_elements(self) -> bool {
                match self { $(Self::$law => $elements,)+ }
            }

            /// Whether it has a [`PointModel::slider_mass`].
            pub const fn has_slider_mass(self) -> bool {
                match self { $(Self::$law => $mass,)+ }
            }

            /// Whether it has an [`PointModel::attraction`].
            pub const fn has_attraction(self) -> bool {
                match self { $(Self::$law => $attraction,)+ }
            }
        }
    };
}
point_laws!(law_enum);

impl Default for PointLaw {
    fn default() -> Self {
        Self::Implicit
    }
}

/// One of the elements that carry the friction side by side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PointElement {
    /// Share of the friction force at which it slides [-], > 0; those of all elements sum to one.
    pub share: f64,
    /// Share of the stiffness `sigma0` and of the damping `sigma1` [-], > 0; those of all elements sum to
    /// one.
    pub stiffness: f64,
}

impl Default for PointElement {
    /// All of it.
    fn default() -> Self {
        Self { share: 1.0, stiffness: 1.0 }
    }
}

/// Sums of shares may differ from one by as much.
const SUM_SLACK: f64 = 1e-9;

/// Largest number of elements of a point contact.
pub const MOST_ELEMENTS: usize = 32;

/// Pairs of numbers in which an element is saved: its shares, which a contact that takes over a state does
/// not; its deflection, the low part of that, and its memory. Before the elements of a contact comes the
/// friction of its last step.
pub(crate) const PAIRS_PER_ELEMENT: usize = 4;

/// The model of a point contact. Friction in sliding is that of [`Friction`](crate::Friction): the normal
/// force of all pads times `mu_c + (mu_s - mu_c) exp(-(s/v_s)^gamma) + sigma2 s` at speed `s`; elements have
/// the stiffness `sigma0` and the damping `sigma1`, both times the normal force. Fields that the law does not
/// have are without effect.
///
/// ```
/// use bristle::point::{PointElement, PointLaw, PointModel};
/// let maxwell_slip = PointModel {
///     law: PointLaw::ViscoelastoPlastic,
///     elements: vec![PointElement { share: 0.3, stiffness: 0.5 }, PointElement { share: 0.7, stiffness: 0.5 }],
///     ..PointModel::default()
/// };
/// maxwell_slip.validate()?;
/// assert!(PointModel { law: PointLaw::Quinn, band: 0.0, ..PointModel::default() }.validate().is_err());
/// # Ok::<(), bristle::ParameterError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[allow(rustdoc::broken_intra_doc_links, reason = "units in brackets: the texts are those of the schema")]
pub struct PointModel {
    /// The law.
    pub law: PointLaw,
    #[doc = about!(BAND)]
    pub band: f64,
    #[doc = about!(SLIDER_MASS)]
    pub slider_mass: f64,
    #[doc = about!(ATTRACTION)]
    pub attraction: f64,
    /// The elements, 1 to [`MOST_ELEMENTS`]: `viscoelasto-plastic` and `gms`; Dahl has one with all of the
    /// stiffness.
    pub elements: Vec<PointElement>,
}

impl Default for PointModel {
    /// The implicit model, and one element.
    fn default() -> Self {
        Self {
            law: PointLaw::default(),
            band: BAND.default,
            slider_mass: SLIDER_MASS.default,
            attraction: ATTRACTION.default,
            elements: vec![PointElement::default()],
        }
    }
}

impl From<PointLaw> for PointModel {
    /// With the other fields of the default.
    fn from(law: PointLaw) -> Self {
        Self { law, ..Self::default() }
    }
}

impl PointModel {
    /// The elements that have a state; none under a law without.
    pub fn elements(&self) -> &[PointElement] {
        if self.law.has_elements() { &self.elements } else { &[] }
    }

    /// Speed up to which a body without elements rests [m/s]: 0 under a law without a band.
    pub(crate) fn band_of_law(&self) -> f64 {
        if self.law.has_band() { self.band } else { 0.0 }
    }

    /// Friction [-], `psi` over the normal force, that elements hold in steady sliding at the curve's value
    /// `psi`, under the Coulomb coefficient `mu_c`.
    pub(crate) fn steady(&self, psi: f64, mu_c: f64) -> f64 {
        if self.law == PointLaw::Dahl { mu_c } else { psi }
    }

    /// Checks every field that the law has against the range in its documentation.
    ///
    /// # Errors
    /// The first field out of range.
    pub fn validate(&self) -> Result<(), ParameterError> {
        let law = self.law;
        if law.has_band() {
            BAND.check(self.band)?;
        }
        if law.has_slider_mass() {
            SLIDER_MASS.check(self.slider_mass)?;
        }
        if law.has_attraction() {
            ATTRACTION.check(self.attraction)?;
        }
        let count = self.elements().len();
        let most = if law.has_slider_mass() || law.has_attraction() { MOST_ELEMENTS } else { 1 };
        if law.has_elements() && !(1..=most).contains(&count) {
            return Err(ParameterError::new(ELEMENTS.name, count, format!("1 to {most} elements")));
        }
        // One element alone may have a share above 1 by rounding.
        let share = Range { most: ELEMENTS.range.most + SUM_SLACK, ..ELEMENTS.range };
        let mut sums = [0.0; 2];
        for (i, element) in self.elements().iter().enumerate() {
            for (k, (name, value)) in
                [("share", element.share), ("stiffness", element.stiffness)].into_iter().enumerate()
            {
                if !share.contains(value) {
                    ELEMENTS.range.check(&format!("{}.{i}.{name}", ELEMENTS.name), value)?;
                }
                sums[k] += value;
            }
        }
        let wrong = |sum: &f64| law.has_elements() && (sum - 1.0).abs() > SUM_SLACK;
        sums.iter().position(wrong).map_or(Ok(()), |k| {
            let value = format!("shares of the {} that sum to {}", ["friction", "stiffness"][k], sums[k]);
            let accepted = "shares of the friction that sum to 1, and shares of the stiffness that sum to 1";
            Err(ParameterError::new(ELEMENTS.name, value, accepted))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_checked_where_the_law_has_them() {
        let broken = PointModel { band: -1.0, slider_mass: -1.0, attraction: f64::NAN, ..PointModel::default() };
        let field = |law: PointLaw| {
            let model = PointModel { law, elements: vec![], ..broken.clone() };
            model.validate().err().map(|e| e.field)
        };
        assert_eq!(field(PointLaw::Implicit), None);
        for law in [PointLaw::Karnopp, PointLaw::ViscousBand, PointLaw::Quinn] {
            assert_eq!(field(law).unwrap(), "contact.point.band");
        }
        assert_eq!(field(PointLaw::ViscoelastoPlastic).unwrap(), "contact.point.slider_mass");
        assert_eq!(field(PointLaw::GeneralizedMaxwellSlip).unwrap(), "contact.point.attraction");
        assert_eq!(field(PointLaw::Dahl).unwrap(), "contact.point.elements");
        for (n, ok) in [(0, false), (1, true), (MOST_ELEMENTS, true), (MOST_ELEMENTS + 1, false)] {
            let each = 1.0 / n.max(1) as f64;
            let elements = vec![PointElement { share: each, stiffness: each }; n];
            let model = PointModel { elements, ..PointLaw::ViscoelastoPlastic.into() };
            assert_eq!(model.validate().is_ok(), ok, "{n}");
        }
        let elements = vec![PointElement { share: 0.0, stiffness: 1.0 }];
        let model = PointModel { elements, ..PointLaw::Dahl.into() };
        assert_eq!(model.validate().unwrap_err().field, "contact.point.elements.0.share");
        for (shares, wrong) in [
            (vec![[1.0, 1.0]], None),
            (vec![[0.1, 0.5], [0.2, 0.25], [0.7, 0.25]], None),
            (vec![[0.3, 0.5], [0.3, 0.5]], Some("shares of the friction that sum to 0.6")),
            (vec![[0.5, 0.5], [0.5, 0.7]], Some("shares of the stiffness that sum to 1.2")),
            (vec![[5.0, 1.0]], Some("5")),
            (vec![[1.0, f64::NAN]], Some("NaN")),
        ] {
            let elements = shares.iter().map(|&[share, stiffness]| PointElement { share, stiffness }).collect();
            let model = PointModel { elements, ..PointLaw::ViscoelastoPlastic.into() };
            let found = model.validate().err().map(|e| e.value);
            assert_eq!(found.as_deref(), wrong, "{shares:?}");
        }
        PointLaw::ALL.iter().for_each(|law| PointModel::from(*law).validate().unwrap());
    }
}
