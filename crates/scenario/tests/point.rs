//! Point contacts in scenarios.

use bristle::contact::Model;
use bristle::point::PointLaw;

/// A point contact as a file says it, and keys that would do nothing.
#[test]
fn scenarios_say_point_contacts_and_refuse_keys_without_effect() {
    let text = |contact: &str, body: &str, inputs: &str| {
        format!(
            "duration = 1.0\n[contact]\nmodel = \"point\"\n{contact}\n[body]\nkind = \"world\"\nmass = 2.0\n{body}\n\
             [inputs]\nnormal_force = 3.0\n{inputs}\n"
        )
    };
    let parse = |text: &str| bristle_scenario::Scenario::parse(text, std::path::Path::new(""), "point");
    let point = "point = { law = \"gms\", attraction = 7.0, elements = [[0.5, { choice = [0.2] }], [0.5, 0.8]] }";
    let scenario = parse(&text(point, "spring = 4.0", "anchor = [{ points = [[0, 0], [1, 2]] }, 0.5]")).unwrap();
    let contact = scenario.contact(0).unwrap();
    let Model::Point(model) = &contact.model else { panic!("{:?}", contact.model) };
    assert_eq!((model.law, model.attraction), (PointLaw::GeneralizedMaxwellSlip, 7.0));
    assert_eq!(model.elements.iter().map(|e| e.stiffness).collect::<Vec<_>>(), [0.2, 0.8]);
    let body = contact.body.free().unwrap();
    assert_eq!((body.spring, body.anchor[0].value(0.5), body.anchor[1].value(0.5)), (4.0, 1.0, 0.5));
    for (contact, body, inputs, field) in [
        ("point = { law = \"quinn\", attraction = 1.0 }", "", "", "contact.point.attraction"),
        ("point = { law = \"implicit\", band = 1.0 }", "", "", "contact.point.band"),
        ("point = { law = \"dahl\", elements = [[1, 1]] }", "", "", "contact.point.elements"),
        ("point = { law = \"quinn\", band = -1.0 }", "", "", "contact.point.band"),
        ("", "inertia = 1.0", "", "body.inertia"),
        ("", "", "anchor = [1.0, 0.0]", "inputs.anchor"),
        ("", "", "wrench = { tau = 1.0 }", "inputs.wrench.tau"),
        ("", "", "surface = { vx = 1.0 }", "inputs.surface"),
        ("rule = \"cells\"", "", "", "contact.rule"),
    ] {
        let error = parse(&text(contact, body, inputs)).unwrap_err().to_string();
        assert!(error.contains(field), "{field}: {error}");
    }
    let of_a_patch = text("", "inertia = 1.0\nspring = 1.0", "").replace("model = \"point\"", "");
    assert!(parse(&of_a_patch).unwrap_err().to_string().contains("body.spring"));
}
