//! `bristle torsion`: a patch as the one number that simulators have for torsional friction.

use std::f64::consts::PI;

use rayon::prelude::*;
use serde_json::{Value, json};

use super::Failure;
use super::pressed::{PressedArguments, Source, digits, swept_text};
use bristle::limit_surface::Surface;
use bristle_data::surfaces::{PressedPatch, RuleError, Torsion};

#[derive(clap::Args)]
#[command(after_help = "Examples:
  bristle torsion patch.toml --mu 0.8
  bristle torsion my.toml --f-n 5 --json
  bristle torsion map.toml --sweep patch.frame=all --json")]
pub(super) struct TorsionArguments {
    #[command(flatten)]
    pressed: PressedArguments,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

impl TorsionArguments {
    pub(super) fn run(&self) -> Result<(), Failure> {
        let source = self.pressed.source(false)?;
        let all = (0..source.patches.len()).into_par_iter().map(|k| report(&source, k));
        let reports: Vec<Value> = all.collect::<Result<_, _>>()?;
        source.print(&reports, self.json, text)
    }
}

/// What simulators are told of patch `k`.
fn report(source: &Source, k: usize) -> Result<Value, Failure> {
    let PressedPatch { patch, rule, mu, f_n } = &source.patches[k];
    let surface = Surface::new(patch, *rule);
    let Torsion { radius, ellipsoid, cylinder } = Torsion::new(&surface).map_err(Failure::of_user)?;
    let error = |e: RuleError| json!({ "most": e.most, "least": e.least, "mean": e.mean });
    let mut found = json!({
        "r": radius,
        "moment": mu * radius * f_n,
        "mujoco": { "condim": 4, "cone": "elliptic", "friction": [mu, mu * radius] },
        "physx": {
            "staticFriction": mu,
            "dynamicFriction": mu,
            "torsionalPatchRadius": 0.0,
            "minTorsionalPatchRadius": radius,
        },
        // The moment is 3 pi/16 times this radius.
        "sdf": { "mu": mu, "coefficient": mu, "use_patch_radius": true, "patch_radius": 16.0 * radius / (3.0 * PI) },
        "bullet": { "lateral_friction": mu, "spinning_friction": mu * radius },
        "error": { "ellipsoid": error(ellipsoid), "cylinder": error(cylinder) },
    });
    if let Some(axes) = patch.friction_axes() {
        found["axes"] = json!({ "along": mu, "across": mu * axes.across(), "angle": axes.angle() });
    }
    Ok(source.report(k, found))
}

fn text(report: &Value) -> String {
    let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
    let word = |key: &str| report[key].as_str().unwrap_or_default();
    let show = |value: &Value| value.as_f64().map_or_else(|| value.to_string(), |v| v.to_string());
    let mut text = swept_text(report);
    let [r, moment] = ["r", "moment"].map(|key| digits(number(&report[key])));
    text += &format!(
        "mu = {} ({}), f_N = {} N ({}), r = {r} m, rule {}: at most mu r f_N = {moment} N m about the normal\n",
        show(&report["mu"]),
        word("mu_from"),
        show(&report["f_n"]),
        word("f_n_from"),
        word("rule"),
    );
    if let Some(axes) = report["axes"].as_object() {
        let [along, across, angle] = ["along", "across", "angle"].map(|key| digits(number(&axes[key])));
        text += &format!(
            "friction by direction: mu is {along} along the axis at {angle} rad, and {across} across it; what is \
             written below is the number along it\n"
        );
    }
    let mu = digits(number(&report["mu"]));
    let spin = digits(number(&report["bullet"]["spinning_friction"]));
    let patch_radius = digits(number(&report["sdf"]["patch_radius"]));
    text += &format!(
        "\nMJCF (MuJoCo), with <option cone=\"elliptic\"/>
  <geom condim=\"4\" friction=\"{mu} {spin}\"/>
USD (PhysX), at the collider and at its material
  prepend apiSchemas = [\"PhysxCollisionAPI\"]
  float physxCollision:torsionalPatchRadius = 0
  float physxCollision:minTorsionalPatchRadius = {r}
  float physics:staticFriction = {mu}
  float physics:dynamicFriction = {mu}
SDF (Gazebo with ODE), in <surface><friction>
  <ode><mu>{mu}</mu><mu2>{mu}</mu2></ode>
  <torsional>
    <coefficient>{mu}</coefficient><use_patch_radius>1</use_patch_radius><patch_radius>{patch_radius}</patch_radius>
  </torsional>
URDF (Bullet), in <link>; the other body has lateral friction 1 and spinning friction 0
  <contact><lateral_friction value=\"{mu}\"/><spinning_friction value=\"{spin}\"/></contact>
\nby how much more or less than the patch they hold, of loads in all directions at one contact point
"
    );
    // Zero has no minus.
    let percent = |v: &Value| format!("{:+.1} %", (1000.0 * number(v)).round() / 10.0 + 0.0);
    for (name, key) in [("MuJoCo, an ellipsoid", "ellipsoid"), ("the others, each limit for itself", "cylinder")] {
        let error = &report["error"][key];
        let [most, least] = ["most", "least"].map(|key| percent(&error[key]));
        let mean = 100.0 * number(&error["mean"]);
        text += &format!("  {name}: {least} to {most}, {mean:.1} % in the mean\n");
    }
    text.trim_end().to_owned()
}
