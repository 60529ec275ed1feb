//! What a parameter of a contact is, with its unit: the description of its field in the JSON schema.

use bristle::parameter::Parameter;
use serde_json::Value;

/// What has no field in the schema, or is recorded as another number than that of its field.
const OTHERS: [(&str, &str); 3] = [
    ("patch.torsional_radius", "Torsional radius [m] of the patch at the start."),
    ("patch.shape", "Place [-] of the shape among those it was drawn from."),
    ("patch.frame", "Number [-] of the frame in `patch.file`, the first is 0."),
];

/// The row that a contact has drawn, and that of a signal.
const ROW: &str = "Row [-] of the `[table]`, the first is 0.";

/// Gives the field of a parameter in a schema its description; not a number of a list, which has none.
pub(super) fn put(schema: &mut Value, parameter: &Parameter) {
    let (tables, key) = parameter.name.rsplit_once('.').unwrap_or(("", parameter.name));
    let mut at = "/properties".to_owned();
    for table in tables.split('.').filter(|table| !table.is_empty()) {
        let Some(field) = schema.pointer(&format!("{at}/{table}")) else { return };
        let of_type = field["$ref"].as_str().or_else(|| field["anyOf"][0]["$ref"].as_str()).unwrap_or_default();
        at = format!("{}/properties", of_type.trim_start_matches('#'));
    }
    if let Some(field) = schema.pointer_mut(&format!("{at}/{key}")) {
        field["description"] = parameter.about.into();
    }
}

/// The descriptions of all fields.
#[derive(Debug)]
pub struct Descriptions(Value);

impl Descriptions {
    /// Those of scenario files.
    pub fn of_scenarios() -> Self {
        Self(super::json_schema())
    }

    /// The description of the parameter with a dotted path, such as `inputs.normal_force.sines.0.amplitude`.
    /// Where it has no unit of its own, that of the field around it comes first.
    pub fn of(&self, path: &str) -> String {
        if let Some((_, other)) = OTHERS.iter().find(|(name, _)| *name == path) {
            return (*other).to_owned();
        }
        if path.ends_with(".row") {
            return ROW.to_owned();
        }
        let (mut node, mut said) = (&self.0, Vec::new());
        for key in path.split('.') {
            let Some(field) = self.field(node, key) else { break };
            // A description beside a reference is that of the field, the one behind it that of its type.
            if let Some(description) = field["description"].as_str() {
                said.push(description.replace('\n', " "));
            }
            node = field;
        }
        let from = said.iter().rposition(|text| has_unit(text)).unwrap_or(said.len().saturating_sub(1));
        said[from..].join(" ")
    }

    /// The schema of a field of `node`, or of an item of its list.
    fn field<'s>(&'s self, node: &'s Value, key: &str) -> Option<&'s Value> {
        if let Some(name) = node["$ref"].as_str() {
            let of_type = &self.0["$defs"][name.rsplit('/').next().unwrap_or(name)];
            return self.field(of_type, key);
        }
        let item = |k: usize| node["prefixItems"].get(k).or_else(|| node.get("items").filter(|i| i.is_object()));
        let own = node["properties"].get(key).or_else(|| item(key.parse().ok()?));
        own.or_else(|| {
            let variants = ["anyOf", "oneOf", "allOf"].iter().filter_map(|kind| node[kind].as_array());
            variants.flatten().find_map(|variant| self.field(variant, key))
        })
    }
}

/// Whether a text has a unit in brackets, such as `[N m]` or `[-]`; `[x, y]` in backquotes is none.
fn has_unit(text: &str) -> bool {
    text.split('`').step_by(2).any(|plain| plain.contains('['))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_have_their_description_and_unit() {
        let all = Descriptions::of_scenarios();
        assert!(all.of("body.mass").starts_with("Mass [kg]"), "{}", all.of("body.mass"));
        assert!(all.of("friction.v_s").contains("[m/s]") && all.of("initial.pose.2").contains("[m, m, rad]"));
        let amplitude = all.of("inputs.normal_force.sines.0.amplitude");
        assert!(amplitude.contains("[N]") && amplitude.contains("Amplitude, in the signal's unit"), "{amplitude}");
        let frequency = all.of("inputs.normal_force.sines.0.frequency");
        assert!(frequency.starts_with("Frequency [Hz]"), "{frequency}");
        assert_eq!(all.of("patch.torsional_radius"), "Torsional radius [m] of the patch at the start.");
        assert_eq!([all.of("table.row"), all.of("inputs.normal_force.row")], [ROW; 2]);
        assert!(!has_unit("Sides `[w, h]`.") && has_unit("Sides `[w, h]` [m]."));
    }

    #[test]
    fn all_parameters_of_the_examples_have_a_unit() {
        let all = Descriptions::of_scenarios();
        let mut without = std::collections::BTreeSet::new();
        for file in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples")).unwrap() {
            let path = file.unwrap().path();
            let Ok(scenario) = crate::Scenario::load(&path, &[]) else { continue };
            let names = scenario.parameters(0).unwrap().into_iter().map(|(name, _)| name);
            without.extend(names.filter(|name| !has_unit(&all.of(name))));
        }
        assert!(without.is_empty(), "{without:?}");
    }
}
