//! Runs a page in headless Chromium and returns what the page posts. WebGPU runs there on SwiftShader, a
//! software driver that Chromium brings; its compiler of WGSL, Tint, holds shaders to all rules of the
//! language.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tiny_http::{Header, Method, Response, Server};

use crate::setup::BROWSERS;

/// Time within which a page must have posted its result. It is generous, as it only ends what hangs.
const LONGEST: Duration = Duration::from_secs(900);

/// The browser, ended when it is no longer needed.
struct Browser(Child);

impl Drop for Browser {
    fn drop(&mut self) {
        // A browser that has ended by itself is as good.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Browser {
    fn open(profile: &Path, address: &str, webgpu: bool) -> Result<Self, String> {
        let of_gpu: &[&str] = if webgpu {
            &["--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader"]
        } else {
            &["--disable-features=WebGPU,WebGPUService", "--disable-blink-features=WebGPU", "--disable-gpu"]
        };
        for name in BROWSERS {
            let started = Command::new(name)
                .args([
                    "--headless=new",
                    // A container's root has no sandbox; the page is our own.
                    "--no-sandbox",
                    "--disable-dev-shm-usage",
                    "--no-first-run",
                ])
                .args(of_gpu)
                .arg(format!("--user-data-dir={}", profile.display()))
                .arg(address)
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn();
            if let Ok(child) = started {
                return Ok(Self(child));
            }
        }
        Err(format!("no browser: none of {} is installed (on Debian: apt-get install chromium)", BROWSERS.join(", ")))
    }
}

fn content_type(kind: &str) -> Result<Header, String> {
    Header::from_bytes("Content-Type", kind).map_err(|()| format!("{kind}: no header"))
}

/// The file of `folder` that `url` names below `/files/`, and its type.
fn file(folder: &Path, url: &str) -> Option<(Vec<u8>, &'static str)> {
    let name = url.strip_prefix("/files/")?.split(['?', '#']).next()?;
    let name = if name.is_empty() { "index.html" } else { name };
    let kind = match Path::new(name).extension()?.to_str()? {
        "html" => "text/html",
        "js" => "text/javascript",
        "css" => "text/css",
        "wasm" => "application/wasm",
        "svg" => "image/svg+xml",
        _ => return None,
    };
    // The folder has no others below it.
    let is_plain = !name.contains(['/', '\\']) && !name.starts_with('.');
    Some((std::fs::read(folder.join(name)).ok().filter(|_| is_plain)?, kind))
}

/// What `page`, a script of a module, posts to `/result`; it finds `input` at `/input`, and the files of
/// `folder` below `/files/`. A failure of the script must be posted as `{"failed": ..}`. The browser has
/// WebGPU or not.
///
/// # Errors
/// No browser, one that posts nothing in time, or a script that fails.
pub fn run(page: &str, input: &Value, folder: Option<&Path>, webgpu: bool) -> Result<Value, String> {
    let server = Server::http("127.0.0.1:0").map_err(|e| e.to_string())?;
    let port = server.server_addr().to_ip().ok_or("the server has no port")?.port();
    let profile = tempfile::tempdir().map_err(|e| e.to_string())?;
    let _browser = Browser::open(profile.path(), &format!("http://localhost:{port}/"), webgpu)?;
    let page = format!(
        "<!doctype html><meta charset=utf-8><script type=module>\n\
         const post = (result) => fetch('/result', {{method: 'POST', body: JSON.stringify(result)}});\n\
         try {{\nconst input = await (await fetch('/input')).json();\n{page}\n}} \
         catch (e) {{ await post({{failed: String(e)}}); }}\n</script>\n"
    );
    let typed = |text: &str, kind: &str| Ok::<_, String>(Response::from_string(text).with_header(content_type(kind)?));
    let end = Instant::now() + LONGEST;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let request = server.recv_timeout(left).map_err(|e| e.to_string())?;
        let mut request = request.ok_or_else(|| format!("the browser posted nothing within {LONGEST:?}"))?;
        let answered = match (request.method(), request.url()) {
            (Method::Get, "/") => request.respond(typed(&page, "text/html")?),
            (Method::Get, "/input") => request.respond(typed(&input.to_string(), "application/json")?),
            (Method::Post, "/result") => {
                let mut body = String::new();
                request.as_reader().read_to_string(&mut body).map_err(|e| e.to_string())?;
                request.respond(Response::empty(204)).map_err(|e| e.to_string())?;
                let result: Value = serde_json::from_str(&body).map_err(|e| e.to_string())?;
                return match result.get("failed") {
                    Some(failed) => Err(format!("the page failed: {failed}")),
                    None => Ok(result),
                };
            }
            (Method::Get, url) => match folder.and_then(|folder| file(folder, url)) {
                Some((bytes, kind)) => request.respond(Response::from_data(bytes).with_header(content_type(kind)?)),
                None => request.respond(Response::empty(404)),
            },
            _ => request.respond(Response::empty(404)),
        };
        answered.map_err(|e| e.to_string())?;
    }
}
