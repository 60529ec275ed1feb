//! `bristle demo`: serves the page of `cargo xtask web` on this machine and opens it. In Python
//! `python/bristle/demo.py` does the same.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use bristle_serve::{Answer, Server};

use super::{Failure, print};

/// Where `cargo xtask web` puts the page.
const MADE: &str = "target/web";
/// Where archives of releases have it, beside the program.
const BESIDE: &str = "web";

#[derive(clap::Args)]
#[command(after_help = "Examples:
  bristle demo
  bristle demo site --port 8000 --no-open")]
pub(super) struct Demo {
    /// The folder of the page [default: `target/web`, or `web` beside the program].
    folder: Option<PathBuf>,
    /// The port of the address; 0 takes any that is free.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Only print the address, and open no browser.
    #[arg(long)]
    no_open: bool,
}

impl Demo {
    /// Serves the page until the program is ended.
    pub(super) fn run(&self) -> Result<(), Failure> {
        let places = match &self.folder {
            Some(folder) => vec![folder.clone()],
            None => [Some(PathBuf::from(MADE)), beside()].into_iter().flatten().collect(),
        };
        let Some(folder) = places.iter().find(|folder| folder.join("index.html").is_file()) else {
            let places: Vec<String> = places.iter().map(|folder| folder.display().to_string()).collect();
            let places = places.join(", ");
            let message = format!("{places}: no index.html: expected the folder that `cargo xtask web` makes");
            return Err(Failure::of_user(message));
        };
        let served = folder.clone();
        let server = Server::open(self.port, move |request| Answer::file(&served, request))
            .map_err(|e| Failure::of_machine(format!("127.0.0.1:{}: {e}", self.port)))?;
        let port = server.port();
        let address = format!("http://127.0.0.1:{port}/");
        print(&address)?;
        if !self.no_open {
            open(&address);
        }
        server.wait();
        Ok(())
    }
}

/// The folder beside the program that archives of releases have.
fn beside() -> Option<PathBuf> {
    Some(std::env::current_exe().ok()?.parent()?.join(BESIDE))
}

/// Opens an address in the visitor's browser; where there is none, the address has been printed.
fn open(address: &str) {
    let (program, arguments): (&str, &[&str]) = match std::env::consts::OS {
        "macos" => ("open", &[]),
        "windows" => ("rundll32", &["url.dll,FileProtocolHandler"]),
        _ => ("xdg-open", &[]),
    };
    let mut command = Command::new(program);
    let _ =
        command.args(arguments).arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
}
