//! Writes the page of files of `bristle bench --all`: `cargo xtask hardware` runs it with the page and the
//! files as arguments.

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1).map(std::path::PathBuf::from);
    let Some(page) = arguments.next() else {
        eprintln!("usage: hardware PAGE FILES..");
        return ExitCode::from(2);
    };
    let files: Vec<_> = arguments.collect();
    let written = bristle_bench::hardware::page_of(&files)
        .and_then(|text| std::fs::write(&page, text).map_err(|e| format!("{}: {e}", page.display())));
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("hardware: {e}");
            ExitCode::FAILURE
        }
    }
}
