//! A tiny http server on the loopback address: `git http-backend`, or a server that behaves badly.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// What the server does with a request.
#[derive(Clone)]
pub(crate) enum Manner {
    /// Serves the repositories of a folder.
    Serve(PathBuf),
    /// Serves them to whoever shows this `Authorization`.
    Ask(PathBuf, String),
    /// Says nothing, ever.
    Silent,
    /// Serves the refs, then says nothing.
    SilentPack(PathBuf),
    /// Sends everybody to another server.
    Redirect(String),
    /// Answers with this, whatever is asked.
    Say(Vec<u8>),
}

/// A running server; it ends with the test.
pub(crate) struct Server {
    pub(crate) port: u16,
    requests: Arc<AtomicUsize>,
}

impl Server {
    pub(crate) fn start(manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&requests);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (manner, counter) = (manner.clone(), Arc::clone(&counter));
                thread::spawn(move || answer(stream.unwrap(), &manner, &counter));
            }
        });
        Self { port, requests }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}/{path}", self.port)
    }

    pub(crate) fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }
}

fn answer(stream: TcpStream, manner: &Manner, counter: &AtomicUsize) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut line = String::new();
    if reader.read_line(&mut line).unwrap_or(0) == 0 {
        return;
    }
    counter.fetch_add(1, Ordering::SeqCst);
    let request: Vec<String> = line.split(' ').map(str::to_owned).collect();
    let (mut length, mut kind, mut authorization) = (0, String::new(), String::new());
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 || line.trim().is_empty() {
            break;
        }
        let (key, value) = line.split_once(':').unwrap();
        match key.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().unwrap(),
            "content-type" => kind = value.trim().to_owned(),
            "authorization" => authorization = value.trim().to_owned(),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    if reader.read_exact(&mut body).is_err() {
        return;
    }
    let out = match manner {
        Manner::Serve(root) => backend(root, &request, &kind, &body),
        Manner::Ask(root, wanted) if *wanted == authorization => backend(root, &request, &kind, &body),
        Manner::Ask(..) => {
            b"HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                .to_vec()
        }
        Manner::SilentPack(root) if request[0] == "GET" => backend(root, &request, &kind, &body),
        Manner::Silent | Manner::SilentPack(_) => loop {
            thread::park();
        },
        Manner::Redirect(to) => format!(
            "HTTP/1.1 302 Found\r\nLocation: {to}{}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            request[1]
        )
        .into_bytes(),
        Manner::Say(text) => text.clone(),
    };
    let mut stream = stream;
    let _ = stream.write_all(&out);
}

fn backend(root: &Path, request: &[String], kind: &str, body: &[u8]) -> Vec<u8> {
    let (path, query) = request[1].split_once('?').unwrap_or((&request[1], ""));
    let mut child = Command::new("git")
        .arg("http-backend")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_PROJECT_ROOT", root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("PATH_INFO", path)
        .env("QUERY_STRING", query)
        .env("REQUEST_METHOD", &request[0])
        .env("CONTENT_TYPE", kind)
        .env("CONTENT_LENGTH", body.len().to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let sent = body.to_vec();
    let writer = thread::spawn(move || stdin.write_all(&sent));
    let out = child.wait_with_output().unwrap().stdout;
    writer.join().unwrap().unwrap();
    let end = out.windows(4).position(|w| w == b"\r\n\r\n").unwrap();
    let head = String::from_utf8(out[..end].to_vec()).unwrap();
    let status = head.lines().find_map(|l| l.strip_prefix("Status: ")).unwrap_or("200 OK");
    let mut all =
        format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n{head}\r\n\r\n", out.len() - end - 4)
            .into_bytes();
    all.extend_from_slice(&out[end + 4..]);
    all
}
