//! `bristle demo`: serves the page of `cargo xtask web` on this machine and opens it. In Python
//! `python/bristle/demo.py` does the same.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tiny_http::{Header, Method, Response, Server};

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
        // Nobody but this machine is served.
        let server = Server::http(("127.0.0.1", self.port))
            .map_err(|e| Failure::of_machine(format!("127.0.0.1:{}: {e}", self.port)))?;
        let port = server.server_addr().to_ip().map_or(self.port, |address| address.port());
        let address = format!("http://127.0.0.1:{port}/");
        print(&address)?;
        if !self.no_open {
            open(&address);
        }
        for request in server.incoming_requests() {
            // A visitor who has left gets no answer.
            let _ = match file(folder, request.method(), request.url()) {
                Some((bytes, kind)) => request.respond(Response::from_data(bytes).with_header(kind)),
                None => request.respond(Response::empty(404)),
            };
        }
        Ok(())
    }
}

/// The folder beside the program that archives of releases have.
fn beside() -> Option<PathBuf> {
    Some(std::env::current_exe().ok()?.parent()?.join(BESIDE))
}

/// The file of `folder` that is asked for, and the header that says its kind.
fn file(folder: &Path, method: &Method, url: &str) -> Option<(Vec<u8>, Header)> {
    let name = url.strip_prefix('/')?.split(['?', '#']).next()?;
    let name = if name.is_empty() { "index.html" } else { name };
    // All files of the page lie in the folder itself.
    let is_plain = *method == Method::Get && !name.contains(['/', '\\', ':', '%']) && !name.starts_with('.');
    let kind = match Path::new(name).extension()?.to_str()? {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "wasm" => "application/wasm",
        _ => return None,
    };
    let bytes = is_plain.then(|| fs::read(folder.join(name)).ok())??;
    Some((bytes, Header::from_bytes("Content-Type", kind).ok()?))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_folder_alone_are_served() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("page");
        fs::create_dir(&folder).unwrap();
        for name in ["page/index.html", "page/a.wasm", "page/notes", "secret.html"] {
            fs::write(dir.path().join(name), name).unwrap();
        }
        let found = |url: &str| file(&folder, &Method::Get, url).map(|(bytes, _)| String::from_utf8(bytes).unwrap());
        assert_eq!(found("/").as_deref(), Some("page/index.html"));
        assert_eq!(found("/index.html?pause").as_deref(), Some("page/index.html"));
        let (_, kind) = file(&folder, &Method::Get, "/a.wasm").unwrap();
        assert_eq!(kind.value.as_str(), "application/wasm");
        for url in ["/../secret.html", "/%2e%2e/secret.html", "/..\\secret.html", "/notes", "/none.js", ""] {
            assert_eq!(found(url), None, "{url}");
        }
        assert!(file(&folder, &Method::Post, "/").is_none());
    }
}
