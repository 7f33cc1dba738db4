//! Somebody outside who writes to a cluster directly.
#![allow(dead_code)]

use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use http::{Method, Request};
use kube::client::Body;
use serde_json::{Value, json};

/// How long something may take to become so.
const PATIENCE: Duration = Duration::from_secs(60);

/// Serves each connection in a thread of its own, until it is over and one more comes.
pub fn serve<S: Send + Sync + 'static>(
    listener: TcpListener,
    shared: Arc<S>,
    is_over: impl Fn(&S) -> bool + Send + 'static,
    each: fn(&S, TcpStream),
) -> JoinHandle<()> {
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            if is_over(&shared) {
                return;
            }
            let (Ok(stream), shared) = (stream, shared.clone()) else { continue };
            std::thread::spawn(move || each(&shared, stream));
        }
    })
}

/// A connection of its own.
pub struct Hand {
    runtime: tokio::runtime::Runtime,
    client: kube::Client,
}

/// A client of the API server that a kubeconfig names, which tries nothing twice, and what drives it.
pub fn client(kubeconfig: &Path) -> (tokio::runtime::Runtime, kube::Client) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let client = runtime.block_on(async {
        let config = kube::config::Kubeconfig::read_from(kubeconfig).unwrap();
        let mut config = kube::Config::from_custom_kubeconfig(config, &Default::default()).await.unwrap();
        config.default_retry = false;
        kube::Client::try_from(config).unwrap()
    });
    (runtime, client)
}

impl Hand {
    pub fn new(kubeconfig: &Path) -> Self {
        let (runtime, client) = client(kubeconfig);
        Self { runtime, client }
    }

    /// One request; status and body, or nothing where there was no answer.
    pub fn ask(&self, method: Method, url: &str, kind: &str, body: Option<&Value>) -> Option<(u16, Value)> {
        let request = Request::builder().method(method).uri(url).header("Content-Type", kind);
        let body = body.map(|value| Body::from(value.to_string().into_bytes())).unwrap_or_else(Body::empty);
        self.runtime.block_on(async {
            let answer = self.client.send(request.body(body).unwrap()).await.ok()?;
            let code = answer.status().as_u16();
            let body = answer.into_body().collect_bytes().await.ok()?;
            Some((code, serde_json::from_slice(&body).unwrap_or_default()))
        })
    }

    /// Reads something in a form of its own.
    pub fn accepting(&self, url: &str, form: &str) -> Option<(u16, Value)> {
        let request = Request::builder().uri(url).header("Accept", form).body(Body::empty()).unwrap();
        self.runtime.block_on(async {
            let answer = self.client.send(request).await.ok()?;
            let code = answer.status().as_u16();
            let body = answer.into_body().collect_bytes().await.ok()?;
            Some((code, serde_json::from_slice(&body).unwrap_or_default()))
        })
    }

    pub fn answers(&self, url: &str) -> bool {
        self.ask(Method::GET, url, "application/json", None).is_some_and(|(code, _)| code == 200)
    }

    /// Lets a moment pass between two looks.
    pub fn rest(&self) {
        self.runtime.block_on(async { tokio::time::sleep(Duration::from_millis(50)).await });
    }

    /// An object; `None` if there is none.
    pub fn get(&self, url: &str) -> Option<Value> {
        match self.ask(Method::GET, url, "application/json", None).unwrap() {
            (200, value) => Some(value),
            (404, _) => None,
            (code, value) => panic!("{url}: {code} {value}"),
        }
    }

    /// Waits until something is so.
    pub fn until(&self, what: &str, mut is_so: impl FnMut() -> bool) {
        let until = Instant::now() + PATIENCE;
        while !is_so() {
            assert!(Instant::now() < until, "waited in vain: {what}");
            self.rest();
        }
    }

    /// Waits until nothing is left of what `left` finds.
    pub fn until_none(&self, what: &str, mut left: impl FnMut() -> Vec<String>) {
        let until = Instant::now() + PATIENCE;
        loop {
            let found = left();
            if found.is_empty() {
                return;
            }
            assert!(Instant::now() < until, "waited in vain until nothing was left {what}: {found:?}");
            self.rest();
        }
    }

    /// Makes an object or replaces it, as `actor`.
    pub fn put(&self, actor: &str, collection: &str, object: &Value) -> Value {
        let name = object["metadata"]["name"].as_str().unwrap();
        let url = format!("{collection}/{name}");
        let send = |method: Method, url: &str, object: &Value| {
            let url = format!("{url}?fieldManager={actor}");
            self.ask(method, &url, "application/json", Some(object)).unwrap()
        };
        let (code, value) = match self.get(&url) {
            None => {
                let mut new = object.clone();
                let metadata = new["metadata"].as_object_mut().unwrap();
                for key in ["uid", "resourceVersion", "managedFields", "creationTimestamp", "generation"] {
                    metadata.remove(key);
                }
                send(Method::POST, collection, &new)
            }
            Some(live) => {
                let mut new = object.clone();
                new["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"].clone();
                send(Method::PUT, &url, &new)
            }
        };
        assert!(code < 300, "{url}: {code} {value}");
        value
    }

    /// Deletes an object and waits until it is gone.
    pub fn delete(&self, url: &str) {
        let body = json!({"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"});
        self.ask(Method::DELETE, url, "application/json", Some(&body)).unwrap();
        self.until(url, || self.get(url).is_none());
    }
}
