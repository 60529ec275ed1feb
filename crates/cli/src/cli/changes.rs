//! `--set`, `--unset` and their short forms such as `-n`: changes of a file, made in the order of the
//! arguments.

use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};

/// Arguments that are short for `--set`, of the commands that have them.
const SHORT: [&str; 5] = ["contacts", "seed", "record_every", "step", "tolerance"];

/// Changes as [`bristle_scenario::change`] takes them.
#[derive(Clone, Debug, Default)]
pub(super) struct Changes(pub Vec<String>, Places);

/// Where among the arguments the changes are, and those of [`SHORT`].
#[derive(Clone, Debug, Default)]
struct Places {
    changes: Vec<usize>,
    short: Vec<(&'static str, usize)>,
}

impl Changes {
    /// All changes with those of the arguments in [`SHORT`] that are given.
    pub fn with(&self, short: impl IntoIterator<Item = (&'static str, Option<String>)>) -> Vec<String> {
        let Self(changes, places) = self;
        let place = |name| places.short.iter().find(|(other, _)| *other == name).map_or(0, |(_, place)| *place);
        let short = short.into_iter().filter_map(|(name, change)| Some((place(name), change?)));
        let mut all: Vec<_> = places.changes.iter().copied().zip(changes.iter().cloned()).chain(short).collect();
        all.sort();
        all.into_iter().map(|(_, change)| change).collect()
    }
}

impl Args for Changes {
    fn augment_args(command: Command) -> Command {
        let argument =
            |name: &'static str, value| Arg::new(name).long(name).value_name(value).action(ArgAction::Append);
        let set = "Change a value of the file, such as `friction.mu_c=0.4` or `body.mass={ uniform = [1, 2] \
         }`; a key that is \
                   not there is added";
        let unset = "Remove a key of the file, such as `body.mass`, or several, `body.mass,body.inertia`";
        command
            .arg(argument("set", "KEY=VALUE").help(set))
            .arg(argument("unset", "KEY").value_delimiter(',').help(unset))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Changes {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let given = |name, start| {
            let values = matches.get_many::<String>(name).into_iter().flatten();
            matches.indices_of(name).into_iter().flatten().zip(values.map(move |value| format!("{start}{value}")))
        };
        let mut all: Vec<(usize, String)> = given("set", "").chain(given("unset", "~")).collect();
        all.sort();
        let (changes, list) = all.into_iter().unzip();
        // Not every command has them.
        let given = SHORT.into_iter().filter(|name| matches.try_contains_id(name).unwrap_or(false));
        let short = given.filter_map(|name| Some((name, matches.indices_of(name)?.next_back()?))).collect();
        Ok(Self(list, Places { changes, short }))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
