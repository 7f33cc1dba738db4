//! Quantities of resources (`500m`, `1Gi`), read and written as Kubernetes does (apimachinery, `resource.Quantity`).
//!
//! A quantity is kept exactly, in billionths; finer ones are rounded up, away from zero, as the API server does. Over
//! about 1.7 * 10^29, or with more than 30 significant digits, a quantity is refused: the API server would take it, but
//! nobody owns that much.

use std::cmp::Ordering;
use std::fmt;

use serde_json::Value;

const DIGITS: usize = 30;
const NANO: i128 = 1_000_000_000;
const MILLI: i128 = 1_000_000;
/// The most that a quantity with a binary suffix can be; larger ones are cut to it (apimachinery, `maxAllowed`).
const MOST_BINARY: i128 = i64::MAX as i128 * NANO;

/// Which suffixes a quantity is written with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// `m`, `k`, `M`, or none.
    Decimal,
    /// `Ki`, `Mi`.
    Binary,
    /// `e3`.
    Exponent,
}

/// A quantity. Equal and ordered by value, whatever it is written as.
#[derive(Debug, Clone, Copy)]
pub struct Quantity {
    nanos: i128,
    form: Form,
}

/// A text that is no quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadQuantity {
    /// It isn't a number, or has blanks or other characters in it.
    #[error("a quantity is a number, then one of n u m k M G T P E Ki Mi Gi Ti Pi Ei, or an exponent")]
    Syntax,
    /// The suffix is none.
    #[error("a quantity ends in one of n u m k M G T P E Ki Mi Gi Ti Pi Ei, or an exponent")]
    Suffix {
        /// The suffix that was probably meant.
        hint: Option<&'static str>,
    },
    /// It is larger or more precise than can be kept.
    #[error("it is too large, or has more than {DIGITS} digits")]
    Range,
}

impl BadQuantity {
    /// What was probably meant.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Suffix { hint } => *hint,
            Self::Syntax | Self::Range => None,
        }
    }
}

impl Quantity {
    /// Nothing.
    pub const ZERO: Self = Self { nanos: 0, form: Form::Decimal };

    /// Reads a quantity.
    ///
    /// # Errors
    /// If the API server would refuse it, or it is out of the range that is kept.
    pub fn parse(text: &str) -> Result<Self, BadQuantity> {
        let (negative, rest) = match text.as_bytes().first() {
            Some(b'-') => (true, &text[1..]),
            Some(b'+') => (false, &text[1..]),
            _ => (false, text),
        };
        let whole_end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (whole, rest) = rest.split_at(whole_end);
        let (fraction, suffix) = match rest.strip_prefix('.') {
            Some(rest) => rest.split_at(rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())),
            None => ("", rest),
        };
        if whole.is_empty() && fraction.is_empty() {
            return Err(BadQuantity::Syntax);
        }
        let (form, binary, decimal) = suffix_of(suffix)?;

        let whole = whole.trim_start_matches('0');
        let fraction = fraction.trim_end_matches('0');
        if whole.len() + fraction.len() > DIGITS {
            return Err(BadQuantity::Range);
        }
        let digits = whole.bytes().chain(fraction.bytes()).fold(0i128, |sum, b| sum * 10 + i128::from(b - b'0'));
        let shift = i32::try_from(fraction.len()).ok().and_then(|places| decimal.checked_add(9)?.checked_sub(places));
        let scaled = digits.checked_mul(1i128 << binary).ok_or(BadQuantity::Range)?;
        let mut nanos = times_power_of_ten(scaled, shift.ok_or(BadQuantity::Range)?).ok_or(BadQuantity::Range)?;
        if form == Form::Binary {
            nanos = nanos.min(MOST_BINARY);
        }
        // A binary quantity under 1 is written as a decimal one (apimachinery).
        let form = if form == Form::Binary && nanos > 0 && nanos < NANO { Form::Decimal } else { form };
        Ok(Self { nanos: if negative { -nanos } else { nanos }, form })
    }

    /// Reads a quantity from a value: a text or a number.
    ///
    /// # Errors
    /// If it is neither, or no quantity.
    pub fn of_value(value: &Value) -> Result<Self, BadQuantity> {
        match value {
            Value::String(text) => Self::parse(text),
            // A number's text is the same grammar: `0.5`, `1e25`.
            Value::Number(number) => Self::parse(&number.to_string()),
            _ => Err(BadQuantity::Syntax),
        }
    }

    /// The sum; `None` where it is out of range.
    pub fn checked_add(self, other: Self) -> Option<Self> {
        Some(Self { nanos: self.nanos.checked_add(other.nanos)?, form: self.joined_form(other) })
    }

    /// The difference; `None` where it is out of range.
    pub fn checked_sub(self, other: Self) -> Option<Self> {
        Some(Self { nanos: self.nanos.checked_sub(other.nanos)?, form: self.joined_form(other) })
    }

    /// A multiple, such as a Pod's request times its replicas; `None` where it is out of range.
    pub fn checked_mul(self, count: i64) -> Option<Self> {
        Some(Self { nanos: self.nanos.checked_mul(i128::from(count))?, ..self })
    }

    /// Whether it is below nothing.
    pub fn is_negative(self) -> bool {
        self.nanos < 0
    }

    /// Whether it is a whole number.
    pub fn is_whole(self) -> bool {
        self.nanos % NANO == 0
    }

    /// Rounded up to thousandths, away from zero: so the API server keeps what stands in a list of resources.
    #[must_use]
    pub fn round_up_to_milli(self) -> Self {
        Self { nanos: round_away(self.nanos, MILLI), ..self }
    }

    /// The same, written with decimal suffixes.
    #[must_use]
    pub fn in_decimal(self) -> Self {
        Self { form: Form::Decimal, ..self }
    }

    /// Zero takes the form of the other (apimachinery, `Quantity.Add`).
    fn joined_form(self, other: Self) -> Form {
        if self.nanos == 0 { other.form } else { self.form }
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nanos == other.nanos
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        self.nanos.cmp(&other.nanos)
    }
}

impl fmt::Display for Quantity {
    /// Writes the canonical form, as the API server stores it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.form == Form::Binary && self.nanos.abs() >= 1024 * NANO {
            let mut number = round_away(self.nanos, NANO) / NANO;
            let mut power = 0;
            while number % 1024 == 0 && power < 6 {
                number /= 1024;
                power += 1;
            }
            return write!(f, "{number}{}", ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"][power]);
        }
        if self.nanos == 0 {
            return f.write_str("0");
        }
        let mut number = self.nanos;
        let mut power = -9;
        while number % 1000 == 0 && (power < 18 || self.form == Form::Exponent) {
            number /= 1000;
            power += 3;
        }
        match (self.form, power) {
            (_, 0) => write!(f, "{number}"),
            (Form::Exponent, _) => write!(f, "{number}e{power}"),
            (_, power) => {
                let suffix = match power {
                    -9 => "n",
                    -6 => "u",
                    -3 => "m",
                    3 => "k",
                    6 => "M",
                    9 => "G",
                    12 => "T",
                    15 => "P",
                    _ => "E",
                };
                write!(f, "{number}{suffix}")
            }
        }
    }
}

/// The form of a suffix with its power of two and of ten.
fn suffix_of(suffix: &str) -> Result<(Form, u32, i32), BadQuantity> {
    let decimal = |power| Ok((Form::Decimal, 0, power));
    let binary = |power| Ok((Form::Binary, power, 0));
    match suffix {
        "n" => decimal(-9),
        "u" => decimal(-6),
        "m" => decimal(-3),
        "" => decimal(0),
        "k" => decimal(3),
        "M" => decimal(6),
        "G" => decimal(9),
        "T" => decimal(12),
        "P" => decimal(15),
        "E" => decimal(18),
        "Ki" => binary(10),
        "Mi" => binary(20),
        "Gi" => binary(30),
        "Ti" => binary(40),
        "Pi" => binary(50),
        "Ei" => binary(60),
        _ => match suffix.strip_prefix(['e', 'E']) {
            Some(power) if is_exponent(power) => match power.parse() {
                Ok(power) => Ok((Form::Exponent, 0, power)),
                Err(_) => Err(BadQuantity::Range),
            },
            _ => Err(wrong_suffix(suffix)),
        },
    }
}

fn is_exponent(text: &str) -> bool {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
}

fn wrong_suffix(suffix: &str) -> BadQuantity {
    let plain = suffix.trim().to_ascii_lowercase();
    let unit = plain.strip_suffix("ib").or_else(|| plain.strip_suffix('b')).unwrap_or(&plain);
    let hint = match unit.strip_suffix('i').unwrap_or(unit) {
        "k" => Some("k or Ki"),
        "m" => Some("M or Mi"),
        "g" => Some("G or Gi"),
        "t" => Some("T or Ti"),
        "p" => Some("P or Pi"),
        "e" => Some("E or Ei"),
        "" => Some("a number alone counts bytes, or cores"),
        _ => return BadQuantity::Syntax,
    };
    BadQuantity::Suffix { hint }
}

/// `value * 10^power`, rounded up; `None` where it doesn't fit. The value isn't negative.
fn times_power_of_ten(value: i128, power: i32) -> Option<i128> {
    if value == 0 {
        return Some(0);
    }
    let factor = 10i128.checked_pow(power.unsigned_abs());
    if power >= 0 {
        return value.checked_mul(factor?);
    }
    // A divisor that doesn't fit is larger than any value: what is left rounds up to the least there is.
    factor.map_or(Some(1), |factor| Some((value / factor) + i128::from(value % factor != 0)))
}

/// The nearest multiple of a unit that isn't nearer to zero; at the end of the range, the one before.
fn round_away(value: i128, unit: i128) -> i128 {
    let rest = value % unit;
    if rest == 0 {
        return value;
    }
    let towards_zero = value - rest;
    towards_zero.checked_add(unit * rest.signum()).unwrap_or(towards_zero)
}
