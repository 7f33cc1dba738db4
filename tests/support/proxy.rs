//! A proxy before an API server that fails on purpose: at one write of an apply, or with one list.
#![allow(dead_code)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{Method, Request};
use http_body::Body as _;
use kube::client::Body;
use serde_json::Value;

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The server commits, and its answer gets lost.
    AnswerLost,
    /// The connection ends before the server sees the request.
    Cut,
    /// The answer ends in its middle.
    Torn,
    /// The server takes a while.
    Slow,
    /// The server answers with this code and has done nothing.
    Code(u16),
    /// From here on nothing reaches the server.
    Down,
    /// A list is empty.
    EmptyList,
    /// A list lacks every other item.
    PartialList,
    /// A list is what it was the first time.
    StaleList,
}

impl Fault {
    /// Those that concern a write.
    pub const OF_WRITES: [Self; 10] = [
        Self::AnswerLost,
        Self::Cut,
        Self::Torn,
        Self::Slow,
        Self::Code(409),
        Self::Code(429),
        Self::Code(500),
        Self::Code(503),
        Self::Code(504),
        Self::Down,
    ];
    /// Those that concern a list.
    pub const OF_LISTS: [Self; 3] = [Self::EmptyList, Self::PartialList, Self::StaleList];

    fn is_of_lists(self) -> bool {
        matches!(self, Self::EmptyList | Self::PartialList | Self::StaleList)
    }
}

type Hook = Box<dyn FnMut() + Send>;

/// What is to happen, and what did.
#[derive(Default)]
struct Plan {
    fault: Option<(Fault, usize)>,
    /// Done once, right before the fault is.
    hook: Option<Hook>,
    first: std::collections::BTreeMap<String, Vec<u8>>,
    /// How the next watches of a kind end, before they begin, and what is done right before that.
    watches: std::collections::VecDeque<(Watch, Hook)>,
    /// The versions from which no watch begins any more.
    forgotten: std::collections::BTreeSet<String>,
}

/// How a watch ends before it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Watch {
    /// The server has forgotten where it was to begin, and says so as its first event.
    Forgotten,
    /// The connection ends.
    Cut,
    /// The server answers with this code.
    Code(u16),
}

struct Shared {
    client: kube::Client,
    runtime: tokio::runtime::Runtime,
    plan: Mutex<Plan>,
    seen: AtomicUsize,
    down: AtomicBool,
    stop: AtomicBool,
}

/// A running proxy; it ends when it is dropped.
pub struct Proxy {
    shared: Arc<Shared>,
    /// Its address.
    pub url: String,
    thread: Option<std::thread::JoinHandle<()>>,
}

struct Answer {
    code: u16,
    head: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Proxy {
    /// Before the API server of a kubeconfig.
    pub fn before(kubeconfig: &Path) -> Self {
        let (runtime, client) = crate::hand::client(kubeconfig);
        let shared = Arc::new(Shared {
            client,
            runtime,
            plan: Mutex::default(),
            seen: AtomicUsize::new(0),
            down: AtomicBool::new(false),
            stop: AtomicBool::new(false),
        });
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let serving = shared.clone();
        let is_over = move |shared: &Shared| shared.stop.load(Ordering::SeqCst);
        let thread = crate::hand::serve(listener, serving, is_over, |shared, stream| drop(serve(shared, stream)));
        Self { shared, url, thread: Some(thread) }
    }

    /// From now on the `nth` write, or list, fails so; `hook` is done right before. Counting begins anew.
    pub fn fails(&self, fault: Fault, nth: usize, hook: impl FnMut() + Send + 'static) {
        self.reset();
        let mut plan = self.shared.plan.lock().unwrap();
        plan.fault = Some((fault, nth));
        plan.hook = Some(Box::new(hook));
    }

    /// Each of the next watches ends so, and `hook` is done right before it does.
    pub fn ends_watches(&self, how: &[Watch], hook: impl FnMut(usize) + Send + Clone + 'static) {
        let mut plan = self.shared.plan.lock().unwrap();
        plan.watches = how
            .iter()
            .enumerate()
            .map(|(nth, how)| {
                let mut hook = hook.clone();
                (*how, Box::new(move || hook(nth)) as Hook)
            })
            .collect();
    }

    /// From now on everything goes through.
    pub fn reset(&self) {
        let mut plan = self.shared.plan.lock().unwrap();
        (plan.fault, plan.hook) = (None, None);
        self.shared.seen.store(0, Ordering::SeqCst);
        self.shared.down.store(false, Ordering::SeqCst);
    }

    /// How many writes, or lists, came by since the counting began.
    pub fn seen(&self) -> usize {
        self.shared.seen.load(Ordering::SeqCst)
    }

    /// Whether the fault is still to come.
    pub fn is_armed(&self) -> bool {
        self.shared.plan.lock().unwrap().fault.is_some()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        drop(TcpStream::connect(self.url.trim_start_matches("http://")));
        drop(self.thread.take().map(std::thread::JoinHandle::join));
    }
}

/// A write of an object or of the state. Dry runs write nothing, and a lease is renewed whenever its time comes.
fn is_write(method: &Method, url: &str) -> bool {
    *method != Method::GET && !url.contains("dryRun=All") && !url.contains("/leases")
}

fn is_list(method: &Method, url: &str) -> bool {
    *method == Method::GET
        && url.contains("limit=")
        && !url.contains("labelSelector")
        && !url.contains("customresource")
}

fn serve(shared: &Shared, stream: TcpStream) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut stream = stream;
    while let Some((method, url, head, body)) = request(&mut reader)? {
        if url.contains("watch=1") {
            return watch(shared, &mut stream, &url, head);
        }
        let fault = due(shared, &method, &url);
        if shared.down.load(Ordering::SeqCst) || fault == Some(Fault::Cut) {
            return stream.shutdown(Shutdown::Both);
        }
        match fault {
            Some(Fault::Code(code)) => {
                let text = format!(
                    "{{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"message\":\"on purpose\",\"code\":{code}}}"
                );
                answer(&mut stream, &Answer { code, head: Vec::new(), body: text.into_bytes() }, false)?;
                continue;
            }
            Some(Fault::Slow) => {
                shared.runtime.block_on(async { tokio::time::sleep(Duration::from_millis(700)).await })
            }
            _ => {}
        }
        let Some(mut found) = forward(shared, method, &url, head, body) else {
            return stream.shutdown(Shutdown::Both);
        };
        match fault {
            Some(Fault::AnswerLost) => return stream.shutdown(Shutdown::Both),
            Some(fault) if fault.is_of_lists() => lie(shared, fault, &url, &mut found),
            _ => {
                let mut plan = shared.plan.lock().unwrap();
                plan.first.entry(url.clone()).or_insert_with(|| found.body.clone());
            }
        }
        answer(&mut stream, &found, fault == Some(Fault::Torn))?;
        if fault == Some(Fault::Torn) {
            return stream.shutdown(Shutdown::Both);
        }
    }
    Ok(())
}

/// A watch goes through bit by bit, until either side ends it.
fn watch(shared: &Shared, stream: &mut TcpStream, url: &str, head: Vec<(String, String)>) -> std::io::Result<()> {
    let from = url.split("resourceVersion=").nth(1).unwrap_or_default().split('&').next().unwrap_or_default();
    let planned = {
        let mut plan = shared.plan.lock().unwrap();
        let planned = match plan.forgotten.contains(from) {
            true => Some((Watch::Forgotten, Box::new(|| {}) as Hook)),
            false => plan.watches.pop_front(),
        };
        if matches!(planned, Some((Watch::Forgotten, _))) {
            plan.forgotten.insert(from.to_owned());
        }
        planned
    };
    let status = |code: u16| {
        format!(
            "{{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"message\":\"on purpose\",\"code\":{code}}}"
        )
    };
    if let Some((how, mut hook)) = planned {
        hook();
        let (code, body) = match how {
            Watch::Cut => return stream.shutdown(Shutdown::Both),
            Watch::Code(code) => (code, status(code)),
            Watch::Forgotten => (200, format!("{{\"type\":\"ERROR\",\"object\":{}}}\n", status(410))),
        };
        answer(stream, &Answer { code, head: Vec::new(), body: body.into_bytes() }, false)?;
        return stream.shutdown(Shutdown::Both);
    }
    let mut request = Request::builder().uri(url);
    for (name, value) in head {
        request = request.header(name, value);
    }
    shared.runtime.block_on(async {
        let Ok(found) = shared.client.send(request.body(Body::empty()).unwrap()).await else { return Ok(()) };
        write!(stream, "HTTP/1.1 {} X\r\nconnection: close\r\n\r\n", found.status().as_u16())?;
        let mut body = found.into_body();
        loop {
            let frame = std::future::poll_fn(|context| std::pin::Pin::new(&mut body).poll_frame(context)).await;
            let Some(Ok(frame)) = frame else { return stream.shutdown(Shutdown::Both) };
            if let Some(data) = frame.data_ref() {
                stream.write_all(data)?;
            }
        }
    })
}

/// The fault of this request, if it is its turn.
fn due(shared: &Shared, method: &Method, url: &str) -> Option<Fault> {
    let mut plan = shared.plan.lock().unwrap();
    let counts = match plan.fault {
        Some((fault, _)) if fault.is_of_lists() => is_list(method, url),
        _ => is_write(method, url),
    };
    if !counts {
        return None;
    }
    let nth = shared.seen.fetch_add(1, Ordering::SeqCst) + 1;
    let (fault, _) = plan.fault.filter(|(_, at)| *at == nth)?;
    plan.fault = None;
    if let Some(mut hook) = plan.hook.take() {
        hook();
    }
    if fault == Fault::Down {
        shared.down.store(true, Ordering::SeqCst);
    }
    Some(fault)
}

fn lie(shared: &Shared, fault: Fault, url: &str, found: &mut Answer) {
    if fault == Fault::StaleList {
        if let Some(first) = shared.plan.lock().unwrap().first.get(url) {
            found.body.clone_from(first);
        }
        return;
    }
    let mut list: Value = serde_json::from_slice(&found.body).unwrap_or_default();
    if let Some(items) = list.get_mut("items").and_then(Value::as_array_mut) {
        let mut nth = 0;
        items.retain(|_| {
            nth += 1;
            fault == Fault::PartialList && nth % 2 == 0
        });
        found.body = list.to_string().into_bytes();
    }
}

type Asked = (Method, String, Vec<(String, String)>, Vec<u8>);

fn request(reader: &mut BufReader<TcpStream>) -> std::io::Result<Option<Asked>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace();
    let (method, url) = (words.next().unwrap_or_default(), words.next().unwrap_or_default().to_owned());
    let method = Method::from_bytes(method.as_bytes()).unwrap();
    let (mut head, mut length) = (Vec::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse().unwrap(),
            "accept" | "content-type" | "impersonate-user" => head.push((name.to_owned(), value.to_owned())),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Some((method, url, head, body)))
}

fn forward(shared: &Shared, method: Method, url: &str, head: Vec<(String, String)>, body: Vec<u8>) -> Option<Answer> {
    let mut request = Request::builder().method(method).uri(url);
    for (name, value) in head {
        request = request.header(name, value);
    }
    shared.runtime.block_on(async {
        let answer = shared.client.send(request.body(Body::from(body)).unwrap()).await.ok()?;
        let code = answer.status().as_u16();
        let kept = |name: &str| {
            let values = answer.headers().get_all(name).iter();
            values.filter_map(|value| Some((name.to_owned(), value.to_str().ok()?.to_owned()))).collect::<Vec<_>>()
        };
        let head = [kept("content-type"), kept("warning"), kept("retry-after")].concat();
        let body = answer.into_body().collect_bytes().await.ok()?.to_vec();
        Some(Answer { code, head, body })
    })
}

fn answer(stream: &mut TcpStream, answer: &Answer, torn: bool) -> std::io::Result<()> {
    let mut text = format!("HTTP/1.1 {} X\r\ncontent-length: {}\r\n", answer.code, answer.body.len());
    for (name, value) in &answer.head {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str("\r\n");
    stream.write_all(text.as_bytes())?;
    stream.write_all(if torn { &answer.body[..answer.body.len() / 2] } else { &answer.body })?;
    stream.flush()
}
