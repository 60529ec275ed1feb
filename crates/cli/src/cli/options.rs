//! Rewrites errors of the library: options of the command line replace the names of fields.

use super::Failure;
use bristle_data::rollout::RolloutError;
use bristle_scenario::ScenarioError;

/// Settings of a run and of engines, and their options.
const OF_RUNS: [(&str, &str); 6] = [
    ("`out`", "`--out`"),
    ("`force`", "`--force`"),
    ("`resume`", "`--resume`"),
    ("`contacts`", "`-n`"),
    ("`record_every`", "`--record-every`"),
    ("`engine = \"cpu\"`", "`--engine cpu`"),
];
/// Phrases about changes of a scenario. They are whole phrases, because a scenario has fields with the same
/// names.
const OF_SCENARIOS: [(&str, &str); 3] = [
    ("; unsetting `", "; on the command line `--unset "),
    ("(see the sweep `", "(see `--sweep "),
    ("(see sweeps)", "(see `--sweep`)"),
];

/// A number of things, from 1 on.
pub(super) fn whole<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| "expected a whole number, 1 or more".to_owned())
}

/// The seed of random numbers, an integer of TOML.
pub(super) fn seed(text: &str) -> Result<u64, String> {
    let seed = text.parse().ok().filter(|seed| i64::try_from(*seed).is_ok());
    seed.ok_or_else(|| format!("expected a whole number from 0 to {}", i64::MAX))
}

fn replace(text: &str, all: &[(&str, &str)]) -> String {
    all.iter().fold(text.to_owned(), |text, (field, option)| text.replace(field, option))
}

/// An error of an engine.
pub(super) fn of_engine(error: &str) -> String {
    replace(error, &OF_RUNS)
}

/// An error of a run.
pub(super) fn of_run(error: &RolloutError) -> String {
    match error {
        RolloutError::Scenario(error) => of_scenario(error),
        error => replace(&error.to_string(), &OF_RUNS),
    }
}

/// The failure of a run.
pub(super) fn failure(e: RolloutError) -> Failure {
    let told = of_run(&e);
    if e.is_users() { Failure::of_user(told) } else { Failure::of_machine(told) }
}

/// An error of a scenario.
pub(super) fn of_scenario(error: &ScenarioError) -> String {
    match error {
        ScenarioError::Override { change, reason } if change.starts_with('~') => {
            format!("`--unset {}`: {reason}", &change[1..])
        }
        error => replace(&error.to_string(), &OF_SCENARIOS),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bristle_scenario::change;

    #[test]
    fn errors_name_fields_in_the_library_and_options_on_the_command_line() {
        let there = RolloutError::Exists("runs/a".into());
        assert_eq!(there.to_string(), "runs/a exists: expected a new directory (`out`), or `force` to replace it");
        assert_eq!(of_run(&there), "runs/a exists: expected a new directory (`--out`), or `--force` to replace it");
        let wrong = change("[friction]\n", "~friction.mu").unwrap_err();
        assert!(wrong.to_string().starts_with("`~friction.mu`: "), "{wrong}");
        assert!(of_scenario(&wrong).starts_with("`--unset friction.mu`: "), "{wrong}");
        let unknown = "unknown field `force`, expected one of `contacts`, `record_every`";
        assert_eq!(replace(unknown, &OF_SCENARIOS), unknown);
    }
}
