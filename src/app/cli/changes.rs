//! `--set` and `--unset`: changes of a file, in the order in which they are given.

use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};

/// Changes as [`crate::scenario::change`] takes them.
#[derive(Clone, Debug, Default)]
pub(super) struct Changes(pub Vec<String>);

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
        Ok(Self(all.into_iter().map(|(_, change)| change).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
