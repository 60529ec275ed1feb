//! The `bristle` program. See `bristle --help` and the README.

use std::process::ExitCode;

fn main() -> ExitCode {
    hush_mesa();
    bristle_cli::cli::main()
}

/// Mesa looks for a Wayland display in this directory, and where it is not set (in a container, say)
/// it calls that an error on stderr, once for every device. A directory without a display is as good to it
/// and says nothing.
fn hush_mesa() {
    const DIRECTORY: &str = "XDG_RUNTIME_DIR";
    if std::env::var_os(DIRECTORY).is_none() {
        // SAFETY: there are no other threads yet.
        #[expect(unsafe_code, reason = "the environment of a program that has just begun")]
        unsafe {
            std::env::set_var(DIRECTORY, std::env::temp_dir());
        }
    }
}
