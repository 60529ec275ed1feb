//! Runs a page in headless Chromium and returns what the page posts. WebGPU runs there on SwiftShader, a
//! software driver that Chromium brings; its compiler of WGSL, Tint, holds shaders to all rules of the
//! language.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use bristle_serve::{Answer, Request, Server};
use serde_json::Value;

use crate::setup::BROWSERS;

/// Time within which a page must have posted its result. It is generous, as it only ends what hangs.
const LONGEST: Duration = Duration::from_secs(900);

/// Time within which the browser writes down what the page said before it posted; usual are milliseconds.
const WRITTEN: Duration = Duration::from_secs(60);

/// What the page says to the console before it posts its result: all earlier messages are written then.
const LAST: &str = "This is the last message.";

/// What Chromium itself says to the console, of the machine and not of the page.
const OF_MACHINE: [&str; 2] = ["WebGPU is experimental on this platform", "Failed to create WebGPU Context Provider"];

/// The browser, ended when it is no longer needed.
struct Browser {
    child: Child,
    /// The file of what it writes to the standard error, with all messages of the console.
    log: PathBuf,
}

impl Drop for Browser {
    fn drop(&mut self) {
        // A browser that has ended by itself is as good.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Browser {
    /// With WebGPU the visitor prefers dark pages, so that both kinds are seen.
    fn open(folder: &Path, address: &str, webgpu: bool) -> Result<Self, String> {
        let of_gpu: &[&str] = if webgpu {
            &["--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader", "--blink-settings=preferredColorScheme=0"]
        } else {
            &["--disable-features=WebGPU,WebGPUService", "--disable-blink-features=WebGPU", "--disable-gpu"]
        };
        let log = folder.join("log");
        for name in BROWSERS {
            let written = fs::File::create(&log).map_err(|e| format!("{}: {e}", log.display()))?;
            let started = Command::new(name)
                .args([
                    "--headless=new",
                    // A container's root has no sandbox; the page is our own.
                    "--no-sandbox",
                    "--disable-dev-shm-usage",
                    "--no-first-run",
                    "--enable-logging=stderr",
                ])
                .args(of_gpu)
                .arg(format!("--user-data-dir={}", folder.join("profile").display()))
                .arg(address)
                .stdout(Stdio::null())
                .stderr(written)
                .spawn();
            if let Ok(child) = started {
                return Ok(Self { child, log });
            }
        }
        Err(format!("no browser: none of {} is installed (on Debian: apt-get install chromium)", BROWSERS.join(", ")))
    }

    /// The messages of the console until [`LAST`], of pages, frames and the browser, without those of
    /// [`OF_MACHINE`].
    fn messages(&self) -> Result<Vec<String>, String> {
        let end = Instant::now() + WRITTEN;
        loop {
            let log = fs::read(&self.log).map_err(|e| format!("{}: {e}", self.log.display()))?;
            let log = String::from_utf8_lossy(&log);
            let said: Vec<&str> =
                log.lines().filter_map(|line| line.split_once(":CONSOLE")).map(|(_, of)| of).collect();
            if let Some(last) = said.iter().position(|message| message.contains(LAST)) {
                let is_of_page = |message: &&&str| !OF_MACHINE.iter().any(|of_machine| message.contains(of_machine));
                return Ok(said[..last].iter().filter(is_of_page).map(ToString::to_string).collect());
            }
            if Instant::now() > end {
                return Err(format!("the browser has not written down `{LAST}` within {WRITTEN:?}"));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// What `page`, a script of a module, posts to `/result`; it finds `input` at `/input`, and the files of
/// `folder` below `/files/`. The browser has WebGPU or not. What is said to the console after `last()` is no
/// fault.
///
/// # Errors
/// No browser, one that posts nothing in time, a script that fails, or anything that is said to the console.
pub fn run(page: &str, input: &Value, folder: Option<&Path>, webgpu: bool) -> Result<Value, String> {
    let page = format!(
        "<!doctype html><meta charset=utf-8><script type=module>\n\
         const last = () => console.info('{LAST}');\n\
         const post = (result) => {{\nlast();\n\
         return fetch('/result', {{method: 'POST', body: JSON.stringify(result)}});\n}};\n\
         try {{\nconst input = await (await fetch('/input')).json();\n{page}\n}} \
         catch (e) {{ await post({{failed: String(e)}}); }}\n</script>\n"
    );
    let (input, folder) = (input.to_string(), folder.map(Path::to_owned));
    let (posted, results) = mpsc::channel();
    let answer = move |request: &Request| match (request.method.as_str(), request.url.as_str()) {
        ("GET", "/") => Answer::of("text/html", page.clone().into_bytes()),
        ("GET", "/input") => Answer::of("application/json", input.clone().into_bytes()),
        ("POST", "/result") => {
            // Who waits no longer wants none.
            let _ = posted.send(request.body.clone());
            Answer::empty(204)
        }
        (_, url) => match (&folder, url.strip_prefix("/files")) {
            (Some(folder), Some(url)) => Answer::file(folder, &Request { url: url.to_owned(), ..request.clone() }),
            _ => Answer::empty(404),
        },
    };
    let server = Server::open(0, answer).map_err(|e| e.to_string())?;
    let of_browser = tempfile::tempdir().map_err(|e| e.to_string())?;
    let address = format!("http://localhost:{}/", server.port());
    let browser = Browser::open(of_browser.path(), &address, webgpu)?;
    let body = results.recv_timeout(LONGEST).map_err(|_| format!("the browser posted nothing within {LONGEST:?}"))?;
    let result: Value = serde_json::from_slice(&body).map_err(|e| e.to_string())?;
    let messages = browser.messages()?;
    match result.get("failed") {
        Some(failed) => Err(format!("the page failed: {failed}; its console: {messages:?}")),
        None if !messages.is_empty() => Err(format!("the page says to the console: {messages:?}")),
        None => Ok(result),
    }
}
