#![no_main]

#[path = "../checks/mod.rs"]
#[allow(dead_code, reason = "each program runs one of them")]
mod checks;
mod told;

libfuzzer_sys::fuzz_target!(init: told::quiet(), |data: &[u8]| told::or_end(|| checks::manifest::holds(data)));
