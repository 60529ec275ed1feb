//! Serves a browser on this machine: each connection has a thread, takes one request, and is closed.
//!
//! `tiny_http` keeps connections, and leaves one without a thread if two open while one thread waits: the
//! browser then waited for five minutes, until it closed another.

use std::io::{self, BufWriter, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Longest head and longest body of a request \[byte\].
const MOST: [usize; 2] = [1 << 16, 1 << 28];
/// Most headers of a request.
const MOST_HEADERS: usize = 64;
/// How long a connection may say nothing: a browser opens some before it needs them.
const SILENT: Duration = Duration::from_secs(60);

/// What a browser asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// `GET`, `POST`, ..
    pub method: String,
    /// The address without the host, with what is behind a `?`.
    pub url: String,
    /// What it sends along.
    pub body: Vec<u8>,
}

/// What it gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// 200 if it is what was asked for.
    pub status: u16,
    /// `Content-Type`.
    pub kind: &'static str,
    /// The bytes.
    pub body: Vec<u8>,
}

impl Answer {
    /// These bytes.
    pub const fn of(kind: &'static str, body: Vec<u8>) -> Self {
        Self { status: 200, kind, body }
    }

    /// Nothing, with a status such as 204 or 404.
    pub const fn empty(status: u16) -> Self {
        Self { status, kind: "text/plain", body: Vec::new() }
    }

    /// The file of `folder` that a `GET` of `url` names, `index.html` for `/`; 404 for all else. Files of
    /// other kinds than a page has are not served, nor what lies in other folders.
    pub fn file(folder: &Path, request: &Request) -> Self {
        let found = || {
            let name = request.url.strip_prefix('/')?.split(['?', '#']).next()?;
            let name = if name.is_empty() { "index.html" } else { name };
            let is_plain = !name.contains(['/', '\\', ':', '%']) && !name.starts_with('.');
            let kind = match Path::new(name).extension()?.to_str()? {
                "html" => "text/html; charset=utf-8",
                "js" => "text/javascript; charset=utf-8",
                "css" => "text/css; charset=utf-8",
                "wasm" => "application/wasm",
                _ => return None,
            };
            let bytes = (is_plain && request.method == "GET").then(|| std::fs::read(folder.join(name)).ok())??;
            Some(Self::of(kind, bytes))
        };
        found().unwrap_or_else(|| Self::empty(404))
    }
}

/// A server on 127.0.0.1; it ends when it is dropped.
#[derive(Debug)]
pub struct Server {
    port: u16,
    ends: Arc<AtomicBool>,
    accepting: Option<JoinHandle<()>>,
}

impl Server {
    /// Answers requests at a port; 0 takes any that is free.
    ///
    /// # Errors
    /// A port that cannot be had.
    pub fn open(port: u16, answer: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let port = listener.local_addr()?.port();
        let (ends, answer) = (Arc::new(AtomicBool::new(false)), Arc::new(answer));
        let ending = Arc::clone(&ends);
        let accept = move || {
            for stream in listener.incoming() {
                if ending.load(Ordering::Acquire) {
                    return;
                }
                let answer = Arc::clone(&answer);
                // A visitor who has left gets no answer, and what is no request has none.
                if let Ok(stream) = stream {
                    thread::spawn(move || drop(serve(stream, &*answer)));
                }
            }
        };
        Ok(Self { port, ends, accepting: Some(thread::spawn(accept)) })
    }

    /// The port.
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Serves until the program ends.
    pub fn wait(mut self) {
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Release);
        // It looks once more when somebody connects.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
    }
}

/// Answers the request of a connection.
fn serve(mut stream: TcpStream, answer: &(dyn Fn(&Request) -> Answer + Send + Sync)) -> io::Result<()> {
    stream.set_read_timeout(Some(SILENT))?;
    let Some(request) = read(&mut stream)? else { return Ok(()) };
    let Answer { status, kind, body } = answer(&request);
    let mut out = BufWriter::new(&stream);
    write!(
        out,
        "HTTP/1.1 {status} \r\nContent-Type: {kind}\r\nContent-Length: {}\r\nCache-Control: no-cache\r\n\
         X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
        body.len()
    )?;
    out.write_all(&body)?;
    out.flush()
}

/// The request of a connection; none of one that is closed before it has said all.
fn read(stream: &mut impl Read) -> io::Result<Option<Request>> {
    let refused = |why: String| Err(io::Error::new(io::ErrorKind::InvalidData, why));
    let (mut bytes, mut part) = (Vec::new(), [0; 1 << 14]);
    loop {
        let count = stream.read(&mut part)?;
        if count == 0 {
            return Ok(None);
        }
        bytes.extend_from_slice(&part[..count]);
        let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
        let mut parsed = httparse::Request::new(&mut headers);
        let head = match parsed.parse(&bytes) {
            Err(e) => return refused(e.to_string()),
            Ok(httparse::Status::Partial) if bytes.len() > MOST[0] => return refused("a long head".to_owned()),
            Ok(httparse::Status::Partial) => continue,
            Ok(httparse::Status::Complete(head)) => head,
        };
        let (method, url) = (parsed.method.unwrap_or_default().to_owned(), parsed.path.unwrap_or_default().to_owned());
        let length = parsed.headers.iter().find(|header| header.name.eq_ignore_ascii_case("content-length"));
        let length = match length.map(|header| str::from_utf8(header.value).ok().and_then(|v| v.trim().parse().ok())) {
            None => 0,
            Some(Some(length)) if length <= MOST[1] => length,
            Some(_) => return refused("a length that is no number, or a long body".to_owned()),
        };
        let mut body = bytes.split_off(head);
        let left = length.saturating_sub(body.len());
        if stream.take(left as u64).read_to_end(&mut body)? < left {
            return Ok(None);
        }
        body.truncate(length);
        return Ok(Some(Request { method, url, body }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn get(url: &str) -> Request {
        Request { method: "GET".to_owned(), url: url.to_owned(), body: Vec::new() }
    }

    /// What a connection gets that says `text`.
    fn said(port: u16, text: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.write_all(text.as_bytes()).unwrap();
        let mut out = String::new();
        stream.read_to_string(&mut out).unwrap();
        out
    }

    #[test]
    fn files_of_the_folder_alone_are_served() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("page");
        fs::create_dir(&folder).unwrap();
        for name in ["page/index.html", "page/a.wasm", "page/notes", "secret.html"] {
            fs::write(dir.path().join(name), name).unwrap();
        }
        let text = |url: &str| String::from_utf8(Answer::file(&folder, &get(url)).body).unwrap();
        assert_eq!(text("/"), "page/index.html");
        assert_eq!(text("/index.html?pause"), "page/index.html");
        assert_eq!(Answer::file(&folder, &get("/a.wasm")).kind, "application/wasm");
        for url in ["/../secret.html", "/%2e%2e/secret.html", "/..\\secret.html", "/notes", "/none.js", ""] {
            assert_eq!(Answer::file(&folder, &get(url)), Answer::empty(404), "{url}");
        }
        let posted = Request { method: "POST".to_owned(), ..get("/") };
        assert_eq!(Answer::file(&folder, &posted), Answer::empty(404));
    }

    /// A browser opens connections that it does not use, and more at once than threads wait for: none waits
    /// for another.
    #[test]
    fn connections_do_not_wait_for_each_other() {
        let server = Server::open(0, |request| Answer::of("text/plain", request.url.as_bytes().to_vec())).unwrap();
        let port = server.port();
        let silent: Vec<TcpStream> = (0..20).map(|_| TcpStream::connect(("127.0.0.1", port)).unwrap()).collect();
        for round in 0..50 {
            let ask = |k: usize| thread::spawn(move || said(port, &format!("GET /{k} HTTP/1.1\r\nHost: here\r\n\r\n")));
            let asked: Vec<_> = (0..12).map(ask).collect();
            for (k, answer) in asked.into_iter().enumerate() {
                let answer = answer.join().unwrap();
                assert!(answer.starts_with("HTTP/1.1 200 "), "{round}: {answer}");
                assert!(answer.ends_with(&format!("\r\n\r\n/{k}")), "{round}: {answer}");
            }
        }
        drop(silent);
    }

    #[test]
    fn bodies_arrive_in_parts_and_what_is_no_request_has_no_answer() {
        let server = Server::open(0, |request| Answer::of("text/plain", request.body.clone())).unwrap();
        let port = server.port();
        let long = "x".repeat(300_000);
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        write!(stream, "POST /result HTTP/1.1\r\nContent-").unwrap();
        thread::sleep(Duration::from_millis(20));
        write!(stream, "Length: {}\r\n\r\n{}", long.len(), &long[..100_000]).unwrap();
        thread::sleep(Duration::from_millis(20));
        write!(stream, "{}", &long[100_000..]).unwrap();
        let mut out = String::new();
        stream.read_to_string(&mut out).unwrap();
        assert!(out.ends_with(&long) && out.starts_with("HTTP/1.1 200 "), "{}", out.len());
        for wrong in ["no request\r\n\r\n", "GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n"] {
            assert_eq!(said(port, wrong), "", "{wrong}");
        }
    }
}
