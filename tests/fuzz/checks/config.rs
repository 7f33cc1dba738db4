//! The configuration: read twice alike, and refused at places.

use std::path::Path;

use holdfast::source::config::read_config;

/// Reads it.
pub fn holds(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let read = || read_config(text, "holdfast.yaml", Path::new("/nowhere"));
    match read() {
        Ok(config) => {
            assert_eq!(Ok(&config), read().as_ref());
            for source in &config.sources {
                let default = source.default_namespace.as_deref();
                assert!(default.is_none_or(|name| source.namespaces.contains(name)), "{source:?}");
            }
        }
        Err(faults) => {
            assert!(!faults.is_empty(), "refused without a reason");
            super::are_placed(&faults, data);
        }
    }
}
