//! Stability files: bodies, what acts on them and their contacts, in TOML. `docs/stability.md` is the
//! language.
#![allow(rustdoc::broken_intra_doc_links, reason = "units in brackets: the texts are those of the schema")]

use std::path::Path;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};

use super::ScenarioError;
use super::diagnostics::Document;
use bristle::error::ParameterError;
use bristle::range;
use bristle_rigid::cone::{Cone, ContactFrame, Fit, Polygon, Section};
use bristle_rigid::stability::{Assembly, PointContact, RigidBody, SpatialWrench};

/// A stability file: bodies, and the contacts that hold them. SI units; wrenches act on the body.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StabilitySpec {
    /// The shape of all friction cones; `"circle"` if not given.
    #[serde(default)]
    pub cone: ConeSpec,
    /// Coefficient of friction of contacts that have none of their own, >= 0.
    pub mu: Option<f64>,
    /// The bodies; if there are none, one that is called `body`.
    #[serde(default)]
    pub bodies: Vec<BodySpec>,
    /// Without `bodies`: what stays as it is, such as the weight.
    pub fixed: Option<WrenchSpec>,
    /// Without `bodies`: what grows.
    pub load: Option<WrenchSpec>,
    /// The contacts.
    #[serde(default)]
    pub contacts: Vec<ContactSpec>,
}

/// A rigid body.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BodySpec {
    /// Its name, by which contacts call it.
    pub name: String,
    /// What stays as it is, such as the weight.
    pub fixed: Option<WrenchSpec>,
    /// What grows.
    pub load: Option<WrenchSpec>,
}

/// A force that acts at a point, with a moment beside it.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WrenchSpec {
    /// Force [N].
    #[serde(default)]
    pub force: [f64; 3],
    /// Where it acts [m]; the origin if not given.
    #[serde(default)]
    pub at: [f64; 3],
    /// Moment beside that of the force [N m].
    #[serde(default)]
    pub moment: [f64; 3],
}

/// A point at which a body touches the world, or another body.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContactSpec {
    /// Where [m].
    pub position: [f64; 3],
    /// Direction into `body`, of any length.
    pub normal: [f64; 3],
    /// Direction from which polygons are turned; if not given, x or y, whichever is further from the normal
    /// first.
    pub tangent: Option<[f64; 3]>,
    /// Coefficient of friction, >= 0; that of the file if not given.
    pub mu: Option<f64>,
    /// Largest normal force [N], > 0; if not given there is none.
    pub most: Option<f64>,
    /// Largest moment about the normal for a normal force of 1 N [m], >= 0: more than 0 for a soft finger.
    #[serde(default)]
    pub torsion: f64,
    /// Name of the body; may be left out if there is one.
    pub body: Option<String>,
    /// Name of the body that it touches; the world if not given.
    pub on: Option<String>,
}

/// The shape of friction cones.
#[derive(Clone, Copy, Debug, Default)]
pub enum ConeSpec {
    /// `"circle"`.
    #[default]
    Circle,
    /// `{ pyramid = n, .. }`.
    Pyramid(PyramidSpec),
}

/// A pyramid: a cone with a regular polygon for its section.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PyramidSpec {
    /// Number of sides, 3 to 1024.
    pyramid: usize,
    /// `"inner"`, in the circular cone, or `"outer"`, around it; `"inner"` if not given.
    #[serde(default)]
    kind: Kind,
    /// Angle from the tangent to the first direction in which it touches the circular cone [rad].
    #[serde(default)]
    angle: f64,
}

/// On which side of the circular cone a pyramid is.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Kind {
    #[default]
    Inner,
    Outer,
}

const CONES: &str = "\"circle\", or a pyramid such as `{ pyramid = 8, kind = \"inner\" }`";

impl<'de> Deserialize<'de> for ConeSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = ConeSpec;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(CONES)
            }
            fn visit_str<E: Error>(self, name: &str) -> Result<ConeSpec, E> {
                match name {
                    "circle" => Ok(ConeSpec::Circle),
                    name => Err(E::custom(format!("\"{name}\": expected {CONES}"))),
                }
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ConeSpec, A::Error> {
                PyramidSpec::deserialize(MapAccessDeserializer::new(map)).map(ConeSpec::Pyramid)
            }
        }
        deserializer.deserialize_any(Either)
    }
}

impl JsonSchema for ConeSpec {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Cone".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let pyramid = generator.subschema_for::<PyramidSpec>();
        schemars::json_schema!({ "anyOf": [{ "const": "circle" }, pyramid], "default": "circle" })
    }
}

/// The JSON schema of stability files.
pub fn stability_schema() -> serde_json::Value {
    schemars::schema_for!(StabilitySpec).to_value()
}

/// An assembly that was read from a file.
#[derive(Clone, Debug)]
pub struct StabilityFile {
    /// The bodies and contacts.
    pub assembly: Assembly,
    /// The names of the bodies.
    pub names: Vec<String>,
    /// What the file says.
    pub spec: StabilitySpec,
}

impl StabilityFile {
    /// Reads the file `path` and applies `changes` (`key=value`, see [`super::change`]) in order.
    ///
    /// # Errors
    /// A file that cannot be read, a change that cannot be applied, or as [`StabilityFile::parse`].
    pub fn load(path: &Path, changes: &[String]) -> Result<Self, ScenarioError> {
        let (text, name) = super::read(path, changes)?;
        Self::parse(&text, &name)
    }

    /// What is fixed and the load of every body, as the file says it.
    pub fn wrenches(&self) -> impl Iterator<Item = [Option<WrenchSpec>; 2]> {
        let alone = self.spec.bodies.is_empty().then_some([self.spec.fixed, self.spec.load]);
        alone.into_iter().chain(self.spec.bodies.iter().map(|body| [body.fixed, body.load]))
    }

    /// An assembly from its text; `name` is what errors call the text.
    ///
    /// ```
    /// use bristle_scenario::StabilityFile;
    /// let text = r#"
    ///     mu = 0.5
    ///     load = { force = [3, 0, -10] }
    ///     contacts = [{ position = [0, 0, 0], normal = [0, 0, 1] }]
    /// "#;
    /// assert!(StabilityFile::parse(text, "point.toml")?.assembly.stability()?.holds);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// TOML that is malformed, an unknown key, a wrong type, or a value out of range, with its place.
    pub fn parse(text: &str, name: &str) -> Result<Self, ScenarioError> {
        let document = Document::parse(name, text)?;
        if document.has("duration") {
            let accepted = "a stability file, with nothing that lasts; a scenario, of patches or of rigid bodies, is \
                            simulated by `bristle rollout`";
            let e = ParameterError::new("duration", "given", accepted);
            return Err(ScenarioError::field(name, text, "duration", e.to_string()).about(&e));
        }
        let spec: StabilitySpec = document.read()?;
        match spec.assembly() {
            Ok((assembly, names)) => Ok(Self { assembly, names, spec }),
            Err(e) => Err(ScenarioError::field(name, text, &e.field, e.to_string())),
        }
    }
}

impl StabilitySpec {
    fn assembly(&self) -> Result<(Assembly, Vec<String>), ParameterError> {
        let section = self.section()?;
        let mut assembly = Assembly::default();
        let names: Vec<String> = if self.bodies.is_empty() {
            assembly.bodies.push(body("", self.fixed.as_ref(), self.load.as_ref())?);
            vec!["body".to_owned()]
        } else {
            for (key, there) in [("fixed", self.fixed.is_some()), ("load", self.load.is_some())] {
                if there {
                    return Err(ParameterError::new(key, "of no body", "this key in one of `[[bodies]]`"));
                }
            }
            for (k, of) in self.bodies.iter().enumerate() {
                if self.bodies[..k].iter().any(|other| other.name == of.name) {
                    let value = format!("\"{}\"", of.name);
                    return Err(ParameterError::new(
                        format!("bodies.{k}.name"),
                        value,
                        "a name that no other body has",
                    ));
                }
                assembly.bodies.push(body(&format!("bodies.{k}."), of.fixed.as_ref(), of.load.as_ref())?);
            }
            self.bodies.iter().map(|body| body.name.clone()).collect()
        };
        for (k, contact) in self.contacts.iter().enumerate() {
            let inside = |e: ParameterError| ParameterError { field: format!("contacts.{k}.{}", e.field), ..e };
            assembly.contacts.push(self.contact(contact, section, &names).map_err(inside)?);
        }
        assembly.validate()?;
        Ok((assembly, names))
    }

    fn section(&self) -> Result<Section, ParameterError> {
        let ConeSpec::Pyramid(PyramidSpec { pyramid, kind, angle }) = self.cone else { return Ok(Section::Circle) };
        let fit = match kind {
            Kind::Inner => Fit::Inner,
            Kind::Outer => Fit::Outer,
        };
        let section = Section::Polygon(Polygon { sides: pyramid, fit, angle });
        // The names of the file.
        let field = |e: &ParameterError| if e.field == "sides" { "cone.pyramid" } else { "cone.angle" };
        section.validate().map_err(|e| ParameterError { field: field(&e).to_owned(), ..e })?;
        Ok(section)
    }

    fn contact(&self, of: &ContactSpec, section: Section, names: &[String]) -> Result<PointContact, ParameterError> {
        let find = |key: &str, name: &str| {
            let accepted =
                || format!("one of {}", names.iter().map(|n| format!("\"{n}\"")).collect::<Vec<_>>().join(", "));
            let found = names.iter().position(|n| n == name);
            found.ok_or_else(|| ParameterError::new(key, format!("\"{name}\""), accepted()))
        };
        let body = match (&of.body, names.len()) {
            (Some(name), _) => find("body", name)?,
            (None, 1) => 0,
            (None, n) => return Err(ParameterError::new("body", "none", format!("a name, for there are {n} bodies"))),
        };
        let on = of.on.as_ref().map(|name| find("on", name)).transpose()?;
        if on == Some(body) {
            return Err(ParameterError::new("on", format!("\"{}\"", names[body]), "another body than its own"));
        }
        let Some(mu) = of.mu.or(self.mu) else {
            return Err(ParameterError::new("mu", "none", "a number >= 0 here, or one for all contacts at the top"));
        };
        let cone = Cone::new(section, mu, ContactFrame::new(of.normal, of.tangent)?)?;
        if let Some(most) = of.most {
            range::LIMIT_FORCE.check("most", most).map_err(|e| {
                let accepted = format!("{}; leave it out if there is no largest one", e.accepted);
                ParameterError { accepted, ..e }
            })?;
        }
        let most = of.most.unwrap_or(f64::INFINITY);
        Ok(PointContact { position: of.position, cone, body, on, most, torsion: of.torsion })
    }
}

/// A body, whose keys in the file begin with `path`.
fn body(path: &str, fixed: Option<&WrenchSpec>, load: Option<&WrenchSpec>) -> Result<RigidBody, ParameterError> {
    let wrench = |key: &str, spec: Option<&WrenchSpec>| {
        let Some(WrenchSpec { force, at, moment }) = spec else { return Ok(SpatialWrench::default()) };
        for (name, v, range) in
            [("force", force, range::FORCE), ("at", at, range::POSITION), ("moment", moment, range::TORQUE)]
        {
            for (k, v) in v.iter().enumerate() {
                range.check(&format!("{path}{key}.{name}.{k}"), *v)?;
            }
        }
        Ok(SpatialWrench::at(*at, *force, *moment))
    };
    Ok(RigidBody { fixed: wrench("fixed", fixed)?, load: wrench("load", load)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "mu = 0.5\n[load]\nforce = [1, 0, 0]\n[[contacts]]\nposition = [0, 0, 0]\nnormal = [0, 0, 1]\n";

    #[test]
    fn errors_point_at_their_place() {
        for (change, place, part) in [
            ("mu=-1", "f.toml:", "contacts.0.mu = -1: expected a finite number from 0 to 1e6"),
            ("mu='a'", "f.toml:1:", "mu: invalid type"),
            ("~mu", "f.toml:3:", "contacts.0.mu = none: expected a number >= 0 here"),
            ("contacts.0.normal=[0, 0, 0]", "f.toml:6:10", "contacts.0.normal = [0.0, 0.0, 0.0]: expected a finite"),
            ("contacts.0.position=[0, inf, 0]", "f.toml:5:12", "contacts.0.position = inf"),
            (
                "contacts.0.most=0",
                "f.toml:7:8",
                "contacts.0.most = 0: expected a finite number from 1e-12 to 1e12 [N];",
            ),
            ("contacts.0.normal=[0, 0, 1, 0]", "f.toml:6:10", "invalid length 4, expected an array of length 3"),
            ("load.force=[1, 2, 3, 4]", "f.toml:3:9", "invalid length 4, expected an array of length 3"),
            ("load.force.1=1.7e308", "f.toml:3:13", "1.7e308: expected a finite number from -1e12 to 1e12 [N]"),
            ("contacts.0.torsion=-1", "f.toml:7:11", "contacts.0.torsion = -1"),
            ("contacts.0.mue=1", "f.toml:7:1", "unknown field `mue`, expected one of `position`"),
            ("contacts.0.body=a", "f.toml:7:8", "contacts.0.body = \"a\": expected one of \"body\""),
            ("contacts.0.on=body", "f.toml:7:6", "contacts.0.on = \"body\": expected another body"),
            ("load.force=[1, 2]", "f.toml:3:9", "load.force"),
            ("load.force.1=nan", "f.toml:3:13", "load.force.1 = NaN: expected a finite number from"),
            ("cone=square", "f.toml:", "\"square\": expected \"circle\", or a pyramid such as"),
            ("cone.pyramid=2", "f.toml:", "cone.pyramid = 2: expected 3 to 1024"),
            ("cone={ pyramid = 3, angle = inf }", "f.toml:", "cone.angle = inf"),
            ("cone={ pyramid = 3, kind = 'out' }", "f.toml:", "unknown variant `out`, expected `inner` or `outer`"),
            ("bodies=[{ name = 'a' }]", "f.toml:", "load = of no body: expected this key in one of `[[bodies]]`"),
        ] {
            let text = super::super::change(TEXT, change).unwrap();
            let message = StabilityFile::parse(&text, "f.toml").unwrap_err().to_string();
            assert!(message.contains(place) && message.contains(part), "{change}: {message}\n{text}");
        }
        let two = "mu = 1\nbodies = [{ name = 'a' }, { name = 'b' }]\n\
                   contacts = [{ position = [0, 0, 0], normal = [0, 0, 1] }]\n";
        let message = StabilityFile::parse(two, "f.toml").unwrap_err().to_string();
        assert!(message.contains("contacts.0.body = none: expected a name, for there are 2 bodies"), "{message}");
        let message = StabilityFile::parse(&two.replace("'b'", "'a'"), "f.toml").unwrap_err().to_string();
        assert!(message.starts_with("f.toml:2:36: bodies.1.name = \"a\": expected a name that no other"), "{message}");
    }

    #[test]
    fn wrenches_act_where_they_say() {
        let text = "fixed = { force = [0, 0, -2], at = [1, 0, 0], moment = [0, 0, 3] }\n";
        let assembly = StabilityFile::parse(text, "f.toml").unwrap().assembly;
        assert_eq!(assembly.bodies[0].fixed, SpatialWrench { force: [0.0, 0.0, -2.0], moment: [0.0, 2.0, 3.0] });
    }
}
