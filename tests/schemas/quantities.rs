//! Quantities, against a reference of another kind: fractions of big whole numbers.

use std::cmp::Ordering;

use holdfast::schema::quantity::{BadQuantity, Quantity};
use proptest::prelude::*;

fn canonical(text: &str) -> String {
    Quantity::parse(text).unwrap_or_else(|e| panic!("{text}: {e}")).to_string()
}

#[test]
fn canonical_forms_are_those_of_an_api_server() {
    for (written, stored) in [
        ("0", "0"),
        ("1", "1"),
        ("1.0", "1"),
        ("0.5", "500m"),
        (".5", "500m"),
        ("1.", "1"),
        ("1000m", "1"),
        ("1500m", "1500m"),
        ("1.5", "1500m"),
        ("1000", "1k"),
        ("0.10", "100m"),
        ("1001m", "1001m"),
        ("0.0001", "100u"),
        ("1u", "1u"),
        ("12000m", "12"),
        ("1024Mi", "1Gi"),
        ("1000M", "1G"),
        ("1000Mi", "1000Mi"),
        ("1.5Gi", "1536Mi"),
        ("128974848", "128974848"),
        ("129M", "129M"),
        ("1024Ki", "1Mi"),
        ("0.5Gi", "512Mi"),
        ("0.5Ki", "512"),
        ("1Ki", "1Ki"),
        ("1E", "1E"),
        ("1e3", "1e3"),
        ("1e4", "10e3"),
        ("1E3", "1e3"),
        ("-1.5", "-1500m"),
        ("+1", "1"),
        ("9Ei", "9223372036854775807"),
        ("0.1n", "1n"),
        ("00100m", "100m"),
        ("0.5Mi", "512Ki"),
    ] {
        assert_eq!(canonical(written), stored, "{written}");
    }
}

#[test]
fn what_is_no_quantity_is_refused_with_a_hint() {
    for (bad, hint) in [
        ("1GB", Some("G or Gi")),
        ("1gi", Some("G or Gi")),
        ("1 Gi", Some("G or Gi")),
        ("512MB", Some("M or Mi")),
        ("1K", Some("k or Ki")),
        ("1MiB", Some("M or Mi")),
        ("", None),
        (".", None),
        ("m", None),
        ("1x", None),
        ("1e", Some("E or Ei")),
        ("1e1.5", None),
        ("0x10", None),
        ("--1", None),
        ("1,5", None),
        ("1Gi ", Some("G or Gi")),
    ] {
        match Quantity::parse(bad) {
            Err(error) => assert_eq!(error.hint(), hint, "{bad}"),
            Ok(quantity) => panic!("{bad} was read as {quantity}"),
        }
    }
    for far in ["1e99", "1e2147483648", "1e99999999999999999999", &"9".repeat(31)] {
        assert_eq!(Quantity::parse(far).unwrap_err(), BadQuantity::Range, "{far}");
    }
    assert_eq!(canonical("1e-99"), "1e-9", "rounded up to the least there is");
}

/// `mantissa / 10^places * base^power`, as a fraction of whole numbers.
struct Fraction {
    above: i128,
    below: i128,
}

fn reference(mantissa: i64, places: u32, suffix: usize) -> Fraction {
    const SUFFIXES: [(u32, i32); 12] = [
        (10, -3),
        (10, 0),
        (10, 3),
        (10, 6),
        (10, 9),
        (10, 12),
        (10, -6),
        (2, 10),
        (2, 20),
        (2, 30),
        (2, 40),
        (10, -9),
    ];
    let (base, power) = SUFFIXES[suffix];
    let factor = i128::from(base).pow(power.unsigned_abs());
    let (above, below) = if power < 0 { (1, factor) } else { (factor, 1) };
    // Rounded up, away from zero, to billionths.
    let exact = i128::from(mantissa) * above * 1_000_000_000;
    let below = below * 10i128.pow(places);
    let nanos = (exact.abs() + below - 1) / below * exact.signum();
    Fraction { above: nanos, below: 1_000_000_000 }
}

fn compare(a: &Fraction, b: &Fraction) -> Ordering {
    (a.above * (b.below / 1_000_000_000)).cmp(&(b.above * (a.below / 1_000_000_000)))
}

const TEXTS: [&str; 12] = ["m", "", "k", "M", "G", "T", "u", "Ki", "Mi", "Gi", "Ti", "n"];

/// Whether a suffix of [`TEXTS`] is one of powers of 1024.
fn is_binary(suffix: usize) -> bool {
    TEXTS[suffix].ends_with('i')
}

fn written(mantissa: i64, places: u32, suffix: usize) -> String {
    let digits = format!("{:0>width$}", mantissa.unsigned_abs(), width = places as usize + 1);
    let (whole, fraction) = digits.split_at(digits.len() - places as usize);
    let dot = if places == 0 { "" } else { "." };
    format!("{}{whole}{dot}{fraction}{}", if mantissa < 0 { "-" } else { "" }, TEXTS[suffix])
}

/// Found by `the_canonical_form_reads_back_as_itself`: apimachinery writes these without a suffix, too, and so reads them back
/// as decimal ones of the same value.
#[test]
fn a_binary_quantity_that_no_power_of_1024_divides_is_written_without_a_suffix() {
    for (written, canonical, again) in
        [("431.14Gi", "462933050000", "462933050k"), ("-431.14Gi", "-462933050000", "-462933050k")]
    {
        let quantity = Quantity::parse(written).unwrap();
        assert_eq!(quantity.to_string(), canonical);
        assert_eq!(Quantity::parse(canonical).unwrap().to_string(), again);
        assert_eq!(Quantity::parse(canonical).unwrap(), Quantity::parse(again).unwrap());
    }
}

proptest! {
    #[test]
    fn order_and_sums_are_those_of_fractions(
        a in (-99_999i64..99_999, 0u32..4, 0usize..12), b in (-99_999i64..99_999, 0u32..4, 0usize..12),
    ) {
        let (qa, qb) = (Quantity::parse(&written(a.0, a.1, a.2)).unwrap(), Quantity::parse(&written(b.0, b.1, b.2)).unwrap());
        let (fa, fb) = (reference(a.0, a.1, a.2), reference(b.0, b.1, b.2));
        prop_assert_eq!(qa.cmp(&qb), compare(&fa, &fb));
        let sum = qa.checked_add(qb).unwrap();
        prop_assert_eq!(sum.checked_sub(qb).unwrap(), qa);
        prop_assert_eq!(sum.cmp(&Quantity::ZERO), (fa.above + fb.above).cmp(&0));
    }

    #[test]
    fn the_canonical_form_reads_back_as_itself(a in (-99_999i64..99_999, 0u32..4, 0usize..12)) {
        let quantity = Quantity::parse(&written(a.0, a.1, a.2)).unwrap();
        let text = quantity.to_string();
        let again = Quantity::parse(&text).unwrap();
        // A binary quantity that no power of 1024 divides has no suffix left, and then is read as a decimal one.
        if is_binary(a.2) && text.ends_with(|c: char| c.is_ascii_digit()) {
            prop_assert_eq!(again.in_decimal().to_string(), again.to_string());
            prop_assert_eq!(Quantity::parse(&again.to_string()).unwrap(), again);
        } else {
            prop_assert_eq!(again.to_string(), text);
        }
        // A binary form has no fraction: it is rounded up.
        prop_assert!(again >= quantity || quantity.is_negative());
        if quantity.is_whole() {
            prop_assert_eq!(again, quantity);
        }
    }

    #[test]
    fn no_text_panics(text in ".{0,40}") {
        let _ = Quantity::parse(&text);
    }
}
