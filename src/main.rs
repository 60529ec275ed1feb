//! The `bristle` program. See `bristle --help` and the README.

use std::process::ExitCode;

fn main() -> ExitCode {
    bristle::cli::main()
}
