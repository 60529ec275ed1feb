//! Contacts that have left are not stepped any further.

use bristle::StopWhen;
use bristle::contact::{Bristles, Contact, Form, Model};
use bristle::engine::{Engine, LEFT, Plan};
use bristle::friction::Law;
use bristle::patch::Shape;

use crate::Limits;
use crate::common::{WITH_THE_BODY, bits, dry, flat, free, of, on_table, prescribed, rollout, shape};

/// A block that has been sliding at `speed` [m/s] and slows down by `mu g`.
fn block(cells: usize, law: Law, speed: f64) -> Contact {
    let mut block = on_table(WITH_THE_BODY, &shape(cells, 0.02, Shape::Disc), dry(law, 0.4));
    free(&mut block).twist.vx = speed;
    block.initial.bristles = Bristles::Steady;
    block
}

/// Blocks from 0.5 m/s reach 12.3 mm after (v - sqrt(v^2 - 2 mu g d)) / (mu g) = 27.6 ms; those from 0.2 m/s
/// rest after 5.1 mm. A patch that turns with 2 rad/s reaches 0.301 rad after 150.5 ms. One that slides at 10
/// mm/s slides all the time.
pub fn a_contact_that_has_left_is_stopped_where_it_has_and_no_bit_changes_before(engine: &dyn Engine, _: &Limits) {
    let (every, when) = (1e-3, StopWhen { displacement: Some(0.0123), rotation: Some(0.301), slip_for: Some(0.2) });
    let reduced = |block: Contact| Contact { model: Model::Ellipsoid(Form::Consistent), ..block };
    let patch = shape(9, 0.02, Shape::Disc);
    let steady = |twist| {
        let mut moved = prescribed(&patch, dry(Law::ElastoPlastic, 0.4), twist, 1.0);
        moved.initial.bristles = Bristles::Steady;
        moved
    };
    // One that starts elsewhere, turned.
    let mut elsewhere = block(5, Law::ElastoPlastic, 0.5);
    elsewhere.initial.pose = [0.3, -0.2, 2.0].into();
    let far = ((0.5 - (0.25f64 - 2.0 * 0.4 * 9.81 * 0.0123).sqrt()) / (0.4 * 9.81) / every).ceil() as u64;
    assert_eq!(far, 28);
    let cases = [
        (block(5, Law::ElastoPlastic, 0.5), Some(far)),
        (block(5, Law::ElastoPlastic, 0.2), None),
        (block(9, Law::LuGre, 0.5), Some(far)),
        (block(9, Law::LuGre, 0.2), None),
        (reduced(block(5, Law::ElastoPlastic, 0.5)), Some(far)),
        (reduced(block(5, Law::ElastoPlastic, 0.2)), None),
        (elsewhere, Some(far)),
        (steady([0.0, 0.0, -2.0]), Some(151)),
        (steady([0.01, 0.0, 0.0]), Some(200)),
    ];
    let (contacts, wanted): (Vec<_>, Vec<_>) = cases.into_iter().unzip();
    let whole = Plan { keep_bristles: true, ..Plan::new(0.25, 2e-4, every).unwrap() };
    let plan = Plan { stop_when: when, ..whole.clone() };
    let (out, whole) = (rollout(engine, &contacts, &plan), rollout(engine, &contacts, &whole));
    let n = out.frames();
    for (k, wanted) in wanted.into_iter().enumerate() {
        let status = out.status[k];
        assert_eq!((status.left, status.failure), (wanted, None), "contact {k}");
        assert_eq!(whole.status[k].left, None);
        let Some(last) = wanted else {
            assert_eq!(bits(&out, k), bits(&whole, k), "contact {k}");
            continue;
        };
        assert_eq!(status.word() & LEFT, LEFT, "contact {k}");
        assert!(status.steps < whole.status[k].steps * (last + 2) / n as u64, "contact {k}: {status:?}");
        let there = last as usize + 1;
        let numbers = |t: &bristle::Trajectories| {
            let threes = [flat(of(&t.pose, k, n)), flat(of(&t.twist, k, n)), flat(of(&t.wrench, k, n))];
            let mut all: Vec<Vec<u64>> =
                threes.iter().map(|all| all[..3 * there].iter().map(|v| v.to_bits()).collect()).collect();
            all.extend(
                [&t.normal_force, &t.slip].map(|all| of(all, k, n)[..there].iter().map(|v| v.to_bits()).collect()),
            );
            all
        };
        assert_eq!(numbers(&out), numbers(&whole), "contact {k}");
        let after = [flat(&of(&out.pose, k, n)[there..]), of(&out.slip, k, n)[there..].to_vec()].concat();
        assert!(after.iter().all(|v| v.is_nan()), "contact {k}");
    }
}
