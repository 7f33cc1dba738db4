//! git over ssh: the built program against a real server on the loopback address, with a home folder of its own.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use libtest_mimic::Trial;

use crate::lab::{Lab, Said, source};
use crate::{needs_program, trial};

pub fn trials() -> Vec<Trial> {
    vec![
        trial("ssh::a_key_file_of_the_usual_name_fetches", needs, a_key_file_of_the_usual_name_fetches),
        trial("ssh::a_key_of_the_agent_fetches", needs, a_key_of_the_agent_fetches),
        trial("ssh::the_users_configuration_leads_to_host_port_user_and_key", needs, configuration_leads),
        trial("ssh::an_unknown_host_key_is_refused_and_shown", needs, an_unknown_host_key_is_refused),
        trial("ssh::a_changed_host_key_is_refused", needs, a_changed_host_key_is_refused),
        trial("ssh::a_wrong_key_is_refused_and_what_was_tried_is_said", needs, a_wrong_key_is_refused),
        trial("ssh::a_key_with_a_passphrase_is_said_to_belong_into_the_agent", needs, a_locked_key_is_named),
        trial("ssh::a_jump_host_is_refused_by_name", needs, a_jump_host_is_refused),
        trial("ssh::a_repository_that_is_not_there_is_an_error", needs, a_missing_repository_is_an_error),
    ]
}

const SSHD: [&str; 3] = ["/usr/sbin/sshd", "/usr/local/sbin/sshd", "/usr/libexec/sshd"];

fn sshd() -> Option<&'static str> {
    SSHD.into_iter().find(|path| Path::new(path).exists())
}

fn needs() -> Option<String> {
    static WHY: OnceLock<Option<String>> = OnceLock::new();
    let why = || {
        if sshd().is_none() {
            return Some("there is no sshd (openssh-server)".to_owned());
        }
        needs_program("ssh", &["-V"])
            .or_else(|| needs_program("sh", &["-c", "command -v ssh-keygen ssh-agent ssh-add"]))
            // Whether a server can run here at all, and lets this user in, the usual client tells.
            .or_else(|| Server::start().and_then(|server| server.lets_in()).err())
    };
    WHY.get_or_init(why).clone()
}

struct Server {
    folder: tempfile::TempDir,
    port: u16,
    child: Child,
    user: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn run(command: &mut Command) -> Result<String, String> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("{command:?}: {error}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

fn new_key(path: &Path, passphrase: &str) {
    run(Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", passphrase, "-C", "", "-f"]).arg(path)).unwrap();
}

impl Server {
    fn start() -> Result<Self, String> {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        new_key(&at("host"), "");
        new_key(&at("user"), "");
        fs::copy(at("user.pub"), at("authorized")).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let config = format!(
            "ListenAddress 127.0.0.1:{port}\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\nStrictModes no\nUsePAM no\n\
             PasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin prohibit-password\nLogLevel INFO\n",
            at("host").display(),
            at("authorized").display()
        );
        fs::write(at("config"), config).unwrap();
        let mut command = Command::new(sshd().unwrap());
        command.args(["-D", "-e", "-f"]).arg(at("config")).stdin(Stdio::null()).stdout(Stdio::null());
        let mut child = command.stderr(Stdio::piped()).spawn().map_err(|error| error.to_string())?;
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut said = Vec::new();
        loop {
            match lines.next() {
                Some(Ok(line)) if line.contains("listening") => break,
                Some(Ok(line)) => said.push(line),
                _ => {
                    let _ = child.wait();
                    return Err(format!("sshd doesn't start: {}", said.join("; ")));
                }
            }
        }
        // Its log has to go somewhere.
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        let user = run(Command::new("id").arg("-un"))?;
        Ok(Self { folder, port, child, user })
    }

    fn lets_in(&self) -> Result<(), String> {
        let mut command = Command::new("ssh");
        command.args([
            "-F",
            "none",
            "-o",
            "BatchMode=yes",
            "-o",
            "StrictHostKeyChecking=no",
            "-o",
            "UserKnownHostsFile=/dev/null",
        ]);
        command.arg("-i").arg(self.file("user")).args([
            "-p",
            &self.port.to_string(),
            "-l",
            &self.user,
            "127.0.0.1",
            "git",
            "--version",
        ]);
        run(&mut command).map(drop).map_err(|error| format!("sshd doesn't let this user in: {error}"))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A line of known hosts with the public key of a file.
    fn known(&self, key: &Path) -> String {
        let text = fs::read_to_string(key).unwrap();
        format!("[127.0.0.1]:{} {text}", self.port)
    }
}

/// A home folder, a repository, and a configuration that reaches it over ssh.
struct Stage {
    server: Server,
    lab: Lab,
    commit: String,
}

impl Stage {
    /// The host is known; there is no key yet.
    fn new() -> Self {
        let (server, lab) = (Server::start().unwrap(), Lab::new());
        let repo = lab.repo("repo");
        repo.write("a.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n");
        let commit = repo.commit("one");
        fs::create_dir(lab.path().join(".ssh")).unwrap();
        let stage = Self { server, lab, commit };
        stage.know(&stage.server.file("host.pub"));
        let url = format!("ssh://{}@127.0.0.1:{}{}", stage.server.user, stage.server.port, repo.folder.display());
        stage.configure(&url);
        stage
    }

    fn configure(&self, url: &str) {
        self.lab.configure(&[source(url, "shop", "  namespaces: [shop]\n  clusterKinds: [Namespace]")]);
    }

    fn ssh(&self, name: &str) -> PathBuf {
        self.lab.path().join(".ssh").join(name)
    }

    fn know(&self, key: &Path) {
        fs::write(self.ssh("known_hosts"), self.server.known(key)).unwrap();
    }

    fn give_key(&self, name: &str) {
        fs::copy(self.server.file("user"), self.ssh(name)).unwrap();
    }

    #[track_caller]
    fn fetches(&self, environment: &[(&str, &Path)]) {
        let mut command = self.lab.command(&["plan", "-o", "json"]);
        let said = Said::of(command.envs(environment.iter().copied()).output().unwrap()).ok();
        assert_eq!(said.json()["sources"][0]["commit"], self.commit.as_str());
    }

    /// Refused with these texts; of the private key nothing is shown, and nothing was fetched.
    #[track_caller]
    fn refuses(&self, texts: &[&str]) {
        let said = self.lab.run(&["plan", "-v", "--out", "x.plan.json"]).exits(1);
        let all = said.all();
        for text in texts {
            assert!(all.contains(text), "{text:?} is not in: {all}");
        }
        assert!(all.contains("othing was written"), "{all}");
        for key in ["user", "locked"] {
            let lines = fs::read_to_string(self.server.file(key)).unwrap_or_default();
            assert!(lines.lines().all(|line| line.len() < 20 || !all.contains(line)), "{all}");
        }
        assert!(!self.lab.path().join("x.plan.json").exists());
        assert!(self.lab.run(&["plan", "--offline"]).exits(1).all().contains("nothing was fetched yet"));
    }
}

fn a_key_file_of_the_usual_name_fetches() {
    let stage = Stage::new();
    stage.give_key("id_ed25519");
    stage.fetches(&[]);
    stage.lab.apply(&[]);
}

fn a_key_of_the_agent_fetches() {
    let stage = Stage::new();
    let socket = stage.lab.path().join("agent");
    let mut agent = Command::new("ssh-agent").args(["-D", "-a"]).arg(&socket).stdout(Stdio::piped()).spawn().unwrap();
    // It prints its variables as soon as it listens.
    BufReader::new(agent.stdout.take().unwrap()).read_line(&mut String::new()).unwrap();
    let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let mut add = Command::new("ssh-add");
        run(add.arg(stage.server.file("user")).env("SSH_AUTH_SOCK", &socket)).unwrap();
        // A key file that is refused is no hindrance.
        new_key(&stage.ssh("id_ed25519"), "");
        stage.fetches(&[("SSH_AUTH_SOCK", &socket)]);
    }));
    agent.kill().unwrap();
    agent.wait().unwrap();
    done.unwrap();
    // The same without the agent.
    stage.lab.run(&["plan"]).exits(1);
}

fn configuration_leads() {
    let stage = Stage::new();
    stage.give_key("deploy key");
    let (user, port) = (&stage.server.user, stage.server.port);
    let config = format!(
        "Host other\n  HostName 192.0.2.1\nHost forge\n  HostName 127.0.0.1\n  Port {port}\n  User {user}\n  \
         IdentitiesOnly yes\n  IdentityFile \"~/.ssh/deploy key\"\n"
    );
    fs::write(stage.ssh("config"), config).unwrap();
    let path = stage.lab.path().join("repo");
    for url in [format!("ssh://forge{}", path.display()), format!("forge:{}", path.display())] {
        stage.configure(&url);
        stage.fetches(&[]);
    }
    // One that others can write leads nowhere.
    std::os::unix::fs::symlink("config", stage.ssh("link")).unwrap();
    fs::set_permissions(stage.ssh("config"), std::os::unix::fs::PermissionsExt::from_mode(0o666)).unwrap();
    assert!(stage.lab.run(&["plan"]).exits(1).all().contains("can be written by others"));
}

fn an_unknown_host_key_is_refused() {
    let stage = Stage::new();
    stage.give_key("id_ed25519");
    let shown = run(Command::new("ssh-keygen").arg("-lf").arg(stage.server.file("host.pub"))).unwrap();
    let fingerprint = shown.split_whitespace().find(|word| word.starts_with("SHA256:")).unwrap();
    for known in
        ["", "[127.0.0.2]:22 ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n"]
    {
        fs::write(stage.ssh("known_hosts"), known).unwrap();
        stage.refuses(&["isn't trusted", fingerprint, "known_hosts"]);
    }
    fs::remove_file(stage.ssh("known_hosts")).unwrap();
    stage.refuses(&["isn't trusted", fingerprint]);
}

fn a_changed_host_key_is_refused() {
    let stage = Stage::new();
    stage.give_key("id_ed25519");
    new_key(&stage.server.file("former"), "");
    stage.know(&stage.server.file("former.pub"));
    stage.refuses(&["isn't trusted", "has another one or none for it"]);
}

fn a_wrong_key_is_refused() {
    let stage = Stage::new();
    stage.refuses(&["refused or missing", "no credential is left to try"]);
    new_key(&stage.ssh("id_ed25519"), "");
    stage.refuses(&["refused or missing", "tried: the ssh agent", ".ssh/id_ed25519"]);
}

fn a_locked_key_is_named() {
    let stage = Stage::new();
    run(Command::new("ssh-keygen")
        .args(["-q", "-p", "-P", "", "-N", "a passphrase", "-f"])
        .arg(stage.server.file("user")))
    .unwrap();
    stage.give_key("id_ed25519");
    stage.refuses(&["id_ed25519 has a passphrase", "ssh-add"]);
}

fn a_jump_host_is_refused() {
    let stage = Stage::new();
    stage.give_key("id_ed25519");
    fs::write(stage.ssh("config"), "Host 127.*\n  ProxyJump elsewhere\n").unwrap();
    stage.refuses(&["reaches 127.0.0.1 by ProxyJump"]);
}

fn a_missing_repository_is_an_error() {
    let stage = Stage::new();
    stage.give_key("id_ed25519");
    stage.configure(&format!("ssh://{}@127.0.0.1:{}/nowhere/repo.git", stage.server.user, stage.server.port));
    stage.refuses(&["can't be read"]);
}
