//! git over https, with certificates of a test's own.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use libtest_mimic::Trial;

use crate::lab::{Lab, Said, source};
use crate::{needs_program, trial};

pub fn trials() -> Vec<Trial> {
    vec![trial("https::a_certificate_must_be_trusted_and_for_the_hosts_name", needs, a_certificate_must_be_trusted)]
}

fn needs() -> Option<String> {
    needs_program("openssl", &["version"]).or_else(|| needs_program("python3", &["--version"]))
}

fn a_certificate_must_be_trusted() {
    let lab = Lab::new();
    let repo = lab.repo("repo");
    repo.write("a.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n");
    let commit = repo.commit("one");
    let (certificate, key) = (lab.path().join("c.pem"), lab.path().join("k.pem"));
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"])
        .args(["-addext", "subjectAltName=DNS:localhost", "-keyout"])
        .arg(&key)
        .arg("-out")
        .arg(&certificate)
        .stderr(Stdio::null())
        .status();
    assert!(made.unwrap().success());
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/sources/https_server.py");
    let mut server = Command::new("python3")
        .arg(script)
        .args([repo.folder.as_path(), &certificate, &key])
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut port = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut port).unwrap();
    let empty = lab.path().join("empty.pem");
    fs::write(&empty, "").unwrap();
    let plan = |host: &str, trusted: &Path| {
        let url = format!("https://{host}:{}/.git", port.trim());
        lab.configure(&[source(&url, "shop", "  namespaces: [shop]\n  clusterKinds: [Namespace]")]);
        let mut command = lab.command(&["plan", "-o", "json"]);
        command.env("SSL_CERT_FILE", trusted).env("SSL_CERT_DIR", lab.path());
        Said::of(command.output().unwrap())
    };
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        assert_eq!(plan("localhost", &certificate).ok().json()["sources"][0]["commit"], commit.as_str());
        assert!(plan("localhost", &empty).exits(1).all().contains("certificate or host key isn't trusted"));
        // The certificate is for another name.
        assert!(plan("127.0.0.1", &certificate).exits(1).all().contains("certificate or host key isn't trusted"));
    }));
    server.kill().unwrap();
    server.wait().unwrap();
    outcome.unwrap();
}
