//! Units of columns.

use std::f64::consts::{PI, TAU};

/// What a quantity is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// In s.
    Time,
    /// In m.
    Length,
    /// In rad.
    Angle,
    /// In N.
    Force,
    /// In N m.
    Torque,
    /// In m/s.
    Speed,
    /// In rad/s.
    AngularSpeed,
}

const KINDS: [Kind; 7] =
    [Kind::Time, Kind::Length, Kind::Angle, Kind::Force, Kind::Torque, Kind::Speed, Kind::AngularSpeed];

const INCH: f64 = 0.0254;
const POUND_FORCE: f64 = 4.448_221_615_260_5;
const KILOGRAM_FORCE: f64 = 9.806_65;

impl Kind {
    /// The units and their size in the SI unit, which comes first.
    const fn units(self) -> &'static [(&'static str, f64)] {
        match self {
            Self::Time => &[("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9), ("min", 60.0), ("h", 3600.0)],
            Self::Length => &[("m", 1.0), ("mm", 1e-3), ("um", 1e-6), ("nm", 1e-9), ("cm", 1e-2), ("in", INCH)],
            Self::Angle => &[("rad", 1.0), ("mrad", 1e-3), ("deg", PI / 180.0), ("rev", TAU)],
            Self::Force => &[
                ("N", 1.0),
                ("mN", 1e-3),
                ("uN", 1e-6),
                ("kN", 1e3),
                ("lbf", POUND_FORCE),
                ("kgf", KILOGRAM_FORCE),
                ("gf", 1e-3 * KILOGRAM_FORCE),
            ],
            Self::Torque => &[
                ("N m", 1.0),
                ("N mm", 1e-3),
                ("N cm", 1e-2),
                ("mN m", 1e-3),
                ("uN m", 1e-6),
                ("mN mm", 1e-6),
                ("kN m", 1e3),
                ("lbf in", POUND_FORCE * INCH),
                ("lbf ft", POUND_FORCE * 12.0 * INCH),
                ("kgf cm", 1e-2 * KILOGRAM_FORCE),
            ],
            Self::Speed => {
                &[("m/s", 1.0), ("mm/s", 1e-3), ("um/s", 1e-6), ("cm/s", 1e-2), ("in/s", INCH), ("m/min", 1.0 / 60.0)]
            }
            Self::AngularSpeed => {
                &[("rad/s", 1.0), ("mrad/s", 1e-3), ("deg/s", PI / 180.0), ("rpm", TAU / 60.0), ("rev/s", TAU)]
            }
        }
    }

    /// The SI unit.
    pub const fn si(self) -> &'static str {
        self.units()[0].0
    }

    /// With its article, for messages.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Time => "a time",
            Self::Length => "a length",
            Self::Angle => "an angle",
            Self::Force => "a force",
            Self::Torque => "a torque",
            Self::Speed => "a speed",
            Self::AngularSpeed => "an angular speed",
        }
    }

    /// Its units, for messages.
    pub(super) fn accepted(self) -> String {
        let names: Vec<&str> = self.units().iter().map(|(name, _)| *name).collect();
        format!("{}: {}", self.name(), names.join(", "))
    }

    /// Size of a unit of this kind in SI units.
    pub(super) fn size(self, unit: &str) -> Option<f64> {
        let unit = plain(unit);
        self.units().iter().find(|(name, _)| plain(name) == unit).map(|(_, size)| *size)
    }
}

/// What a unit measures, and its size.
pub(super) fn known(unit: &str) -> Option<(Kind, f64)> {
    KINDS.into_iter().find_map(|kind| Some((kind, kind.size(unit)?)))
}

/// The unit that the name of a column gives: in brackets at its end, or, of the right kind, behind its last
/// `_`. A time `[s]`, a force `(uN)`, `position_mm`.
pub(super) fn in_name(name: &str, kind: Kind) -> Option<&str> {
    if let Some(inner) = in_brackets(name) {
        return known(inner).is_some().then_some(inner);
    }
    let (_, last) = name.trim_end().rsplit_once('_')?;
    kind.size(last).is_some().then_some(last)
}

/// What stands in brackets at the end of the name of a column.
fn in_brackets(name: &str) -> Option<&str> {
    let inner = |[open, close]: [char; 2]| {
        let start = name.trim_end().strip_suffix(close)?;
        Some(&start[start.rfind(open)? + 1..])
    };
    inner(['[', ']']).or_else(|| inner(['(', ')']))
}

/// What the name of a column has in brackets, if it may be meant as a unit and is none that is known: a short
/// word without digits.
pub(super) fn unknown_in_name(name: &str) -> Option<&str> {
    let may_be = |inner: &&str| {
        let inner = inner.trim();
        (1..=6).contains(&inner.chars().count())
            && !inner.contains(|c: char| c.is_whitespace() || c.is_ascii_digit())
            && known(inner).is_none()
    };
    in_brackets(name).filter(may_be)
}

/// A unit without what is written in several ways.
fn plain(unit: &str) -> String {
    let unit: String = unit.chars().filter(|c| !c.is_whitespace() && !matches!(c, '.' | '·' | '*' | '⋅')).collect();
    let unit = unit.replace(['µ', 'μ'], "u").replace('°', "deg");
    match &*unit {
        "sec" => "s".to_owned(),
        _ => unit,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_have_their_defined_sizes() {
        for (unit, kind, size) in [
            ("µN", Kind::Force, 1e-6),
            ("lbf", Kind::Force, 0.453_592_37 * 9.806_65),
            ("in", Kind::Length, 0.0254),
            ("Nm", Kind::Torque, 1.0),
            ("N·mm", Kind::Torque, 1e-3),
            ("mNm", Kind::Torque, 1e-3),
            ("lbf in", Kind::Torque, 0.112_984_829),
            ("°", Kind::Angle, PI / 180.0),
            ("deg/s", Kind::AngularSpeed, PI / 180.0),
            ("rpm", Kind::AngularSpeed, 0.104_719_755),
            ("mm/s", Kind::Speed, 1e-3),
        ] {
            let (found, of) = known(unit).unwrap();
            approx::assert_relative_eq!(of, size, max_relative = 1e-8);
            assert_eq!(found, kind, "{unit}");
        }
        // Letters mean what they say: milli and mega, metre and newton.
        assert_eq!((known("MN"), known("nM"), known("")), (None, None, None));
    }

    /// No unit may belong to two kinds, or a wrong one could not be told.
    #[test]
    fn every_unit_is_of_one_kind() {
        for kind in KINDS {
            for (name, size) in kind.units() {
                let all: Vec<Kind> = KINDS.into_iter().filter(|k| k.size(name).is_some()).collect();
                assert_eq!(all, [kind], "{name}");
                assert_eq!(kind.size(name), Some(*size), "{name} is there twice");
            }
        }
    }

    #[test]
    fn names_give_units() {
        for (name, kind, unit) in [
            ("Time [s]", Kind::Time, Some("s")),
            ("normal force (uN)", Kind::Force, Some("uN")),
            ("position_mm", Kind::Length, Some("mm")),
            // Of another kind, too: that is a contradiction, which the reader refuses.
            ("Friction [mm]", Kind::Force, Some("mm")),
            // No units.
            ("force_in", Kind::Force, None),
            ("Force [sensor 2]", Kind::Force, None),
            ("F", Kind::Force, None),
            ("a]", Kind::Force, None),
        ] {
            assert_eq!(in_name(name, kind), unit, "{name}");
        }
        for (name, unknown) in [
            ("F (lb)", Some("lb")),
            ("F [MN]", Some("MN")),
            ("load (counts)", Some("counts")),
            ("slip (%)", Some("%")),
            ("F (lbf)", None),
            ("F [mm]", None),
            ("Force [sensor 2]", None),
            ("Force (left hand)", None),
            ("F ()", None),
            ("F", None),
        ] {
            assert_eq!(unknown_in_name(name), unknown, "{name}");
        }
    }
}
