//! A real control plane for tests: etcd, kube-apiserver and kube-controller-manager on free loopback ports.
//!
//! The processes end with this one, however it ends: each runs below a shell that waits for its standard input to close.
#![allow(dead_code)]

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use rcgen::{BasicConstraints, Certificate, CertificateParams, CertifiedIssuer, IsCa, KeyPair, SanType};

/// How long the control plane may take until it is ready.
const READY: Duration = Duration::from_secs(120);
/// The administrator's token.
const TOKEN: &str = "test-admin";

/// A running control plane.
pub struct ControlPlane {
    folder: tempfile::TempDir,
    children: Vec<Child>,
    /// The API server, and how it is started: it may be ended and started anew.
    api: Mutex<Option<Child>>,
    api_program: (PathBuf, Vec<String>),
    /// The API server.
    pub url: String,
    /// What it stores its objects in, over plain HTTP.
    pub etcd: String,
    /// A kubeconfig for its administrator.
    pub kubeconfig: PathBuf,
    /// Whether controllers run.
    pub has_controllers: bool,
}

/// Where the programs are; `None` if there are none and nothing to build them with.
fn assets() -> Option<&'static Path> {
    static ASSETS: OnceLock<Option<PathBuf>> = OnceLock::new();
    let found = ASSETS.get_or_init(|| {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/control-plane/build");
        let output = Command::new(script).stderr(Stdio::inherit()).output().unwrap();
        match output.status.code() {
            Some(0) => Some(PathBuf::from(String::from_utf8(output.stdout).unwrap().trim())),
            Some(3) => None,
            code => panic!("the control plane could not be built: {code:?}"),
        }
    });
    found.as_deref()
}

/// Why no control plane can run here; `None` if one can.
pub fn missing() -> Option<String> {
    assets().is_none().then(|| "no API server: neither KUBEBUILDER_ASSETS nor Go to build one".to_owned())
}

/// The one that all tests of a process share.
pub fn shared() -> &'static ControlPlane {
    static SHARED: OnceLock<ControlPlane> = OnceLock::new();
    SHARED.get_or_init(|| ControlPlane::start().unwrap())
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A program that ends when this process does.
fn spawn(log: &Path, program: &Path, args: &[String]) -> Child {
    let log = std::fs::File::create(log).unwrap();
    Command::new("sh")
        .args(["-c", r#"exec 3<&0; "$@" </dev/null 3<&- & p=$!; { read -r _ <&3; kill -9 "$p"; } 2>/dev/null & exec 3<&-; wait "$p""#, "sh"])
        .arg(program)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(log.try_clone().unwrap())
        .stderr(log)
        .spawn()
        .unwrap()
}

impl ControlPlane {
    /// Starts one of its own.
    pub fn start() -> Option<Self> {
        Self::start_with(&[])
    }

    /// The same, whose API server has further arguments.
    pub fn start_with(more: &[&str]) -> Option<Self> {
        let assets = assets()?;
        // A port that was free may be taken by the time that it is used.
        for _ in 0..3 {
            if let Some(started) = Self::attempt(assets, more) {
                return Some(started);
            }
        }
        panic!("the control plane did not become ready");
    }

    fn attempt(assets: &Path, more: &[&str]) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).display().to_string();
        let ca = certificates(folder.path());
        let (client, peer, api) = (free_port(), free_port(), free_port());
        let etcd = spawn(
            &folder.path().join("etcd.log"),
            &assets.join("etcd"),
            &[
                format!("--data-dir={}", at("etcd")),
                format!("--listen-client-urls=http://127.0.0.1:{client}"),
                format!("--advertise-client-urls=http://127.0.0.1:{client}"),
                format!("--listen-peer-urls=http://127.0.0.1:{peer}"),
                format!("--initial-advertise-peer-urls=http://127.0.0.1:{peer}"),
                format!("--initial-cluster=default=http://127.0.0.1:{peer}"),
                "--unsafe-no-fsync".into(),
                "--log-level=error".into(),
            ],
        );
        std::fs::write(folder.path().join("tokens"), format!("{TOKEN},admin,admin,system:masters\n")).unwrap();
        let more = more.iter().map(|arg| (*arg).to_owned());
        let arguments: Vec<String> = more
            .chain([
                format!("--etcd-servers=http://127.0.0.1:{client}"),
                format!("--secure-port={api}"),
                "--bind-address=127.0.0.1".into(),
                format!("--tls-cert-file={}", at("server.crt")),
                format!("--tls-private-key-file={}", at("server.key")),
                format!("--client-ca-file={}", at("ca.crt")),
                "--service-account-issuer=https://kubernetes.default.svc".into(),
                format!("--service-account-key-file={}", at("accounts.pub")),
                format!("--service-account-signing-key-file={}", at("accounts.key")),
                "--service-cluster-ip-range=10.0.0.0/16".into(),
                "--authorization-mode=RBAC".into(),
                format!("--token-auth-file={}", at("tokens")),
                "--disable-admission-plugins=ServiceAccount".into(),
            ])
            .collect();
        let (log, program) = (folder.path().join("kube-apiserver.log"), assets.join("kube-apiserver"));
        let apiserver = spawn(&log, &program, &arguments);
        let url = format!("https://127.0.0.1:{api}");
        let kubeconfig = folder.path().join("kubeconfig");
        std::fs::write(&kubeconfig, config(&url, &ca, TOKEN)).unwrap();
        let store = format!("127.0.0.1:{client}");
        let (api, api_program) = (Mutex::new(Some(apiserver)), (program, arguments));
        let children = vec![etcd];
        let mut made =
            Self { folder, children, api, api_program, url, etcd: store, kubeconfig, has_controllers: false };
        if !made.becomes_ready() {
            return None;
        }
        let manager = assets.join("kube-controller-manager");
        if manager.is_file() {
            let at = |name: &str| made.folder.path().join(name).display().to_string();
            let args = [
                format!("--kubeconfig={}", made.kubeconfig.display()),
                format!("--service-account-private-key-file={}", at("accounts.key")),
                format!("--root-ca-file={}", at("ca.crt")),
                "--leader-elect=false".into(),
                "--use-service-account-credentials=false".into(),
                "--secure-port=0".into(),
            ];
            let log = made.folder.path().join("kube-controller-manager.log");
            made.children.push(spawn(&log, &manager, &args));
            made.has_controllers = true;
        }
        Some(made)
    }

    /// Ends the API server, at once and in the midst of whatever it does. What it stored is there.
    pub fn stop_api(&self) {
        if let Some(api) = self.api.lock().unwrap().take() {
            end(api);
        }
    }

    /// Starts it anew, on the same port and store, and waits until it answers.
    pub fn start_api(&self) {
        let log = self.folder.path().join("kube-apiserver-again.log");
        *self.api.lock().unwrap() = Some(spawn(&log, &self.api_program.0, &self.api_program.1));
        let hand = self.hand();
        hand.until("the API server is back", || {
            hand.answers("/readyz") && hand.answers("/api/v1/namespaces/kube-system")
        });
    }

    fn becomes_ready(&mut self) -> bool {
        let hand = self.hand();
        let until = Instant::now() + READY;
        loop {
            if hand.answers("/readyz") && hand.answers("/api/v1/namespaces/kube-system") {
                return true;
            }
            let api = self.api.get_mut().unwrap();
            let ended = self.children.iter_mut().chain(api).any(|child| child.try_wait().unwrap().is_some());
            if ended || Instant::now() > until {
                return false;
            }
            // Nothing can be waited for but the answer itself.
            hand.rest();
        }
    }

    /// Somebody with all rights.
    pub fn hand(&self) -> super::hand::Hand {
        super::hand::Hand::new(&self.kubeconfig)
    }

    /// Stores an object past the API server, which takes some only from older versions of itself.
    pub fn store(&self, key: &str, object: &serde_json::Value) {
        use base64::Engine as _;
        use std::io::{Read, Write};
        let text = |text: &str| base64::engine::general_purpose::STANDARD.encode(text);
        let body = serde_json::json!({"key": text(&format!("/registry/{key}")), "value": text(&object.to_string())})
            .to_string();
        let mut stream = std::net::TcpStream::connect(&self.etcd).unwrap();
        let (host, length) = (&self.etcd, body.len());
        write!(
            stream,
            "POST /v3/kv/put HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }

    /// What a process wrote.
    pub fn log(&self, program: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(format!("{program}.log"))).unwrap_or_default()
    }
}

impl Drop for ControlPlane {
    fn drop(&mut self) {
        let api = self.api.get_mut().unwrap().take();
        let mut children = std::mem::take(&mut self.children);
        // The store goes last.
        let store = (!children.is_empty()).then(|| children.remove(0));
        children.into_iter().chain(api).chain(store).for_each(end);
    }
}

/// Ends a process, and the shell above it.
fn end(mut child: Child) {
    drop(child.stdin.take());
    let _ = child.wait();
}

/// An authority of its own, with a certificate for this machine and that one's key.
pub fn certified() -> (CertifiedIssuer<'static, KeyPair>, Certificate, KeyPair) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let ca = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    params.subject_alt_names.push(SanType::IpAddress("127.0.0.1".parse().unwrap()));
    let key = KeyPair::generate().unwrap();
    let certificate = params.signed_by(&key, &ca).unwrap();
    (ca, certificate, key)
}

/// Writes the certificates and keys; the authority's certificate.
fn certificates(folder: &Path) -> String {
    let write = |name: &str, text: String| std::fs::write(folder.join(name), text).unwrap();
    let (ca, certificate, key) = certified();
    write("server.crt", certificate.pem());
    write("server.key", key.serialize_pem());
    let accounts = KeyPair::generate().unwrap();
    write("accounts.key", accounts.serialize_pem());
    write("accounts.pub", accounts.public_key_pem());
    write("ca.crt", ca.pem());
    ca.pem()
}

/// A kubeconfig with everything in it.
pub fn config(url: &str, ca: &str, token: &str) -> String {
    use base64::Engine as _;
    let ca = base64::engine::general_purpose::STANDARD.encode(ca);
    serde_json::json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "test",
        "clusters": [{"name": "test", "cluster": {"server": url, "certificate-authority-data": ca}}],
        "users": [{"name": "test", "user": {"token": token}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
    })
    .to_string()
}
