//! An admission webhook over TLS on a loopback port, as an API server calls it.
#![allow(dead_code)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};

/// What it says to one request of an AdmissionReview: the patch of a JSON Patch, or why not.
type Says = dyn Fn(&Value) -> Result<Vec<Value>, String> + Send + Sync;

struct Shared {
    tls: Arc<ServerConfig>,
    says: Box<Says>,
    stop: AtomicBool,
}

/// A running webhook; it ends when it is dropped.
pub struct Webhook {
    shared: Arc<Shared>,
    address: String,
    ca: String,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Webhook {
    pub fn new(says: impl Fn(&Value) -> Result<Vec<Value>, String> + Send + Sync + 'static) -> Self {
        let (ca, certificate, key) = crate::control_plane::certified();
        let tls = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], PrivateKeyDer::Pkcs8(key.serialize_der().into()))
            .unwrap();
        let shared = Arc::new(Shared { tls: Arc::new(tls), says: Box::new(says), stop: AtomicBool::new(false) });
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let serving = shared.clone();
        let is_over = move |shared: &Shared| shared.stop.load(Ordering::SeqCst);
        let thread = crate::hand::serve(listener, serving, is_over, |shared, stream| drop(serve(shared, stream)));
        Self { shared, address, ca: ca.pem(), thread: Some(thread) }
    }

    /// What an API server calls it by.
    pub fn client_config(&self) -> Value {
        json!({"url": format!("https://{}/", self.address), "caBundle": BASE64.encode(&self.ca)})
    }
}

impl Drop for Webhook {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        drop(TcpStream::connect(&self.address));
        drop(self.thread.take().map(std::thread::JoinHandle::join));
    }
}

fn serve(shared: &Shared, stream: TcpStream) -> std::io::Result<()> {
    let connection = ServerConnection::new(shared.tls.clone()).unwrap();
    let mut stream = BufReader::new(StreamOwned::new(connection, stream));
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if stream.read_line(&mut line)? == 0 {
                return Ok(());
            }
            let line = line.trim_end().to_ascii_lowercase();
            if let Some(found) = line.strip_prefix("content-length: ") {
                length = found.parse().unwrap();
            }
            if line.is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body)?;
        let review: Value = serde_json::from_slice(&body).unwrap_or_default();
        let request = &review["request"];
        let mut response = json!({"uid": request["uid"]});
        match (shared.says)(request) {
            Ok(patch) if patch.is_empty() => response["allowed"] = true.into(),
            Ok(patch) => {
                response["allowed"] = true.into();
                response["patchType"] = "JSONPatch".into();
                response["patch"] = BASE64.encode(Value::Array(patch).to_string()).into();
            }
            Err(why) => {
                response["allowed"] = false.into();
                response["status"] = json!({"message": why});
            }
        }
        let answer =
            json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}).to_string();
        let head =
            format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", answer.len());
        let to = stream.get_mut();
        to.write_all(head.as_bytes())?;
        to.write_all(answer.as_bytes())?;
        to.flush()?;
    }
}
