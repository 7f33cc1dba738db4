//! A repository, a configuration and a Namespace for one test.

use serde_json::{Value, json};

use crate::control_plane::{ControlPlane, shared};
use crate::lab::{Lab, Repo, Said};

/// A configuration with one Source, for one Namespace of its own.
pub struct Place {
    pub lab: Lab,
    pub repo: Repo,
    pub namespace: String,
    pub on: &'static ControlPlane,
}

impl Place {
    pub fn new(namespace: &str) -> Self {
        Self::on(shared(), namespace)
    }

    /// On a control plane that may be a test's own.
    pub fn on(on: &'static ControlPlane, namespace: &str) -> Self {
        let lab = Lab::new();
        let repo = lab.repo("repo");
        let place = Self { lab, repo, namespace: namespace.to_owned(), on };
        place.configure("");
        place
    }

    /// Writes the configuration; `more` are further lines of the Source.
    pub fn configure(&self, more: &str) {
        let namespace = &self.namespace;
        let spec = format!(
            "  path: deploy\n  namespaces: [{namespace}]\n  prune: true\n  pruneBudget: {{objects: 100, percent: 100}}\n  clusterKinds: [Namespace, CustomResourceDefinition.apiextensions.k8s.io]\n{more}"
        );
        let source = self.repo.source("shop", spec.trim_end());
        let target = format!(
            "apiVersion: holdfast.dev/v1\nkind: Target\nmetadata:\n  name: cluster\nspec:\n  kubernetes: {{kubeconfig: {}, stateNamespace: state-{namespace}}}\n",
            self.on.kubeconfig.display()
        );
        std::fs::write(self.lab.path().join("holdfast.yaml"), format!("{source}---\n{target}")).unwrap();
    }

    pub fn make_namespace(&self) {
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}});
        self.on.hand().put("admin", "/api/v1/namespaces", &object);
    }

    /// A live object of the core group in its Namespace.
    pub fn live(&self, plural: &str, name: &str) -> Option<Value> {
        self.on.hand().get(&format!("/api/v1/namespaces/{}/{plural}/{name}", self.namespace))
    }

    /// Runs a command that dies at a place in the code, with leases that end soon.
    pub fn dies(&self, at: &str, args: &[&str]) {
        let mut command = self.lab.command(args);
        command.env("HOLDFAST_FAILPOINT", at).env("HOLDFAST_LEASE", "6");
        let output = command.output().unwrap();
        assert!(output.status.code().is_none(), "{at}: it did not die: {output:?}");
    }

    /// Runs a command with leases that end soon.
    pub fn run(&self, args: &[&str]) -> Said {
        let mut command = self.lab.command(args);
        command.env("HOLDFAST_LEASE", "6");
        Said::of(command.output().unwrap())
    }

    pub fn declare(&self, name: &str, text: &str) {
        self.repo.write(&format!("deploy/{name}.yaml"), text);
        self.repo.commit(name);
    }
}

pub fn config(name: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\ndata:\n  v: \"1\"\n")
}
