use super::*;
use bristle::body::{Body, Frame, TwistPoint};
use bristle::contact::{Bristles, Model};
use bristle::limit_surface::Table;
use bristle::patch::FrictionAxes;
use bristle::planar::Twist;
use std::sync::Arc;

const BOX: &str = r#"
duration = 1.0
contacts = 4
seed = 3

[patch]
shape = { choice = ["circle", "square"] }
size = { uniform = [0.01, 0.03] }

[friction]
law = "lugre"
mu_c = { uniform = [0.4, 0.8] }
mu_s_over_mu_c = 1.1

[body]
kind = "gripper"
mass = 0.2
inertia = { rectangle = [0.15, 0.08] }

[initial]
pose = [{ normal = [0.0, 0.002] }, 0, 0]

[inputs]
hold = 0.01
gravity = [0, -9.81]
normal_force = { mean = 1.73, sines = [{ amplitude = { uniform = [0.5, 0.9] }, frequency = 2 }] }
"#;

fn parse(text: &str) -> Result<Scenario, ScenarioError> {
    Scenario::parse(text, Path::new("."), "box.toml")
}

#[test]
fn a_contact_is_the_same_in_any_batch_and_with_any_neighbour() {
    let (few, many) = (parse(BOX).unwrap(), parse(&change(BOX, "contacts=900").unwrap()).unwrap());
    assert_eq!(few.draw(3).unwrap().parameters, many.draw(3).unwrap().parameters);
    assert_ne!(few.draw(2).unwrap().parameters, few.draw(3).unwrap().parameters);
    // Another distribution elsewhere moves no other number.
    let other = parse(&change(BOX, "body.mass={ uniform = [0.1, 0.2] }").unwrap()).unwrap();
    assert_eq!(few.contact(3).unwrap().friction, other.contact(3).unwrap().friction);
    many.check().unwrap();
}

#[test]
fn what_follows_from_drawn_numbers_is_right() {
    let contact = parse(BOX).unwrap().contact(0).unwrap();
    let body = contact.body.free().unwrap();
    approx::assert_relative_eq!(body.inertia, 0.2 / 12.0 * (0.15f64.powi(2) + 0.08f64.powi(2)));
    approx::assert_relative_eq!(contact.friction.mu_s, 1.1 * contact.friction.mu_c);
    assert_eq!((body.frame, body.pads), (Frame::Gripper, 2));
    // Held over 10 ms.
    assert_eq!(contact.inputs.normal_force.value(0.0), contact.inputs.normal_force.value(0.0099));
    assert_ne!(contact.inputs.normal_force.value(0.0), contact.inputs.normal_force.value(0.0101));
}

/// What a file says of loads, twists and the offset is where the kind of its body has it.
#[test]
fn a_body_has_what_its_kind_takes() {
    let head = "duration = 1\npatch = { shape = \"disc\", cells = 5 }\n";
    let body = |text: &str| parse(&format!("{head}{text}")).unwrap().contact(0).unwrap().body;
    let prescribed =
        "body.kind = \"prescribed\"\ninputs = { normal_force = 1, twist = { vx = 0.1, w = 2, at = \"origin\" } }";
    let Body::Prescribed { twist, at } = body(prescribed) else { panic!("not prescribed") };
    assert_eq!((twist.map(|signal| signal.value(0.5)), at), ([0.1, 0.0, 2.0], TwistPoint::Origin));
    let pushed = "body = { kind = \"body\", mass = 2, inertia = 0.1, offset = [0.01, 0.02] }\n\
     initial.twist = [0.1, 0.2, 0.3]\ninputs = { normal_force = 1, wrench = { fy = 3 }, gravity = [0, -9.81] }";
    let pushed = body(pushed);
    let pushed = pushed.free().unwrap();
    assert_eq!((pushed.frame, pushed.pads), (Frame::Body { offset: [0.01, 0.02] }, 1));
    assert_eq!(pushed.twist, Twist::new(0.1, 0.2, 0.3));
    assert_eq!(pushed.wrench.each_ref().map(|signal| signal.value(0.0)), [0.0, 3.0, 0.0]);
    assert_eq!(pushed.gravity.each_ref().map(|signal| signal.value(0.0)), [0.0, -9.81]);
    let tilted = body("body = { kind = \"world\", mass = 2, inertia = 0.1 }\ninputs.tilt = { angle = 0.5 }");
    let down = tilted.free().unwrap().gravity[0].value(0.0);
    approx::assert_relative_eq!(down, 9.81 * 0.5f64.sin());
}

/// A coefficient that is a signal, beside a constant one.
#[test]
fn coefficients_may_be_signals() {
    let text =
        change(&change(BOX, "friction={ mu_s = 0.5 }").unwrap(), "inputs.mu_c={ points = [[0, 0.4], [1, 0.3]] }");
    let drawn = parse(&text.unwrap()).unwrap().draw(0).unwrap();
    assert_eq!((drawn.contact.friction.mu_c, drawn.contact.friction.mu_s), (0.4, 0.5));
    assert!(drawn.parameters.iter().all(|(name, _)| name != "friction.mu_c"), "a signal is no number");
    let text =
        change(&change(BOX, "friction={ mu_c = 0.4 }").unwrap(), "inputs.mu_s={ points = [[0, 0.6], [1, 0.5]] }");
    let friction = parse(&text.unwrap()).unwrap().contact(0).unwrap().friction;
    assert_eq!((friction.mu_c, friction.mu_s), (0.4, 0.6));
}

#[test]
fn bristles_start_unloaded_or_steady() {
    let bristles = |text: &str| parse(text).unwrap().contact(0).unwrap().initial.bristles;
    assert_eq!(bristles(BOX), Bristles::Unloaded);
    assert_eq!(bristles(&change(BOX, "initial.bristles=steady").unwrap()), Bristles::Steady);
}

#[test]
fn contacts_share_the_memory_of_a_map() {
    let scenario = parse(BOX).unwrap();
    let maps: Vec<_> = (0..20).map(|k| scenario.contact(k).unwrap().patch.map().as_ptr()).collect();
    let mut distinct = maps.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), 2);
}

#[test]
fn contacts_of_one_size_share_a_patch_and_others_have_their_own() {
    let shapes = "patch={ shape = { choice = ['disc', 'square'] }, cells = 7, size = 0.01 }";
    let scenario = parse(&change(BOX, shapes).unwrap()).unwrap();
    let patches: Vec<_> = (0..40).map(|k| scenario.contact(k).unwrap().patch).collect();
    let mut distinct: Vec<_> = patches.iter().map(Arc::as_ptr).collect();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), 2, "one a shape");
    // A contact is the same whichever was drawn before it, whatever its size.
    let sizes =
        "patch={ shape = { choice = ['disc', 'square'] }, cells = 7, size = [{ choice = [0.01, 0.02] }, 0.03] }";
    let text = change(BOX, sizes).unwrap();
    let scenario = parse(&text).unwrap();
    for k in 0..40 {
        let alone = parse(&text).unwrap().contact(k).unwrap();
        assert_eq!(scenario.contact(k).unwrap().patch, alone.patch, "contact {k}");
    }
    let given = scenario.variant(3, 1, &[("patch.size.0".to_owned(), 0.05)]).unwrap();
    assert!((given.patch.grid().dx - 0.05 / 7.0).abs() < 1e-15);
}

/// The coefficient along the axis is `mu_c`; every kind of patch has the axes, and tables are of them.
#[test]
fn every_patch_has_the_axes_of_its_friction() {
    let axes = FrictionAxes::new(0.25, 0.5).unwrap();
    let text = change(BOX, "friction={ mu = { along = 0.8, across = 0.2, angle = 0.5 } }").unwrap();
    let patches =
        ["patch={ pressure = [[3, 1]] }", "patch={ shape = 'circle', cells = 7 }", "patch={ shape = 'hertz' }"];
    for set in patches {
        for model in ["distributed", "reduced"] {
            let text = change(&text, set).and_then(|text| change(&text, &format!("contact.model={model}"))).unwrap();
            let scenario = parse(&text).unwrap();
            let contact = scenario.contact(0).unwrap();
            assert_eq!(contact.patch.friction_axes(), Some(&axes), "{set}");
            assert_eq!(contact.friction.mu_c, 0.8);
            if let Model::LimitSurface(table, _) = &contact.model
                && contact.patch.rule().is_none()
            {
                let wanted = Table::new(&contact.patch, table.rule(), table.n_ls()).unwrap();
                let far = |(a, b): (&[f64; 3], &[f64; 3])| (0..3).map(|c| (a[c] - b[c]).abs()).fold(0.0, f64::max);
                let most = table.nodes().iter().zip(wanted.nodes()).map(far).fold(0.0, f64::max);
                assert!(most < 1e-6, "{set}: {most}");
            }
        }
    }
    let ratio = change(BOX, "friction.mu={ ratio = 0.25, angle = 0.5 }").unwrap();
    let contact = parse(&ratio).unwrap().contact(0).unwrap();
    assert_eq!(contact.patch.friction_axes(), Some(&axes));
    assert_eq!(contact.friction.mu_c, parse(BOX).unwrap().contact(0).unwrap().friction.mu_c);
    let [one, other] = [0.3, 0.5].map(|angle| {
        parse(&change(BOX, &format!("friction.mu={{ ratio = 0.25, angle = {angle} }}")).unwrap())
            .unwrap()
            .patches
            .digest()
    });
    assert_ne!(one, other, "a run of other axes is another run");
}

/// The patches are where the file says, with shares as drawn or by equilibrium; maps of their own, friction
/// maps and axes are theirs; contacts whose patches are the same share them.
#[test]
fn several_patches_are_where_they_are_put() {
    let with = |sets: &[&str]| sets.iter().fold(BOX.to_owned(), |text, set| change(&text, set).unwrap());
    let other = "{ at = [-0.01, { uniform = [0, 0.01] }], turn = 0.5, friction = 0.5 }";
    let two = &format!("patches=[{{ at = [0.03, 0], share = 3 }}, {other}]");
    let scenario = parse(&with(&["patch={ shape = 'square', cells = 2 }", two])).unwrap();
    let drawn = scenario.draw(3).unwrap();
    let [one, other] = drawn.contact.patch.parts() else { panic!("{:?}", drawn.contact.patch.parts()) };
    assert_eq!((one.at().to_array(), one.cells()), ([0.03, 0.0, 0.0], 0..4));
    let y = drawn.parameters.iter().find(|(name, _)| name == "patches.1.at.1").unwrap().1;
    assert_eq!((other.at().to_array(), other.cells()), ([-0.01, y, 0.5], 4..8));
    assert_eq!(drawn.contact.patch.friction_map(), Some(&[1.0, 1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 0.5][..]));
    assert!((drawn.contact.patch.part(0).0 - 0.75).abs() < 1e-15);
    let reduced = parse(&change(scenario.text(), "contact.model=reduced").unwrap()).unwrap();
    let contact = reduced.contact(3).unwrap();
    assert_eq!(contact.patch.friction_map(), None);
    assert!((contact.friction.mu_c / drawn.contact.friction.mu_c - 0.875).abs() < 1e-12);
    let given = scenario.variant(3, 7, &[("patches.1.at.1".to_owned(), 0.004)]).unwrap();
    assert_eq!(given.patch.parts()[1].at().y, 0.004);

    let own = "patches=[{ at = [0.03, 0] }, { patch = { pressure = [[1, 2, 3]], size = [0.01, 0.02] } }]";
    let sets =
        ["patch={ shape = 'square', cells = 2 }", own, "friction.map=[[0.5, 2]]", "friction.mu={ ratio = 0.25 }"];
    let scenario = parse(&with(&sets)).unwrap();
    let [a, b] = [0, 1].map(|k| scenario.contact(k).unwrap().patch);
    assert!(Arc::ptr_eq(&a, &b), "contacts share a patch");
    assert_eq!(a.friction_map(), Some(&[0.5, 2.0, 0.5, 2.0, 0.5, 2.0, 2.0][..]));
    assert_eq!(a.friction_axes().map(FrictionAxes::across), Some(0.25));
    assert_eq!([a.parts()[1].grid().nx, a.parts()[1].grid().ny], [3, 1]);
    // Numbers of its own map are its own.
    let drawn = scenario.draw(0).unwrap();
    let of = |wanted: &str| drawn.parameters.iter().filter(|(name, _)| name == wanted).count();
    assert_eq!([of("patch.size"), of("patch.size.0"), of("patches.1.patch.size.0")], [1, 0, 1]);
    let other = parse(&change(scenario.text(), &own.replace("2, 3", "2, 4")).unwrap()).unwrap();
    assert_ne!(scenario.maps(), other.maps(), "a run of other maps is another run");

    let kind = ["contact.shares=equilibrium", "body.kind=body", "body.offset=[0.01, 0.0]"];
    let three = "patches=[{ at = [0.05, 0] }, { at = [-0.05, 0.05] }, { at = [-0.05, -0.05] }]";
    let on_table = with(&[&["patch={ cells = 3 }", three], &kind[..]].concat());
    let drawn = parse(&on_table).unwrap().draw(0).unwrap();
    // The weight is 1 cm behind the middle.
    let shares: Vec<f64> = (0..3).map(|k| drawn.contact.patch.part(k).0).collect();
    assert!((shares[0] - 0.4).abs() < 1e-12 && (shares[1] - 0.3).abs() < 1e-12, "{shares:?}");
    assert!(drawn.parameters.iter().any(|(name, share)| name == "patches.2.share" && (share - 0.3).abs() < 1e-12));
    let file = "f_n = 5.0\n[patch]\ncells = 3\n[[patches]]\nat = [0.05, 0]\n[[patches]]\nshare = 3\n";
    let source = PatchSource::parse(file, ".".as_ref(), "feet.toml").unwrap();
    assert_eq!(source.patch.parts().len(), 2);
    assert!((source.patch.cop()[0] - 0.0125).abs() < 1e-15);

    let refused = [
        (vec!["patches=[]"], "patches: 0 patches: expected 1 to 16"),
        (vec!["patches=[{ at = [0, 0] }]", "patch={ shape = 'hertz' }"], "patch.shape: expected a map that stays"),
        (vec!["patches=[{ at = [0, 0] }]", "patch.takes_frames=true"], "patch.takes_frames: expected a map that stays"),
        (vec!["patches=[{ patch = { file = 'a.npy' } }]"], "patches.0.patch.file: expected this key in `[patch]`"),
        (vec!["patches=[{ patch = { size = { uniform = [1, 2] } } }]"], "patches.0.patch.size: expected a constant"),
        (vec!["patches=[{ share = -1 }]"], "patches.0.share = -1: expected a finite number >= 0"),
        (vec!["patches=[{ friction = 0 }]"], "patches.0.friction = 0"),
        (vec!["patches=[{ place = 0 }]"], "unknown field `place`"),
        (vec!["contact.shares=equilibrium"], "contact.shares: expected this key only with several"),
        (
            vec!["patches=[{ at = [0, 0] }]", "contact.shares=equilibrium"],
            "contact.shares: \"equilibrium\": expected it",
        ),
        (vec!["patches=[{ share = 1 }]", kind[0], kind[1]], "patches.0.share: expected none with"),
        (vec!["patches=[{ at = [1, 0] }]", kind[0], kind[1]], "patches.share = equilibrium: expected a weight over"),
    ];
    for (sets, wanted) in refused {
        let error = parse(&with(&sets)).unwrap_err().to_string();
        assert!(error.contains(wanted), "{sets:?}: {error}");
    }
    for key in ["normal_force = 2", "surface = { vx = 1 }"] {
        let error = PatchSource::parse(&file.replace("share = 3", key), ".".as_ref(), "feet.toml").unwrap_err();
        let wanted = format!("patches.1.{}: expected none in a file", key.split_once(' ').unwrap().0);
        assert!(error.to_string().contains(&wanted), "{error}");
    }
    let moving = with(&["patches=[{ at = [0.01, 0] }, { at = [-0.01, 0], surface = { vx = 0.1 } }]"]);
    let error = PatchSource::parse(&moving, ".".as_ref(), "feet.toml").unwrap_err().to_string();
    assert!(error.contains("patches.1.surface = given: expected none: patches that slide against each"), "{error}");
    let drawn = file.replace("share = 3", "share = { uniform = [1, 2] }");
    let error = PatchSource::parse(&drawn, ".".as_ref(), "feet.toml").unwrap_err().to_string();
    assert!(error.contains("patches.1.share: expected a constant"), "{error}");
}

/// Patches have the normal forces and surfaces that are drawn for them; what does not go together is refused.
#[test]
fn patches_have_inputs_of_their_own() {
    let with = |sets: &[&str]| sets.iter().fold(BOX.to_owned(), |text, set| change(&text, set).unwrap());
    let one = "{ at = [0.03, 0], normal_force = { points = [[0, 1], [0.1, { uniform = [2, 3] }]] } }";
    let surface = "{ w = { uniform = [1, 2] }, at = [0.01, { uniform = [0, 0.1] }] }";
    let other = format!("{{ normal_force = {{ uniform = [2, 3] }}, surface = {surface} }}");
    let patches = &format!("patches=[{one}, {other}]");
    let scenario = parse(&with(&["patch={ shape = 'square', cells = 2 }", patches, "~inputs.normal_force"])).unwrap();
    let drawn = scenario.draw(3).unwrap();
    let number = |name: &str| {
        let found = drawn.parameters.iter().find(|(own, _)| own == name);
        found.unwrap_or_else(|| panic!("{name} is drawn: {:?}", drawn.parameters)).1
    };
    let [a, b] = &*drawn.contact.inputs.patches else { panic!("{:?}", drawn.contact.inputs.patches) };
    assert_eq!(a.normal_force.as_ref().unwrap().value(0.1), number("patches.0.normal_force.points.1.1"));
    assert_eq!(a.surface, None);
    let surface = b.surface.as_ref().unwrap();
    assert_eq!(surface.twist[2].value(0.0), number("patches.1.surface.w"));
    assert_eq!(surface.at, [0.01, number("patches.1.surface.at.1")]);
    let forces = number("patches.1.normal_force") + number("patches.0.normal_force.points.1.1");
    assert!((drawn.contact.normal_force_at(0.1) - forces).abs() < 1e-12);
    let held = parse(&change(scenario.text(), "inputs.hold=0.05").unwrap()).unwrap().contact(3).unwrap();
    assert_eq!(held.inputs.patches[0].normal_force.as_ref().unwrap().value(0.0499), 1.0);
    assert!(scenario.contact(3).unwrap().validate_over(1.0).is_ok());

    // The shares of the compound patch are the forces at the start.
    let at_start = number("patches.1.normal_force");
    let cop = drawn.contact.patch.cop()[0];
    assert!((cop - 0.03 / (1.0 + at_start)).abs() < 1e-12, "{cop}");
    let moved = parse(&change(scenario.text(), "patches.1.surface.at.1=0.5").unwrap()).unwrap();
    assert_eq!(moved.contact(3).unwrap().inputs.patches[1].surface.as_ref().unwrap().at, [0.01, 0.5]);
    let without = change(&change(scenario.text(), "~patches.1.surface.at").unwrap(), "patches.1.surface.at.0=0.2");
    let moved = parse(&without.unwrap()).unwrap();
    assert_eq!(moved.contact(3).unwrap().inputs.patches[1].surface.as_ref().unwrap().at, [0.2, 0.0]);
    // As `bristle margin` has it.
    let at_rest = change(scenario.text(), "~patches.1.surface").unwrap();
    let source = PatchSource::parse(&at_rest, ".".as_ref(), "s.toml").unwrap();
    let first = scenario.contact(0).unwrap();
    assert!(
        (source.f_n.unwrap() - first.normal_force_at(0.0)).abs() < 1e-12 && source.patch.cop() == first.patch.cop()
    );
    let lifted = scenario.text().replace("[0, 1], [0.1", "[0, -1], [0.1");
    let lifted = parse(&lifted).unwrap().contact(0).unwrap();
    assert!(lifted.patch.parts()[0].share() > 0.0 && lifted.patch.cop()[0] < 1e-9, "{:?}", lifted.patch.cop());

    let force = "patches=[{ normal_force = 1 }, { normal_force = 2 }]";
    let surface = "patches=[{ surface = { vx = 1 } }, { at = [0.1, 0] }]";
    let refused = [
        (vec!["patches=[{ normal_force = 1 }, {}]", "~inputs.normal_force"], "patches.1.normal_force: expected the"),
        (vec!["patches=[{ normal_force = 1, share = 2 }]", "~inputs.normal_force"], "patches.0.share: expected either"),
        (vec![force], "inputs.normal_force: expected none where patches"),
        (vec!["patches=[{ surface = {} }]"], "patches.0.surface"),
        (vec!["patches=[{ surface = { vx = 1, at = [0, 1] } }]"], "patches.0.surface.at"),
        (vec![surface, "contact.model=reduced"], "patches.0.surface: expected this key only with"),
        (
            vec!["patches=[{ normal_force = { uniform = [1, 1e300] } }]", "~inputs.normal_force"],
            "patches.0.normal_force",
        ),
        (vec!["patches=[{ surface = { w = 1e300 } }]"], "patches.0.surface.w"),
        (vec!["patches=[{ surface = { w = 1, at = [1e300, 0] } }]"], "patches.0.surface.at.0"),
        (vec!["patches=[{ normal_forse = 1 }]"], "normal_force"),
    ];
    for (sets, wanted) in refused {
        let error = parse(&with(&[&["patch={ cells = 2 }"], &sets[..]].concat())).unwrap_err().to_string();
        assert!(error.contains(wanted), "{sets:?}: {error}");
    }
}

/// Of a grid the map stays with the cells; a reduced bristle has it in its pressure and its coefficients.
#[test]
fn friction_maps_are_spread_over_the_grid_or_moved_into_the_pressure() {
    let text = change(&change(BOX, "patch={ pressure = [[3, 1]] }").unwrap(), "friction.map=[[0.5, 2]]").unwrap();
    let grid = parse(&text).unwrap().contact(0).unwrap();
    assert_eq!(grid.patch.friction_map(), Some(&[0.5, 2.0][..]));
    assert_eq!(grid.patch.weights(), [0.75, 0.25]);
    let scenario = parse(&change(&text, "contact.model=reduced").unwrap()).unwrap();
    let reduced = scenario.contact(0).unwrap();
    let same = scenario.contact(1).unwrap();
    assert_eq!(reduced.patch.friction_map(), None);
    assert!((reduced.patch.weights()[0] - 1.5 / 3.5).abs() < 1e-15);
    assert!((reduced.friction.mu_c - 0.875 * grid.friction.mu_c).abs() < 1e-15);
    assert!((reduced.friction.mu_s - 0.875 * grid.friction.mu_s).abs() < 1e-15);
    let (Model::LimitSurface(one, _), Model::LimitSurface(other, _)) = (&reduced.model, &same.model) else {
        panic!("{:?}", reduced.model);
    };
    assert!(Arc::ptr_eq(one, other), "contacts share a table");
    for set in ["patch={ shape = 'hertz' }", "patch.takes_frames=true"] {
        let error = parse(&change(scenario.text(), set).unwrap()).unwrap_err().to_string();
        assert!(error.contains("friction.map: with a reduced bristle, whose pressure must not change"), "{error}");
    }
    let sets = ["friction={ map = [[1, 2]] }", "inputs.mu_s=3", "inputs.mu_c=2"];
    let text = sets.iter().fold(scenario.text().to_owned(), |text, set| change(&text, set).unwrap());
    let error = parse(&text).unwrap_err().to_string();
    assert!(error.contains("inputs.mu_c") && error.contains("`friction.map`, `patches.*.friction`"), "{error}");
    let sets = ["friction={}", "patches=[{ at = [0.1, 0] }, { at = [-0.1, 0], friction = 2 }]"];
    let text = sets.iter().fold(text, |text, set| change(&text, set).unwrap());
    let error = parse(&text).unwrap_err().to_string();
    assert!(error.contains("inputs.mu_c") && error.contains("`friction.map`, `patches.*.friction`"), "{error}");
    let text = change(&text, "contact.model=distributed").unwrap();
    assert!(parse(&text).is_ok(), "{:?}", parse(&text).err());
}

#[test]
fn errors_have_a_place_and_say_what_is_accepted() {
    for (set, place, part) in [
        ("friction.nu=1", "box.toml:14:1", "unknown field `nu`, expected one of"),
        ("friction.mu=1", "box.toml:14:6", "expected `{ along, across, angle }`; one coefficient alone is `mu_c`"),
        ("initial.bristles=bent", "", "unknown variant `bent`, expected `unloaded` or `steady`"),
        ("friction.law=coulomb", "box.toml:11:7", "unknown variant `coulomb`, expected "),
        ("friction.mu_c=\"a\"", "box.toml:12:8", "friction.mu_c: invalid type: string"),
        ("friction.mu_c={ uniform = [2, 1] }", "box.toml:12:8", "low <= high"),
        ("friction.mu_c={ uniform = [-1, 1] }", "box.toml:12:8", "friction.mu_c = -1: expected a finite number from"),
        ("friction.mu_s=0.1", "", "only one of `mu_s`, `mu_s_over_mu_c`"),
        ("friction.sigma0=0", "", "friction.sigma0 = 0: expected"),
        ("step=0", "", "step = 0: expected 1e-7 to 0.1"),
        ("duration=-1", "box.toml:2:12", "duration = -1"),
        ("contacts=0", "box.toml:3:12", "contacts = 0: expected 1 to"),
        ("contacts=-1", "box.toml:3:12", "contacts"),
        (
            "body.kind=prescribed",
            "box.toml:17:8",
            "body.mass, body.inertia, inputs.gravity = given: expected none of these with kind = \"prescribed\", but \
             `inputs.twist`; unsetting `body.mass,body.inertia,inputs.gravity` removes them",
        ),
        ("body.kind=hand", "box.toml:16:8", "`world`"),
        ("patch.shape=sqare", "box.toml:7:9", "did you mean `square`?"),
        ("friction.mu_d=1", "", "did you mean `mu_c` or `mu_s` or `mu`?"),
        ("mass=1", "", "did you mean `body.mass`?"),
        ("inputs.normal_force.meen=1", "", "did you mean `mean`?"),
        ("body.inertia.rectangel=[1, 1]", "", "did you mean `rectangle`?"),
        ("body.mass=nan", "", "finite number"),
        ("body.offset=[0, 0]", "", "kind = \"body\""),
        ("inputs.tilt={ angle = 0.3 }", "", "only for kinds"),
        ("patch.cells=0", "", "patch.cells[0] = 0"),
        ("patch.size=0", "", "patch.size = 0"),
        ("patch.update=0.01", "", "belongs to `shape = \"hertz\"`"),
        ("patch={ shape = 'hertz', takes_frames = true }", "", "follows the normal force"),
        ("patch.takes_frames=1", "", "boolean"),
        ("patch.file=none.npy", "", "only one of"),
        ("initial.pose=[0, 0]", "", "initial.pose"),
        ("inputs.hold=0", "", "inputs.hold = 0: expected a finite number from 1e-6 to 1e9 [s]"),
        ("inputs.mu_c=2", "", "only one of `friction.mu_c`, `inputs.mu_c`"),
        ("inputs.mu_s=2", "", "only one of `friction.mu_s_over_mu_c`, `inputs.mu_s`"),
        ("friction={}\ninputs.mu_c=2", "", "inputs.mu_s or friction.mu_s"),
        ("friction={ mu_s_over_mu_c = 2 }\ninputs.mu_c=2", "", "with `inputs.mu_c` say `inputs.mu_s`"),
        ("friction={ mu_s = 1 }\ninputs.mu_c=2", "", "mu_s >= mu_c at all times"),
        ("friction={ mu_c = 2 }\ninputs.mu_s=1", "", "mu_s >= mu_c at all times"),
    ] {
        let text = set.lines().fold(BOX.to_owned(), |text, set| change(&text, set).unwrap());
        let error = parse(&text).map(|_| ()).expect_err(set).to_string();
        assert!(error.contains(part) && error.contains(place), "{set}:\n{error}");
        assert!(error.lines().count() == 4, "{set}:\n{error}");
    }
    let malformed = parse("duration = \n").unwrap_err().to_string();
    assert!(malformed.starts_with("box.toml:1:"), "{malformed}");
    let nothing = parse("").unwrap_err().to_string();
    assert!(nothing.contains("missing field `duration`"), "{nothing}");
}

/// What TOML may say but no key takes, or TOML has no room for: with its place, in the words of TOML, and
/// with or without changes.
#[test]
fn numbers_without_room_and_dates_are_refused_with_their_place() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("box.toml");
    for (old, new, place, part) in [
        (
            "seed = 3",
            "seed = 9223372036854775808",
            "box.toml:4:8",
            "seed = 9223372036854775808: expected an integer from",
        ),
        ("seed = 3", "seed = 0xFFFF_FFFF_FFFF_FFFF", "box.toml:4:8", "seed = 0xFFFFFFFFFFFFFFFF: expected an integer"),
        ("mass = 0.2", "mass = -9_223_372_036_854_775_809", "box.toml:17:8", "body.mass = -9223372036854775809: "),
        ("0.002]", "0.002], max = 1e400", "box.toml:21:40", "initial.pose.0.max = 1e400: expected"),
        (
            "mu_c = { uniform = [0.4, 0.8] }",
            "mu_c = 1979-05-27",
            "box.toml:12:8",
            "friction.mu_c = 1979-05-27: a date or time: expected",
        ),
        ("duration = 1.0", "duration = 07:32:00", "box.toml:2:12", "duration = 07:32:00: a date or time"),
        ("[0.15, 0.08]", "[0.15, 1979-05-27T07:32:00Z]", "", "body.inertia.rectangle.1 = 1979-05-27T07:32:00Z: a date"),
        ("kind = \"gripper\"", "kind = 1979-05-27", "", "body.kind = 1979-05-27: a date"),
        ("size = { uniform = [0.01, 0.03] }", "size.uniform = [0.01, 1979-05-27]", "", "patch.size.uniform.1 = 1979"),
    ] {
        let text = BOX.replacen(old, new, 1);
        assert_ne!(text, BOX, "{old}");
        std::fs::write(&path, &text).unwrap();
        for changes in [&[][..], &["contacts=2".to_owned(), "friction.sigma2=0".to_owned()]] {
            let error = Scenario::load(&path, changes).map(|_| ()).expect_err(new).to_string();
            assert!(error.contains(part) && error.contains(place), "{new}:\n{error}");
            assert!(!error.contains("private") && error.lines().count() == 4, "{new}:\n{error}");
        }
    }
    let extreme = BOX.replacen("seed = 3", "seed = 9223372036854775807", 1);
    assert_eq!(parse(&change(&extreme, "contacts=2").unwrap()).unwrap().contacts(), 2);
}

/// A value on the command line that is none is no text either.
#[test]
fn numbers_without_room_are_refused_on_the_command_line() {
    for (set, part) in [
        ("seed=9223372036854775808", "expected an integer from"),
        ("body.mass=0xFFFFFFFFFFFFFFFF", "0xFFFFFFFFFFFFFFFF: expected an integer from"),
        ("patch.cells=[9223372036854775808, 3]", "expected an integer from"),
        ("friction.mu_c=1e400", "1e400"),
    ] {
        let error = change(BOX, set).map(|_| ()).expect_err(set).to_string();
        assert!(error.contains(part) && !error.contains('"'), "{set}: {error}");
    }
    for text in ["patch.file=2024-05-01.npy", "patch.file=3d/map.npy", "friction.law=lugre"] {
        assert!(change(BOX, text).unwrap().contains('"'), "{text}");
    }
    let error = change("seed = 9223372036854775808", "contacts=2").map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("contacts=2") && error.contains("integer"), "{error}");
}

/// Rust's names of types are no words of TOML.
#[test]
fn errors_speak_of_numbers_and_tables() {
    for (set, part) in [
        ("seed=-1", "seed: invalid value: integer `-1`, expected a whole number >= 0"),
        ("contacts=2.5", "expected a whole number >= 0"),
        ("body.pads=true", "expected a whole number >= 0"),
        ("duration={ a = 1 }", "duration: invalid type: table, expected a number"),
        ("inputs.hold=[1]", "inputs.hold: invalid type: array, expected a number"),
        ("patch=3", "patch: invalid type: integer `3`, expected a table"),
        ("body.kind=3", "body.kind: expected a name in quotes"),
        ("initial.pose=[0, 0]", "initial.pose: invalid length 2, expected an array of length 3"),
    ] {
        let error = parse(&change(BOX, set).unwrap()).map(|_| ()).expect_err(set).to_string();
        assert!(error.contains(part), "{set}:\n{error}");
    }
}

#[test]
fn a_drawn_value_out_of_range_names_the_contact() {
    let text = change(BOX, "friction.mu_c={ normal = [0.3, 0.2] }").unwrap();
    let scenario = parse(&change(&text, "contacts=1000").unwrap()).unwrap();
    let error = scenario.check().unwrap_err().to_string();
    assert!(error.contains("contact ") && error.contains("friction.mu_c = -"), "{error}");
}

#[test]
fn maps_come_from_files_and_from_the_text() {
    let dir = tempfile::tempdir().unwrap();
    let text = change(BOX, "patch={ pressure = [[0, 1], [0, 0]] }").unwrap();
    let patch = parse(&text).unwrap().contact(0).unwrap().patch;
    assert_eq!(patch.weights(), [0.0, 0.0, 0.0, 1.0]);
    std::fs::write(dir.path().join("map.csv"), "x,y,w\n-0.001,0,1\n0.001,0,3\n").unwrap();
    let csv = change(BOX, "patch={ file = \"map.csv\" }").unwrap();
    let parse = |text: &str| Scenario::parse(text, dir.path(), "box.toml");
    let patch = parse(&csv).unwrap().contact(0).unwrap().patch;
    approx::assert_relative_eq!(patch.grid().dx, 0.002, max_relative = 1e-12);
    let wrong = |text: &str, change_: &str| parse(&change(text, change_).unwrap()).unwrap_err().to_string();
    assert!(wrong(&csv, "patch.cells=5").contains("patch.cells: 5 x 5, but the map of patch.file has 2 x 1"));
    assert!(wrong(&csv, "patch.file=none.csv").contains("none.csv"));
    assert!(
        wrong(BOX, "patch={ pressure = [[0, -1]] }")
            .contains("pressure of cell (ix = 1, iy = 0), from the lower left, is -1")
    );
    assert!(wrong(BOX, "patch={ pressure = [[0, 1], [1]] }").contains("expected 2, as in the first row"));
}

/// Frame `k` has all of its pressure in cell `k`.
#[test]
fn contacts_take_frames_of_a_file_or_the_one_that_is_named() {
    use npyz::WriterBuilder;
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, values: Vec<f64>| {
        let file = std::fs::File::create(dir.path().join(name)).unwrap();
        let options = npyz::WriteOptions::new().default_dtype().shape(&[4, 2, 2]);
        let mut writer = options.writer(file).begin_nd().unwrap();
        writer.extend(values).unwrap();
        writer.finish().unwrap();
    };
    write("frames.npy", (0..16).map(|i| f64::from(i % 5 == 0)).collect());
    let text = change(BOX, "patch={ file = \"frames.npy\" }").unwrap();
    let parse = |text: &str| Scenario::parse(text, dir.path(), "box.toml");
    // The top row is first.
    let cell = |k: usize| [2, 3, 0, 1][k];
    let scenario = parse(&change(&text, "contacts=400").unwrap()).unwrap();
    let mut taken = [0; 4];
    for k in 0..400 {
        let drawn = scenario.draw(k).unwrap();
        let frame = drawn.parameters.iter().find(|(name, _)| name == "patch.frame").unwrap().1 as usize;
        assert_eq!(drawn.contact.patch.weights()[cell(frame)], 1.0);
        taken[frame] += 1;
    }
    assert!(taken.iter().all(|n| (70..130).contains(n)), "{taken:?}");
    for frame in 0..4 {
        let scenario = parse(&change(&text, &format!("patch.frame={frame}")).unwrap()).unwrap();
        assert_eq!(scenario.contact(7).unwrap().patch.weights()[cell(frame)], 1.0);
    }
    let wrong = |text: &str, setting: &str| parse(&change(text, setting).unwrap()).unwrap_err().to_string();
    assert!(wrong(&text, "patch.frame=4").contains("patch.frame = 4: expected 0 to 3"));
    assert!(wrong(BOX, "patch.frame=0").contains("patch.frame: belongs to a `file`"));
    // The second half has no pressure: left out, unless it is asked for.
    write("half.npy", (0..16).map(|i| f64::from(i < 8)).collect());
    let text = change(&text, "patch.file=half.npy").unwrap();
    let half = parse(&change(&text, "contacts=100").unwrap()).unwrap();
    let frame = |k| half.draw(k).unwrap().parameters.iter().find(|(name, _)| name == "patch.frame").unwrap().1;
    assert!((0..100).all(|k| frame(k) <= 1.0) && (0..100).any(|k| frame(k) == 1.0));
    let error = wrong(&text, "patch.frame=2");
    assert!(error.contains("half.npy: frame 2: ") && error.contains("pressure > 0"), "{error}");
    write("none.npy", vec![0.0; 16]);
    assert!(wrong(&text, "patch.file=none.npy").contains("none.npy: none of 4 frames"));
    write("nan.npy", (0..16).map(|i| if i == 9 { f64::NAN } else { 1.0 }).collect());
    let error = wrong(&text, "patch.file=nan.npy");
    assert!(error.contains("nan.npy: frame 2: pressure of cell (ix = 1, iy = 1)"), "{error}");
}

/// Writes arrays as an NPZ, as NumPy's `savez` does.
fn write_npz(path: &Path, arrays: &[(&str, &[u64], Vec<f64>)]) {
    use std::io::Write;
    let mut zip = zip::ZipWriter::new(std::fs::File::create(path).unwrap());
    let options = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    for (name, shape, values) in arrays {
        let mut bytes = Vec::new();
        write_npy(&mut bytes, shape, values);
        zip.start_file(format!("{name}.npy"), options).unwrap();
        zip.write_all(&bytes).unwrap();
    }
    zip.finish().unwrap();
}

fn write_npy(to: impl std::io::Write, shape: &[u64], values: &[f64]) {
    use npyz::WriterBuilder;
    let mut writer = npyz::WriteOptions::new().default_dtype().shape(shape).writer(to).begin_nd().unwrap();
    writer.extend(values.iter().copied()).unwrap();
    writer.finish().unwrap();
}

/// Contacts whose mass and friction belong together.
const TABLE: &str = r#"
duration = 0.1
[table]
file = "contacts.csv"
[body]
kind = "gripper"
mass = { column = "mass" }
inertia = { column = "inertia" }
[friction]
mu_c = { column = "mu" }
[inputs]
normal_force = { column = "grip" }
gravity = [0, -9.81]
"#;

#[test]
fn rows_of_a_table_stay_together() {
    let dir = tempfile::tempdir().unwrap();
    let rows: Vec<[f64; 4]> =
        (0..7).map(f64::from).map(|k| [0.1 + k, 1e-4 * (1.0 + k), 0.3 + 0.1 * k, 2.0 + k]).collect();
    let lines = rows.iter().map(|[m, i, mu, f]| format!("{m}, {mu}, {f}, {i}\n"));
    std::fs::write(dir.path().join("contacts.csv"), lines.fold("mass,mu,grip,inertia\n".to_owned(), |all, l| all + &l))
        .unwrap();
    let parse = |text: &str| Scenario::parse(text, dir.path(), "box.toml");
    let row = |contact: &Contact| {
        let body = contact.body.free().unwrap();
        [body.mass, body.inertia, contact.friction.mu_c, contact.inputs.normal_force.value(0.0)]
    };
    let scenario = parse(TABLE).unwrap();
    assert_eq!(scenario.contacts(), 7, "as many as rows");
    (0..7).for_each(|k| assert_eq!(row(&scenario.contact(k).unwrap()), rows[k as usize]));
    let mass = scenario.draw(3).unwrap().parameters.into_iter().find(|(name, _)| name == "body.mass");
    assert_eq!(mass.unwrap().1, 3.1, "recorded as a number is");
    assert_eq!(parse(&change(TABLE, "contacts=2").unwrap()).unwrap().contacts(), 2);
    // In any order, rows are whole all the same.
    let random = change(&change(TABLE, "table.order=random").unwrap(), "contacts=700").unwrap();
    let random = parse(&random).unwrap();
    let mut taken = [0; 7];
    for k in 0..700 {
        let row = row(&random.contact(k).unwrap());
        taken[rows.iter().position(|known| *known == row).expect("a row of the table")] += 1;
    }
    assert!(taken.iter().all(|n| (60..140).contains(n)), "{taken:?}");
}

/// Recorded grips and frames: one row a contact, numbers along it over time.
#[test]
fn signals_and_frames_come_from_a_table() {
    let dir = tempfile::tempdir().unwrap();
    let grip = vec![1.0, 2.0, 4.0, 3.0, 3.0, 1.0];
    let times = vec![0.0, 0.05, 0.2];
    let arrays = [
        ("grip", &[2, 3][..], grip),
        ("time", &[3], times),
        ("frame", &[2], vec![2.0, 0.0]),
        ("mu", &[3], vec![0.5; 3]),
        ("holes", &[2], vec![0.5, f64::NAN]),
        ("late", &[3], vec![0.0, f64::NAN, 1.0]),
        ("light", &[2], vec![1.0, -1.0]),
        ("far", &[2], vec![99.0, 0.0]),
        ("cube", &[2, 1, 1], vec![0.0; 2]),
        ("none", &[0], vec![]),
        ("one", &[], vec![1.0]),
    ];
    write_npz(&dir.path().join("contacts.npz"), &arrays);
    let frames: Vec<f64> = (0..12).map(|i| if i / 4 == 1 { 0.0 } else { f64::from(i) }).collect();
    write_npy(std::fs::File::create(dir.path().join("frames.npy")).unwrap(), &[3, 2, 2], &frames);
    let text = r#"
duration = 0.1
[table]
file = "contacts.npz"
[patch]
file = "frames.npy"
frame = { column = "frame" }
[body]
kind = "gripper"
mass = 0.1
inertia = 1e-4
[inputs]
normal_force = { column = "grip", every = 0.1 }
"#;
    let parse = |text: &str| Scenario::parse(text, dir.path(), "box.toml");
    let scenario = parse(text).unwrap();
    assert_eq!(scenario.contacts(), 2);
    let grip = |text: &str, k: u64, t: f64| parse(text).unwrap().contact(k).unwrap().inputs.normal_force.value(t);
    for (k, t, value) in [(0, 0.05, 1.5), (0, 0.2, 4.0), (0, 9.0, 4.0), (1, 0.15, 2.0)] {
        approx::assert_relative_eq!(grip(text, k, t), value, max_relative = 1e-12);
    }
    let timed = text.replace("every = 0.1", "times = \"time\", interpolate = \"constant\"");
    assert_eq!([grip(&timed, 0, 0.04), grip(&timed, 0, 0.06), grip(&timed, 1, 0.3)], [1.0, 2.0, 1.0]);
    // The bottom row comes first in a patch: cells 8, 9 of frame 2 are its top row.
    let weights = |k| scenario.contact(k).unwrap().patch.weights().to_vec();
    for (k, pressure) in [(0, [10.0, 11.0, 8.0, 9.0]), (1, [2.0, 3.0, 0.0, 1.0])] {
        let sum: f64 = pressure.iter().sum();
        let shares = pressure.map(|p| p / sum);
        weights(k)
            .iter()
            .zip(shares)
            .for_each(|(w, share)| approx::assert_relative_eq!(*w, share, max_relative = 1e-14));
    }
    let chosen = parse(&change(text, "patch.frame={ choice = [0] }").unwrap()).unwrap();
    approx::assert_relative_eq!(chosen.contact(0).unwrap().patch.weights()[3], 1.0 / 6.0, max_relative = 1e-14);

    let wrong = |setting: &str| parse(&change(text, setting).unwrap()).unwrap_err().to_string();
    for (setting, place, part) in [
        ("contacts=3", "box.toml:", "contacts = 3: expected at most 2, the rows of the table"),
        ("body.mass={ column = \"mas\" }", "box.toml:", "body.mass: no column `mas` in the table"),
        ("body.mass={ column = \"grib\" }", "", "did you mean `grip`?"),
        ("body.mass={ column = \"grip\" }", "", "has 3 numbers a row, which is a signal"),
        ("body.mass={ column = \"mu\" }", "", "has 2 rows, but `mu` has 3"),
        ("body.mass={ column = \"holes\" }", "", "column `holes`, row 1: NaN: expected finite"),
        ("body.mass={ column = \"cube\" }", "", "column `cube`: an array of shape [2, 1, 1]: expected [rows]"),
        ("body.mass={ column = \"none\" }", "", "column `none`: an array of shape [0]: expected [rows]"),
        ("body.mass={ column = \"one\" }", "", "column `one`: an array of shape []: expected [rows]"),
        ("body.mass={ column = \"light\" }", "", "body.mass = -1 (row 1 of `light`): expected a finite number from"),
        ("inputs.normal_force={ column = \"grip\" }", "", "has 3 numbers a row"),
        (
            "inputs.normal_force={ column = \"grip\", times = \"mu2\" }",
            "",
            "times: no column `mu2` in the table: expected one of ",
        ),
        ("inputs.normal_force={ column = \"grip\", times = \"tme\" }", "", "did you mean `time`?"),
        (
            "inputs.normal_force={ column = \"grip\", times = \"grip\" }",
            "",
            "times = `grip`: 2 rows of 3 numbers: expected one array [3] for all rows",
        ),
        (
            "inputs.normal_force={ column = \"grip\", times = \"frame\" }",
            "",
            "times = `frame`: 2 numbers: expected one",
        ),
        ("inputs.normal_force={ column = \"grip\", times = \"late\" }", "", "times = `late`: number 1 in "),
        ("inputs.normal_force={ column = \"grip\", every = 0 }", "", "every = 0: expected a finite time"),
        ("table={ file = \"frames.npy\" }", "", "table.columns: missing: expected the names"),
        ("table.columns=[\"a\"]", "", "table.columns: only for an .npy"),
        ("table.file=\"none.npz\"", "box.toml:", "none.npz"),
        ("table.order=\"shuffled\"", "", "unknown variant `shuffled`"),
        ("patch.frame={ choice = [1] }", "", "patch.frame = 1: expected a frame with pressure, which this one has not"),
        ("patch.frame={ choice = [3] }", "", "patch.frame = 3: expected 0 to 2, one of the frames in "),
        ("patch.frame=3", "", "patch.frame = 3: expected 0 to 2, one of the frames in "),
        (
            "patch.frame={ column = \"far\" }",
            "",
            "contact 0 (row 0 of `far`): patch.frame = 99: expected 0 to 2, one of",
        ),
        ("patch.frame=0.5", "", "patch.frame: 0.5: expected an integer"),
        ("patch.frame={ uniform = [0, 2] }", "", "patch.frame: expected an integer"),
    ] {
        let message = wrong(setting);
        assert!(message.contains(place) && message.contains(part), "{setting}: {message}");
    }
    let none =
        text.replace("{ column = \"grip\", every = 0.1 }", "1").replace("frame = { column = \"frame\" }", "frame = 0");
    assert!(parse(&none).unwrap_err().to_string().contains("no column of it is used"));
}

/// Columns that are not used may hold anything.
#[test]
fn what_is_no_number_matters_where_it_is_used() {
    let dir = tempfile::tempdir().unwrap();
    let put = |text: &str| std::fs::write(dir.path().join("contacts.csv"), text).unwrap();
    let parse = |setting: &str| Scenario::parse(&change(TABLE, setting).unwrap(), dir.path(), "box.toml");
    let message = |setting: &str| parse(setting).unwrap_err().to_string();
    put("name,mass,mu,grip,inertia\na,1,0.5,2,1e-4\n# of another day\nb,-2,0.5,2,1e-4\nc,3,0.5,x,1e-4\n");
    let found = message("seed=1");
    assert!(found.contains("inputs.normal_force: column `grip`: line 5 has `x`: expected numbers"), "{found}");
    let found = message("inputs.normal_force=1");
    assert!(found.contains("body.mass = -2 (row 1 of `mass`): expected a finite number from"), "{found}");
    let found = message("inputs.normal_force={ column = 'name' }");
    assert!(found.contains("column `name`: line 2 has `a`: expected numbers"), "{found}");
    put("name,mass,mu,grip,inertia\na,1,0.5,2,1e-4\n\nb,2,0.5\n");
    let found = message("seed=1");
    assert!(found.contains("contacts.csv: line 4: 3 cells: expected 5, as in the header"), "{found}");
    put("mass,mu,grip,mass,inertia\n1,0.5,2,3,1e-4\n");
    let found = message("seed=1");
    assert!(found.contains("table.file: ") && found.contains("column `mass` is there twice"), "{found}");
    put("name,mass,mu,grip,inertia\na,1,0.5,2,1e-4\nb,2,0.5,2,1e-4\n");
    assert_eq!(parse("seed=1").unwrap().contacts(), 2);
    // Numbers that are drawn from a column and out of range only together with others.
    put("mass,mu,grip,inertia\n1,0.5,2,1e-4\n1,2,2,1e-4\n");
    let second = parse("friction.mu_s={ column = 'mass' }").unwrap().contact(1).unwrap_err().to_string();
    assert!(second.contains("contact 1 (row 1 of `mass`): friction.mu_s = 1: expected"), "{second}");
    // Names of an array's columns.
    let npy = |names: &str, shape: &[u64], values: &[f64]| {
        write_npy(std::fs::File::create(dir.path().join("t.npy")).unwrap(), shape, values);
        message(&format!("table={{ file = 't.npy', columns = {names} }}"))
    };
    for (names, shape, part) in [
        ("['mass', 'mass']", &[1, 2][..], "t.npy: column `mass` is there twice: expected each name once"),
        ("['mass']", &[1, 2], "t.npy: 1 names for 1 rows of 2 columns: expected a name for each"),
        ("['mass']", &[2], "t.npy: an array of shape [2]: expected rows and columns"),
    ] {
        let found = npy(names, shape, &[1.0, 2.0]);
        assert!(found.contains(part), "{found}");
    }
    write_npz(&dir.path().join("t.npz"), &[]);
    let found = message("table={ file = 't.npz' }");
    assert!(found.contains("t.npz: has no columns: expected at least one, of numbers"), "{found}");
}

/// `numpy.savez_compressed(file, mass=0.25 * np.arange(1, 41), name=["a"] * 40)` of NumPy.
#[test]
fn a_compressed_npz_of_numpy_is_read() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("packed.npz"), include_bytes!("../../../tests/fixtures/packed.npz")).unwrap();
    let text = change(&change(BOX, "table={ file = 'packed.npz' }").unwrap(), "body.mass={ column = 'mass' }").unwrap();
    let scenario = Scenario::parse(&change(&text, "contacts=40").unwrap(), dir.path(), "box.toml").unwrap();
    for k in 0..40 {
        assert_eq!(scenario.contact(k).unwrap().body.free().unwrap().mass, 0.25 * (k + 1) as f64);
    }
    // A file that is cut off, or not what it says.
    let whole = include_bytes!("../../../tests/fixtures/packed.npz");
    let start = whole.windows(8).position(|part| part == b"mass.npy").unwrap() + 40;
    let mut damaged = whole.to_vec();
    damaged[start..start + 40].fill(0xff);
    std::fs::write(dir.path().join("packed.npz"), damaged).unwrap();
    let message = Scenario::parse(&text, dir.path(), "box.toml").unwrap_err().to_string();
    assert!(message.contains("column `mass`: ") && message.contains("packed.npz: array mass: "), "{message}");
}

/// The row that a contact has drawn is recorded, and can be given in its place.
#[test]
fn a_drawn_row_is_a_parameter() {
    let dir = tempfile::tempdir().unwrap();
    let lines = (0..5).map(|k| format!("{k}.5,0.5,2,1e-4\n"));
    std::fs::write(dir.path().join("contacts.csv"), lines.fold("mass,mu,grip,inertia\n".to_owned(), |all, l| all + &l))
        .unwrap();
    let parse = |text: &str| Scenario::parse(text, dir.path(), "box.toml").unwrap();
    let in_order = parse(TABLE).parameters(3).unwrap();
    assert!(in_order.iter().all(|(name, _)| name != "table.row"), "{in_order:?}");
    let random = parse(&change(TABLE, "table.order=random").unwrap());
    assert_eq!(random.contacts(), 5, "as many as rows");
    for k in 0..20 {
        let parameters = random.parameters(k).unwrap();
        let of =
            |wanted: &str| parameters.iter().filter(|(name, _)| name == wanted).map(|(_, v)| *v).collect::<Vec<_>>();
        assert_eq!(of("body.mass"), [of("table.row")[0] + 0.5]);
        assert_eq!(of("table.row").len(), 1);
        let fourth = random.variant(k, 0, &[("table.row".to_owned(), 4.0)]).unwrap();
        assert_eq!(fourth.body.free().unwrap().mass, 4.5);
    }
    let none = random.variant(1, 0, &[("table.row".to_owned(), 5.0)]).unwrap_err().to_string();
    assert!(none.contains("table.row = 5: expected the number of one of 5, from 0"), "{none}");
}

#[test]
fn the_schema_names_every_table() {
    let schema = json_schema().to_string();
    for key in ["contacts", "normal_force", "mu_s_over_mu_c", "non-convex-2", "log_uniform", "curvature"] {
        assert!(schema.contains(key), "{key}");
    }
}

/// A hold of 10 ms over 1e7 s is 1e9 break points, which took 8 GB a contact: they are bounded as samples
/// are.
#[test]
fn break_points_of_inputs_are_bounded() {
    let long = |changes: &[&str]| {
        let all =
            ["duration=1e7", "record_every=1e6", "inputs.normal_force=2"].into_iter().chain(changes.iter().copied());
        parse(&all.fold(BOX.to_owned(), |text, c| change(&text, c).unwrap())).map_err(|e| e.to_string())
    };
    let wave = "{ mean = 2, sines = [{ amplitude = 1, frequency = 2 }] }";
    let (grip, held) = (format!("inputs.normal_force={wave}"), format!("inputs.wrench={{ tau = {wave} }}"));
    for (changes, field) in [
        (&[grip.as_str()][..], "inputs.normal_force = held every 0.01 s"),
        (&[&held], "inputs.wrench.tau = held every 0.01 s"),
        (
            &["friction={ mu_c = 0.4 }", "inputs.mu_s={ points = [[0, 0.6], [1, 0.5]] }"],
            "inputs.mu_s = held every 0.01 s",
        ),
        (&["patch={ shape = 'hertz' }"], "patch.update = every 0.01 s"),
        // Each alone is within the bound.
        (&["patch={ shape = 'hertz', update = 1.2 }", "inputs.hold=2", &grip], "patch.update = every 1.2 s"),
    ] {
        let message = long(changes).unwrap_err();
        let points = if field.contains("1.2") { "1.333e7" } else { "1.000e9" };
        let whole = format!(
            "{field}: expected at most 1e7 break points of all inputs of a contact over its 10000000 s, not {points}"
        );
        assert!(message.contains(&whole), "{changes:?}: {message}");
    }
    // Signals that are held alike have the same break points, and what never changes has none.
    for changes in
        [&["inputs.hold=1.2", &grip, &held][..], &["inputs.hold=1e-6"], &["patch={ shape = 'hertz', update = 1.2 }"]]
    {
        long(changes).unwrap();
    }
}

/// A contact that is drawn with some numbers given is the same in all others, and says what it cannot be
/// given.
#[test]
fn a_contact_is_drawn_with_numbers_given() {
    let text = "contacts = 4\nduration = 1\npatch = { shape = { choice = ['square', 'circle'] }, cells = 5 }\n\
         friction = { mu_c = { uniform = [0.4, 0.8] } }\n\
         body = { kind = 'gripper', mass = { uniform = [0.1, 0.2] }, inertia = { disc = 0.1 } }\n\
         inputs = { normal_force = 2 }\n";
    let scenario = Scenario::parse(text, ".".as_ref(), "given.toml").unwrap();
    let given = |name: &str, value: f64| vec![(name.to_owned(), value)];
    let number = |all: &[(String, f64)], name: &str| all.iter().find(|(n, _)| n == name).unwrap().1;
    for k in 0..20 {
        let (plain, changed) = (scenario.parameters(k).unwrap(), given("friction.mu_c", 0.5));
        let changed = scenario.variant_parameters(k, 0, &changed).unwrap();
        for ((name, before), (other, after)) in plain.iter().zip(&changed) {
            let wanted = match name.as_str() {
                "friction.mu_c" => 0.5,
                "friction.mu_s" => 0.5 * 1.2,
                _ => *before,
            };
            assert_eq!((name, wanted), (other, *after));
        }
        for shape in [0.0, 1.0] {
            let contact = scenario.variant(k, 0, &given("patch.shape", shape)).unwrap();
            assert_eq!(contact.patch.cells().len(), [25, 13][shape as usize]);
        }
        let again = scenario.variant_parameters(k, 1, &[]).unwrap();
        assert_ne!(number(&again, "body.mass"), number(&plain, "body.mass"), "another seed");
    }
    for (name, value, part) in [
        ("friction.mu_c", -1.0, "friction.mu_c = -1: expected a finite number from 1e-9 to 1e6"),
        ("friction.mu_c", f64::NAN, "friction.mu_c = NaN"),
        ("friction.mu_d", 0.5, "friction.mu_d = 0.5: expected a number that the contact is drawn with"),
        ("friction.mu_s", 0.9, "friction.mu_s = 0.9: expected a number that the contact is drawn with"),
        ("patch.shape", 2.0, "patch.shape = 2: expected the number of one of 2, from 0"),
    ] {
        let message = scenario.variant(1, 0, &given(name, value)).unwrap_err().to_string();
        assert!(message.contains(part) && message.contains("contact 1"), "{message}");
    }
}

/// What an error says in words is there in parts.
#[test]
fn an_error_has_field_value_and_what_is_accepted() {
    let part = |text: &str| match Scenario::parse(text, ".".as_ref(), "parts.toml").unwrap_err() {
        ScenarioError::Text(excerpt) => *excerpt,
        other => panic!("{other}"),
    };
    let rest = "duration = 1\nbody = { kind = 'prescribed' }\ninputs = { normal_force = 1, twist = { vx = 1 } }\n";
    let error = part(&format!("{rest}friction = {{ mu_c = -1 }}\n"));
    assert_eq!((error.field.as_deref(), error.value.as_deref()), (Some("friction.mu_c"), Some("-1")));
    assert_eq!((error.accepted.as_deref(), error.line), (Some("a finite number from 1e-9 to 1e6"), 4));
    let error = part(&format!("{rest}friction = {{ mu_d = 1 }}\n"));
    assert_eq!(error.suggestion.as_deref(), Some("`mu_c` or `mu_s` or `mu`"));
    assert!(error.accepted.unwrap().starts_with("one of `law`, `sigma0`"));
    let error = part(&format!("contacts = 'a'\n{rest}"));
    assert_eq!((error.field.as_deref(), error.value.as_deref()), (Some("contacts"), Some("'a'")));
    assert_eq!(error.accepted.as_deref(), Some("a whole number >= 0"));
}

/// A pressure of 20 kPa on two of eight cells of 5 mm x 2.5 mm is 0.5 N, whichever unit says so.
#[test]
fn pressure_with_a_unit_gives_the_normal_force() {
    let text = change(BOX, "patch={ pressure = [[20, 0, 0, 0], [0, 20, 0, 0]], size = [0.02, 0.005], unit = \"kPa\" }");
    let text = change(&text.unwrap(), "~inputs.normal_force").unwrap();
    let drawn = parse(&text).unwrap().draw(2).unwrap();
    assert!((drawn.contact.inputs.normal_force.value(0.3) - 0.5).abs() < 1e-12);
    let recorded = drawn.parameters.iter().find(|(name, _)| name == "inputs.normal_force").unwrap().1;
    assert_eq!(recorded, drawn.contact.inputs.normal_force.value(0.0));
    let pascal = change(&text, "patch.unit=Pa").unwrap();
    let force = parse(&pascal).unwrap().contact(2).unwrap().inputs.normal_force.value(0.0);
    assert!((force - 5e-4).abs() < 1e-15);
    // The area is that of the drawn size; frames have a force each.
    let dir = tempfile::tempdir().unwrap();
    let frames: Vec<f64> = (0..16).map(|i| f64::from(1000 * (1 + i / 4))).collect();
    write_npy(std::fs::File::create(dir.path().join("frames.npy")).unwrap(), &[4, 2, 2], &frames);
    let patch = "patch={ file = \"frames.npy\", unit = \"Pa\", size = { uniform = [0.01, 0.03] } }";
    let text = change(&change(BOX, patch).unwrap(), "~inputs.normal_force").unwrap();
    let scenario = Scenario::parse(&text, dir.path(), "frames.toml").unwrap();
    for k in 0..20 {
        let drawn = scenario.draw(k).unwrap();
        let number = |name: &str| drawn.parameters.iter().find(|(known, _)| known == name).unwrap().1;
        let wanted = 1000.0 * (1.0 + number("patch.frame")) * number("patch.size").powi(2);
        assert!((drawn.contact.inputs.normal_force.value(0.0) / wanted - 1.0).abs() < 1e-12);
    }
    for (changes, part) in [
        ("inputs.normal_force=1", "either `patch.unit`"),
        ("patch.unit=bar", "unknown variant `bar`, expected one of `Pa`, `kPa`, `MPa`"),
        ("patch={ shape = \"disc\", unit = \"Pa\" }", "belongs to a `file` that ends in .npy"),
    ] {
        let error = Scenario::parse(&change(&text, changes).unwrap(), dir.path(), "frames.toml").unwrap_err();
        assert!(error.to_string().contains(part), "{changes}: {error}");
    }
    // A megapascal is a newton on a square millimetre; a unit that is spelled nearly alike is never meant.
    let mega = change(&change(&text, "patch.unit=MPa").unwrap(), "patch.size=0.02").unwrap();
    let mega = Scenario::parse(&mega, dir.path(), "frames.toml").unwrap().variant(0, 0, &[("patch.frame".into(), 1.0)]);
    assert!((mega.unwrap().inputs.normal_force.value(0.0) / (2e9 * 4e-4) - 1.0).abs() < 1e-12);
    for unit in ["mPa", "hPa", "KPa", "MPA"] {
        let text = change(&text, &format!("patch.unit={unit}")).unwrap();
        let error = Scenario::parse(&text, dir.path(), "frames.toml").unwrap_err().to_string();
        assert!(error.contains("expected one of `Pa`, `kPa`, `MPa`") && !error.contains("did you mean"), "{error}");
    }
    // The force is all that acts.
    let alone = change(&text, "~inputs").unwrap();
    let alone = Scenario::parse(&alone, dir.path(), "frames.toml").unwrap();
    assert!(alone.contact(0).unwrap().inputs.normal_force.value(0.0) > 0.0);
    let missing = Scenario::parse(&change(BOX, "~inputs").unwrap(), dir.path(), "box.toml").unwrap_err().to_string();
    assert!(missing.contains("inputs.normal_force = missing: expected the normal force of one pad"), "{missing}");
    let missing = change(&change(BOX, "body={ kind = 'prescribed' }").unwrap(), "~inputs").unwrap();
    let missing = parse(&missing).unwrap_err().to_string();
    assert!(missing.contains("inputs.twist = missing"), "{missing}");
}

/// Readings of a sensor that does not read zero where nothing touches it.
#[test]
fn a_baseline_is_taken_off_and_readings_below_zero_are_counted() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, shape: &[u64], values: &[f64]| {
        write_npy(std::fs::File::create(dir.path().join(name)).unwrap(), shape, values);
    };
    // An offset of 5 and noise: nothing touches the sensor in frame 0.
    write("frames.npy", &[3, 1, 2], &[4.75, 5.0, 9.0, 4.5, 5.0, 7.0]);
    write("untouched.npy", &[1, 2], &[5.0, 4.75]);
    write("other.npy", &[2, 2], &[5.0; 4]);
    let text = "patch={ file = \"frames.npy\", unit = \"kPa\", size = [0.02, 0.01], baseline = 5, clip = true }";
    let text = change(&change(BOX, text).unwrap(), "~inputs.normal_force").unwrap();
    let parse = |text: &str, changes: &[&str]| {
        let text = changes.iter().fold(text.to_owned(), |text, c| change(&text, c).unwrap());
        Scenario::parse(&text, dir.path(), "box.toml")
    };
    let force = |contact: &Contact, t: f64| contact.inputs.normal_force.value(t) / 0.1;
    let one = |frame: f64, scenario: &Scenario| scenario.variant(0, 1, &[("patch.frame".into(), frame)]).unwrap();
    let scenario = parse(&text, &[]).unwrap();
    assert_eq!(scenario.clipped().unwrap(), Clipped { readings: 2, of: 6, lowest: -0.5 });
    let contact = one(1.0, &scenario);
    assert_eq!(contact.patch.weights(), [1.0, 0.0]);
    assert!((force(&contact, 0.0) - 4.0).abs() < 1e-12);
    assert!((force(&one(2.0, &scenario), 0.0) - 2.0).abs() < 1e-12);
    // Nothing touches the sensor in the first.
    assert!(scenario.variant(0, 1, &[("patch.frame".into(), 0.0)]).is_err());
    // A frame of its own for every cell; frames over time; a map in the text.
    let of_file = parse(&text, &["patch.baseline=untouched.npy"]).unwrap();
    assert_eq!(of_file.clipped().unwrap(), Clipped { readings: 2, of: 6, lowest: -0.25 });
    assert!((force(&one(2.0, &of_file), 0.0) - 2.25).abs() < 1e-12);
    assert_eq!(of_file.files().map(|(key, _)| key).collect::<Vec<_>>(), ["patch.file", "patch.baseline"]);
    assert_ne!(of_file.maps(), scenario.maps());
    let followed = parse(&text, &["patch.frames={ every = 0.1 }"]).unwrap();
    assert_eq!(followed.clipped(), scenario.clipped());
    let followed = followed.contact(0).unwrap();
    assert!([0.0, 4.0, 2.0].iter().enumerate().all(|(k, f)| (force(&followed, 0.1 * k as f64) - f).abs() < 1e-12));
    let rows = parse(&text, &["~patch.file", "patch.pressure=[[9, 4]]"]).unwrap();
    assert_eq!(rows.clipped().unwrap(), Clipped { readings: 1, of: 2, lowest: -1.0 });
    assert_eq!(parse(BOX, &[]).unwrap().clipped(), None);
    for (changes, part) in [
        (&["~patch.clip"][..], "`patch.clip = true` counts readings below zero as zero"),
        (&["patch.clip=false"], "frame 0: pressure of cell (ix = 0, iy = 0), from the lower left, is -0.25"),
        (&["~patch.clip", "patch.frames={ every = 0.1 }"], "`patch.clip = true` counts readings below zero"),
        (&["patch.baseline=other.npy"], "other.npy: 2 x 2 cells (columns x rows): expected 2 x 1, as the map"),
        (&["patch.baseline=frames.npy"], "frames.npy: has several frames: expected one map"),
        (&["patch.baseline=none.npy"], "none.npy"),
        (&["patch.baseline=nan"], "NaN: expected a finite number, or an `.npy` of one map"),
        (&["patch.baseline=[1]"], "expected a finite number, or an `.npy` of one map"),
        (
            &["inputs.normal_force=1", "patch={ baseline = 1 }"],
            "patch.baseline: belongs to a `file` that ends in .npy, or to `pressure`",
        ),
        (
            &["inputs.normal_force=1", "patch={ clip = true }"],
            "patch.clip: belongs to a `file` that ends in .npy, or to `pressure`",
        ),
    ] {
        let error = parse(&text, changes).map(drop).expect_err(part).to_string();
        assert!(error.contains(part), "{changes:?}: {error}");
    }
}

/// Signals whose times are those of another clock would be constant all the time.
#[test]
fn signals_of_another_clock_are_refused_unless_a_key_says_what_is_zero() {
    let dir = tempfile::tempdir().unwrap();
    let arrays = [
        ("grip", &[2, 3][..], vec![1.0, 2.0, 4.0, 3.0, 3.0, 1.0]),
        ("stamp", &[3], vec![1764093600.0, 1764093600.25, 1764093600.5]),
        ("nano", &[3], vec![0.0, 2.5e8, 5e8]),
    ];
    write_npz(&dir.path().join("table.npz"), &arrays);
    let text = format!("{BOX}\n[table]\nfile = \"table.npz\"\n").replace("contacts = 4\n", "");
    let of = |signal: &str| {
        let text = change(&text, &format!("inputs.normal_force={signal}")).unwrap();
        // A table that is not used is refused.
        let text = if signal.contains("column") { text } else { change(&text, "~table").unwrap() };
        Scenario::parse(&text, dir.path(), "box.toml")
    };
    let column = "{ column = \"grip\", times = \"stamp\"";
    let force = |scenario: Scenario, t: f64| scenario.contact(0).unwrap().inputs.normal_force.value(t);
    let held = of(&format!("{column}, times_from = \"first\", hold = 0.01 }}")).unwrap();
    assert!((force(held, 0.125) - 1.48).abs() < 1e-9);
    let late = of(&format!("{column}, times_from = 1764093599.9, interpolate = \"constant\" }}")).unwrap();
    assert_eq!(force(late, 0.4), 2.0);
    // A run may be shortened for a try.
    for signal in
        ["{ points = [[5, 1]] }", "{ points = [[-1, 1], [5, 2]] }", "{ points = [[50, 1], [60, 2], [70, 1]] }"]
    {
        of(signal).unwrap();
        of(&signal.replace("points", "interpolate = \"constant\", points")).unwrap();
    }
    of("{ segments = [{ from = 1e9, slope = 1 }] }").unwrap();
    // Drawn times may be inside.
    of("{ points = [[0, 1], [{ uniform = [0.5, 3] }, 2]], interpolate = \"constant\" }").unwrap();
    for (signal, part) in [
        (
            "{ points = [[1764093600.0, 1], [1764093600.5, 2]] }",
            "inputs.normal_force = times 1764093600 to 1764093600.5 s: expected several times [s] in the run, 0 to \
             1 s; or `times_from = \"first\"`, if the first of them is that of t = 0",
        ),
        ("{ points = [[0, 1], [1e8, 2], [2e8, 1]] }", "inputs.normal_force = times 0 to 200000000 s: expected several"),
        (
            "{ points = [[1e9, 1], [1.1e9, 2], [1.2e9, 1]], times_from = \"first\" }",
            "times 0 to 200000000 s after `times_from`: expected several times [s] in the run, 0 to 1 s",
        ),
        ("{ points = [[0, 1], [2e3, 3]], interpolate = \"constant\" }", "times 0 to 2000 s: expected several"),
        ("{ points = [[0, 1], [2e9, 3]] }", "times 0 to 2000000000 s: expected several"),
        ("{ points = [[1e9, 1]] }", "times 1000000000 s: expected a time [s] in the run, 0 to 1 s"),
        ("{ segments = [{ from = 5e9, value = 1 }, { from = 6e9, value = 2 }] }", "times 5000000000 to 6000000000 s:"),
        (
            "{ column = \"grip\", times = \"nano\", interpolate = \"constant\" }",
            "times 0 to 500000000 s: expected several",
        ),
        ("{ column = \"grip\", times = \"stamp\" }", "times 1764093600 to 1764093600.5 s: expected several"),
        ("{ column = \"grip\", times = \"nano\" }", "times 0 to 500000000 s: expected several"),
        ("{ column = \"grip\", every = 25 }", "times 0 to 50 s: expected several times [s] in the run, 0 to 1 s"),
        ("{ column = \"grip\", every = 0.1, times_from = \"first\" }", "`times_from` belongs to `points`, or to a"),
    ] {
        let error = of(signal).map(drop).expect_err(signal).to_string();
        assert!(error.contains(part), "{signal}: {error}");
    }
    // Every signal is looked at, those of bodies of a world, too.
    let points = "{ points = [[1e9, 1], [1000000001, 2]] }";
    for field in ["inputs.gravity.1", "inputs.wrench.tau", "inputs.mu_s"] {
        let text = change(BOX, "~friction.mu_s_over_mu_c").unwrap();
        let error = parse(&change(&text, &format!("{field}={points}")).unwrap()).unwrap_err().to_string();
        assert!(error.contains(&format!("{field} = times 1000000000 to 1000000001 s")), "{error}");
    }
    let world = "duration = 1\n[[bodies]]\nname = \"a\"\nshape = { sphere = 0.1 }\nmass = 1\n";
    let world = WorldScenario::parse(&format!("{world}torque = [0, {points}, 0]\n"), "w.toml").unwrap_err();
    assert!(world.to_string().contains("bodies.0.torque.1 = times 1000000000 to 1000000001 s"), "{world}");
}

/// Tables of NumPy's `savetxt`, and what spreadsheets write where the comma is in numbers.
#[test]
fn a_table_has_its_names_in_a_comment_and_its_columns_between_commas() {
    let dir = tempfile::tempdir().unwrap();
    let of = |text: &str| {
        std::fs::write(dir.path().join("contacts.csv"), text).unwrap();
        let scenario = change(&change(TABLE, "friction.mu_c=1").unwrap(), "body.inertia=1").unwrap();
        Scenario::parse(&scenario, dir.path(), "box.toml")
    };
    for text in
        ["# mass,grip\n0.1,2\n0.2,3\n", "# by hand\n# mass, grip\n0.1,2\n# then\n0.2,3", "mass,grip\n0.1,2\n0.2,3"]
    {
        let scenario = of(text).unwrap();
        assert_eq!(scenario.contacts(), 2, "{text:?}");
        let contact = scenario.contact(0).unwrap();
        assert_eq!((contact.body.free().unwrap().mass, contact.inputs.normal_force.value(0.0)), (0.1, 2.0));
    }
    for (text, part) in [
        ("mass;grip\n0,1;2\n", "contacts.csv: line 1: columns separated by semicolons (`;`): expected commas"),
        ("mass\tgrip\n0.1\t2\n", "contacts.csv: line 1: columns separated by tabs"),
        ("# mass grip\n0.1 2\n", "contacts.csv: line 2: columns separated by spaces"),
        ("0.1,2\n0.2,3\n", "no column `mass` in the table: expected one of 0.1, 2"),
    ] {
        let error = of(text).map(drop).expect_err(text).to_string();
        assert!(error.contains(part), "{text:?}: {error}");
    }
}

/// Half precision, as tactile loggers and networks write it.
#[test]
#[cfg(feature = "parquet")]
fn numbers_of_half_precision_are_read_from_every_kind_of_file() {
    use parquet::data_type::{FixedLenByteArray, FixedLenByteArrayType};
    use parquet::file::writer::SerializedFileWriter;
    let dir = tempfile::tempdir().unwrap();
    let halves = [1.5f32, 0.25].map(|v| half::f16::from_f32(v).to_le_bytes().to_vec());
    let header = "{'descr': '<f2', 'fortran_order': False, 'shape': (2, 1), }\n";
    let npy = [b"\x93NUMPY\x01\x00", &(header.len() as u16).to_le_bytes()[..], header.as_bytes(), &halves.concat()];
    std::fs::write(dir.path().join("contacts.npy"), npy.concat()).unwrap();
    let mut zip = zip::ZipWriter::new(std::fs::File::create(dir.path().join("contacts.npz")).unwrap());
    zip.start_file("mass.npy", zip::write::SimpleFileOptions::default()).unwrap();
    std::io::Write::write_all(&mut zip, &npy.concat()).unwrap();
    zip.finish().unwrap();
    let schema = "message rows { required fixed_len_byte_array(2) mass (FLOAT16); }";
    let schema = Arc::new(parquet::schema::parser::parse_message_type(schema).unwrap());
    let file = std::fs::File::create(dir.path().join("contacts.parquet")).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let values = halves.map(FixedLenByteArray::from);
    column.typed::<FixedLenByteArrayType>().write_batch(&values, None, None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
    for file in ["contacts.npy", "contacts.npz", "contacts.parquet"] {
        let text = ["friction.mu_c=1", "body.inertia=1", "inputs.normal_force=1", &format!("table.file={file}")]
            .iter()
            .fold(TABLE.to_owned(), |text, c| change(&text, c).unwrap());
        let text = if file.ends_with(".npy") { change(&text, "table.columns=['mass']").unwrap() } else { text };
        let scenario = Scenario::parse(&text, dir.path(), "box.toml").unwrap();
        let masses = [0, 1].map(|k| scenario.contact(k).unwrap().body.free().unwrap().mass);
        assert_eq!(masses, [1.5, 0.25], "{file}");
    }
    let text =
        change(&change(BOX, "patch={ file = 'contacts.npy', size = [0.01, 0.02] }").unwrap(), "contacts=1").unwrap();
    let patch = Scenario::parse(&text, dir.path(), "box.toml").unwrap().contact(0).unwrap().patch;
    assert_eq!(patch.weights(), [0.25 / 1.75, 1.5 / 1.75]);
}

/// What `stop_when` says is in the plan; limits that could never hold or always are refused.
#[test]
fn stop_when_is_checked_and_planned() {
    let with = |value: &str| parse(&change(BOX, &format!("stop_when={value}")).unwrap());
    let plan = with("{ displacement = 0.03, slip_for = 0.1 }").unwrap().plan();
    let wanted = bristle::StopWhen { displacement: Some(0.03), rotation: None, slip_for: Some(0.1) };
    assert_eq!(plan.stop_when, wanted);
    assert!(parse(BOX).unwrap().plan().stop_when.is_never());
    for (value, part) in [
        ("{ displacement = 0 }", "stop_when.displacement = 0"),
        ("{ rotation = -1.0 }", "stop_when.rotation = -1"),
        ("{ slip_for = nan }", "stop_when.slip_for = NaN"),
        ("{ rotation = inf }", "stop_when.rotation = inf"),
        ("{}", "one or several of `displacement`"),
        ("{ distance = 1.0 }", "unknown field `distance`"),
    ] {
        let error = with(value).unwrap_err().to_string();
        assert!(error.contains(part), "{value}: {error}");
    }
}

#[test]
fn a_size_that_is_given_counts_where_the_file_has_another() {
    let text = BOX.replace("size = { uniform = [0.01, 0.03] }", "size = 0.02");
    let scenario = parse(&text).unwrap();
    let given = |size: f64| scenario.variant(0, 3, &[("patch.size".to_owned(), size)]).unwrap().patch;
    let own = scenario.variant(0, 3, &[]).unwrap().patch;
    assert!(Arc::ptr_eq(&own, &given(0.02)), "contacts share a patch of the same size");
    let (other, ratio) = (given(0.03), own.radius() / 0.02);
    assert!((other.radius() / 0.03 - ratio).abs() < 1e-12 * ratio && other.weights() == own.weights());
    let of_file = parse(&text.replace("size = 0.02", "size = 0.03")).unwrap().variant(0, 3, &[]).unwrap().patch;
    assert!((other.grid().dx - of_file.grid().dx).abs() < 1e-15 && other.grid().nx == of_file.grid().nx);
}
