//! One request to the API server: bounded in time and size, tried again where that is safe.

use std::time::Duration;

use http::{Method, Request};
use kube::Client;
use kube::client::Body;
use serde_json::Value;

use super::kubeconfig::chain;
use super::status::Status;
use crate::base::digest::Hasher;
use crate::base::ids::Digest;
use crate::source::spec::ServiceAccount;

/// How long one answer may take.
pub(super) const TIMEOUT: Duration = Duration::from_secs(30);
/// How often a safe request is tried.
const TRIES: u32 = 6;
/// Longest wait that the server may ask for.
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// The field manager of every write.
pub(super) const MANAGER: &str = "holdfast";

/// JSON as it is.
pub(super) const JSON: &str = "application/json";
/// What a server-side apply sends.
pub(super) const APPLY: &str = "application/apply-patch+yaml";
/// A list of JSON patch operations.
pub(super) const JSON_PATCH: &str = "application/json-patch+json";
/// A part of an object that goes over what is there.
pub(super) const MERGE_PATCH: &str = "application/merge-patch+json";
/// Objects without their bodies.
pub(super) const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
/// Lists of objects without their bodies.
pub(super) const METADATA_LIST: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

/// A request.
#[derive(Debug, Clone)]
pub(super) struct Ask {
    method: Method,
    url: String,
    accept: &'static str,
    content: Option<(&'static str, Vec<u8>)>,
    /// The account as which it is asked; `None` is our own.
    account: Option<String>,
    /// Whether it writes nothing, so that it may be sent any number of times.
    safe: bool,
}

impl Ask {
    /// Tells it from any other of its method; `more` is what its answer depends on besides.
    pub(super) fn digest(&self, more: &str) -> Digest {
        let mut hasher = Hasher::default();
        let account = self.account.as_deref().unwrap_or_default();
        let body = self.content.as_ref().map(|(_, body)| body.as_slice()).unwrap_or_default();
        for part in [more.as_bytes(), account.as_bytes(), self.url.as_bytes(), body] {
            hasher.update(&part.len().to_be_bytes());
            hasher.update(part);
        }
        hasher.finish()
    }
}

/// Reads an answer's body, which must be an object: anything else from a server is damage, whatever is done with it next.
pub(super) fn object(body: &[u8]) -> Result<Value, String> {
    let value: Value = serde_json::from_slice(body).map_err(|e| e.to_string())?;
    if value.is_object() { Ok(value) } else { Err("it is no object".to_owned()) }
}

/// An answer that is a success.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    /// 200 or 201.
    pub(super) code: u16,
    /// The body.
    pub(super) body: Vec<u8>,
    /// What the server warns of.
    pub(super) warnings: Vec<String>,
}

/// Why there is none.
#[derive(Debug, Clone)]
pub(super) enum Failed {
    /// The server refuses.
    Status(Box<Status>),
    /// It isn't known whether the server took the request.
    Lost(String),
}

impl Failed {
    /// The HTTP status, if there is one.
    pub(super) fn code(&self) -> Option<u16> {
        match self {
            Self::Status(status) => Some(status.code),
            Self::Lost(_) => None,
        }
    }

    /// For people, of a request without an object.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Status(status) => status.text(),
            Self::Lost(text) => text.clone(),
        }
    }
}

impl Ask {
    /// Reads something.
    pub(super) fn get(url: impl Into<String>, accept: &'static str) -> Self {
        Self { method: Method::GET, url: url.into(), accept, content: None, account: None, safe: true }
    }

    /// Writes something, or asks what a write would do.
    pub(super) fn send(method: Method, url: impl Into<String>, kind: &'static str, body: &Value) -> Self {
        let url = url.into();
        let safe = url.contains("dryRun=All");
        Self { method, url, accept: JSON, content: Some((kind, body.to_string().into_bytes())), account: None, safe }
    }

    /// As another account: the server asks whether we may act as it, and then whether it may do this.
    pub(super) fn acting(mut self, account: Option<&ServiceAccount>) -> Self {
        self.account = account.map(|a| format!("system:serviceaccount:{}:{}", a.namespace, a.name));
        self
    }

    /// Asks something by a request that keeps nothing, so that it may be sent any number of times.
    pub(super) fn question(method: Method, url: impl Into<String>, kind: &'static str, body: &Value) -> Self {
        Self { safe: true, ..Self::send(method, url, kind, body) }
    }

    fn request(&self) -> Result<Request<Body>, Failed> {
        let mut request = Request::builder().method(self.method.clone()).uri(&self.url);
        request = request.header(http::header::ACCEPT, self.accept);
        if let Some(account) = &self.account {
            request = request.header("Impersonate-User", account);
        }
        let body = match &self.content {
            None => Body::empty(),
            Some((kind, body)) => {
                request = request.header(http::header::CONTENT_TYPE, *kind);
                Body::from(body.clone())
            }
        };
        request.body(body).map_err(|e| Failed::Lost(format!("the request can't be made: {e}")))
    }
}

/// Sends a request and reads its answer.
///
/// A safe one is sent again after an answer that may pass or that got lost; any is where the server said that it hasn't
/// looked at it (429). A write has `write` to be answered: no longer than its lease leaves.
pub(super) async fn send(client: &Client, ask: &Ask, write: Duration) -> Result<Answer, Failed> {
    let mut wait = Duration::from_millis(100);
    let mut tried = 0;
    loop {
        tried += 1;
        let failed = match once(client, ask, if ask.safe { TIMEOUT } else { write }).await {
            Ok(answer) => return Ok(answer),
            Err(failed) => failed,
        };
        let (again, asked) = match &failed {
            Failed::Lost(_) => (ask.safe, None),
            Failed::Status(status) => {
                ((ask.safe && status.may_pass()) || status.code == 429, status.retry_after.map(Duration::from_secs))
            }
        };
        if !again || tried >= TRIES {
            return Err(failed);
        }
        tokio::time::sleep(asked.unwrap_or(wait).min(LONGEST_WAIT)).await;
        wait *= 2;
    }
}

async fn once(client: &Client, ask: &Ask, timeout: Duration) -> Result<Answer, Failed> {
    let request = ask.request()?;
    let answer = tokio::time::timeout(timeout, async {
        let answer = client.send(request).await.map_err(|e| Failed::Lost(chain(&e)))?;
        let (parts, body) = answer.into_parts();
        let body = body.collect_bytes().await.map_err(|e| Failed::Lost(chain(&e)))?;
        Ok((parts, body))
    });
    let (parts, body) = answer
        .await
        .unwrap_or_else(|_| Err(Failed::Lost(format!("no answer within {} seconds", timeout.as_secs_f32()))))?;
    let code = parts.status.as_u16();
    let text = |value: &http::HeaderValue| value.to_str().ok().map(str::to_owned);
    if !parts.status.is_success() {
        let wait = parts.headers.get(http::header::RETRY_AFTER).and_then(text).and_then(|t| t.trim().parse().ok());
        return Err(Failed::Status(Box::new(Status::read(code, &body, wait))));
    }
    let warnings = parts.headers.get_all(http::header::WARNING).iter().filter_map(text);
    Ok(Answer { code, body: body.to_vec(), warnings: warnings.map(|text| warning(&text)).collect() })
}

/// Sends a request whose answer comes bit by bit for as long as it lasts; only its beginning is waited for.
pub(super) async fn open(client: &Client, ask: &Ask) -> Result<Body, Failed> {
    let request = ask.request()?;
    let begun = tokio::time::timeout(TIMEOUT, async {
        let answer = client.send(request).await.map_err(|e| Failed::Lost(chain(&e)))?;
        let (parts, body) = answer.into_parts();
        if parts.status.is_success() {
            return Ok(body);
        }
        let body = body.collect_bytes().await.map_err(|e| Failed::Lost(chain(&e)))?;
        Err(Failed::Status(Box::new(Status::read(parts.status.as_u16(), &body, None))))
    });
    let late = |_| Err(Failed::Lost(format!("no answer within {} seconds", TIMEOUT.as_secs())));
    begun.await.unwrap_or_else(late)
}

/// The text of a `Warning: 299 - "..."` header.
fn warning(header: &str) -> String {
    match (header.find('"'), header.rfind('"')) {
        (Some(start), Some(end)) if start < end => header[start + 1..end].replace("\\\"", "\"").replace("\\\\", "\\"),
        _ => header.to_owned(),
    }
}

/// A text as it must stand in a part of a URL.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}
