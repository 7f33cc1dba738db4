//! Misuses of the protocol that must not compile.

#[test]
fn the_protocol_cannot_be_gone_around() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/*.rs");
}
