//! Exact resource quantities.
//!
//! The grammar is that of `k8s.io/apimachinery/pkg/api/resource`: a signed decimal with at most one suffix, binary
//! (`Ki`…`Ei`), decimal (`n`…`E`) or an exponent (`e3`, `E3`), never two. Values are kept in billionths, rounded up
//! as the server does, so that `1000m`, `1` and `1e0` are one number.

use std::fmt;

use serde_json::Value;

const NANOS: i128 = 1_000_000_000;
/// The server caps at this; a manifest with more is a mistake that we would rather show.
const MAX_UNITS: i128 = i64::MAX as i128;

/// An amount of CPU (cores) or memory (bytes).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Quantity {
    nanos: i128,
}

/// Why a text is no quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// There are no digits where the number should be.
    #[error("\"{0}\" is not a quantity: a number comes first, for example 500m, 1.5 or 2Gi")]
    NoNumber(String),
    /// What follows the number is neither a suffix nor an exponent.
    #[error(
        "\"{text}\" is not a quantity: \"{suffix}\" is no suffix; use one of n u m k M G T P E, Ki Mi Gi Ti Pi Ei, or an exponent such as e3"
    )]
    UnknownSuffix {
        /// The whole text.
        text: String,
        /// What follows the number.
        suffix: String,
    },
    /// The number does not fit.
    #[error("\"{0}\" is more than a quantity can hold (2^63 - 1)")]
    Overflow(String),
    /// Requests and limits cannot be below zero.
    #[error("\"{0}\" is negative, which the API refuses for requests and limits")]
    Negative(String),
    /// The field holds something else than a text or a number.
    #[error("expected a quantity, for example 500m or 2Gi, but found {0}")]
    NotText(String),
}

impl Quantity {
    /// Nothing.
    pub const ZERO: Self = Self { nanos: 0 };

    /// Reads the text of a quantity.
    ///
    /// # Errors
    /// What is wrong with the text, in words for the person who wrote it.
    pub fn parse(text: &str) -> Result<Self, QuantityError> {
        let overflow = || QuantityError::Overflow(text.to_owned());
        let no_number = || QuantityError::NoNumber(text.to_owned());
        let (negative, unsigned) = match text.as_bytes().first() {
            Some(b'-') => (true, &text[1..]),
            Some(b'+') => (false, &text[1..]),
            _ => (false, text),
        };
        let number_end = unsigned.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(unsigned.len());
        let (number, suffix) = unsigned.split_at(number_end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if fraction.contains('.') || (whole.is_empty() && fraction.is_empty()) {
            return Err(no_number());
        }
        let scale = Scale::parse(suffix)
            .ok_or_else(|| QuantityError::UnknownSuffix { text: text.to_owned(), suffix: suffix.to_owned() })?;

        // The digits as one integer, and how many of them stand behind the point.
        let digits = format!("{whole}{fraction}");
        let digits = digits.trim_start_matches('0');
        let mantissa: i128 = if digits.is_empty() {
            0
        } else if digits.len() > 37 {
            return Err(overflow());
        } else {
            digits.parse().map_err(|_| no_number())?
        };
        let places = i32::try_from(fraction.len()).map_err(|_| overflow())?;
        let nanos = scale.nanos(mantissa, places).ok_or_else(overflow)?;
        if nanos > MAX_UNITS * NANOS {
            return Err(overflow());
        }
        if negative && nanos != 0 {
            return Err(QuantityError::Negative(text.to_owned()));
        }
        Ok(Self { nanos })
    }

    /// Reads a quantity from a manifest, where a plain number may stand without quotes.
    ///
    /// # Errors
    /// As [`Quantity::parse`], and when the value is neither text nor number.
    pub fn from_json(value: &Value) -> Result<Self, QuantityError> {
        match value {
            Value::String(text) => Self::parse(text),
            Value::Number(number) => Self::parse(&number.to_string()),
            other => Err(QuantityError::NotText(other.to_string())),
        }
    }

    /// Whether this is nothing.
    #[must_use]
    pub fn is_zero(self) -> bool {
        self.nanos == 0
    }

    /// Thousandths of the unit, rounded up, as CPU is counted.
    #[must_use]
    pub fn milli(self) -> i128 {
        self.nanos.div_euclid(1_000_000) + i128::from(self.nanos.rem_euclid(1_000_000) != 0)
    }

    /// Whole units, rounded up, as bytes are counted.
    #[must_use]
    pub fn units(self) -> i128 {
        self.nanos.div_euclid(NANOS) + i128::from(self.nanos.rem_euclid(NANOS) != 0)
    }

    /// The sum.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self { nanos: self.nanos.saturating_add(other.nanos) }
    }

    /// What is left of this after `other` is taken, at least nothing.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self { nanos: self.nanos.saturating_sub(other.nanos).max(0) }
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const BINARY: [(&str, i128); 4] = [("Ti", 1 << 40), ("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10)];
        if self.nanos % NANOS != 0 {
            return if self.nanos % 1_000_000 == 0 {
                write!(f, "{}m", self.nanos / 1_000_000)
            } else {
                write!(f, "{}n", self.nanos)
            };
        }
        let units = self.nanos / NANOS;
        match BINARY.iter().find(|(_, factor)| units != 0 && units % factor == 0) {
            Some((suffix, factor)) => write!(f, "{}{suffix}", units / factor),
            None => write!(f, "{units}"),
        }
    }
}

enum Scale {
    /// 1024 to this power.
    Binary(u32),
    /// 10 to this power.
    Decimal(i32),
}

impl Scale {
    fn parse(suffix: &str) -> Option<Self> {
        Some(match suffix {
            "" => Self::Decimal(0),
            "n" => Self::Decimal(-9),
            "u" => Self::Decimal(-6),
            "m" => Self::Decimal(-3),
            "k" => Self::Decimal(3),
            "M" => Self::Decimal(6),
            "G" => Self::Decimal(9),
            "T" => Self::Decimal(12),
            "P" => Self::Decimal(15),
            "E" => Self::Decimal(18),
            "Ki" => Self::Binary(1),
            "Mi" => Self::Binary(2),
            "Gi" => Self::Binary(3),
            "Ti" => Self::Binary(4),
            "Pi" => Self::Binary(5),
            "Ei" => Self::Binary(6),
            exponent => {
                let digits = exponent.strip_prefix(['e', 'E'])?;
                let unsigned = digits.strip_prefix(['+', '-']).unwrap_or(digits);
                if unsigned.is_empty() || !unsigned.bytes().all(|b| b.is_ascii_digit()) {
                    return None;
                }
                // An exponent beyond this overflows or vanishes whatever the number.
                Self::Decimal(digits.parse::<i32>().unwrap_or(1000).clamp(-1000, 1000))
            }
        })
    }

    /// `mantissa × 10^-places`, scaled, in billionths, rounded up. None where it does not fit.
    fn nanos(&self, mantissa: i128, places: i32) -> Option<i128> {
        let (mantissa, power) = match self {
            Self::Binary(power) => (mantissa.checked_mul(1024_i128.checked_pow(*power)?)?, 9 - places),
            Self::Decimal(power) => (mantissa, 9 - places + power),
        };
        if mantissa == 0 {
            return Some(0);
        }
        match u32::try_from(power) {
            Ok(up) => mantissa.checked_mul(10_i128.checked_pow(up)?),
            Err(_) => match 10_i128.checked_pow(power.unsigned_abs()) {
                Some(divisor) => Some(mantissa / divisor + i128::from(mantissa % divisor != 0)),
                // Smaller than a billionth: the server rounds it up to one.
                None => Some(1),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nanos(text: &str) -> i128 {
        Quantity::parse(text).unwrap().nanos
    }

    #[test]
    fn reads_what_the_server_reads() {
        for (text, same_as) in [
            ("1000m", "1"),
            ("1e3", "1k"),
            ("1E3", "1000"),
            (".5Gi", "512Mi"),
            ("5.", "5"),
            ("+1", "1"),
            ("1Ki", "1024"),
            ("1E", "1000000000000000000"),
            ("1e-3", "1m"),
            ("00.1", "100m"),
            ("0.1n", "1n"),
            ("1e-400", "1n"),
            ("0e999", "0"),
            ("-0", "0"),
        ] {
            assert_eq!(nanos(text), nanos(same_as), "{text} is {same_as}");
        }
    }

    #[test]
    fn says_what_is_wrong_with_the_rest() {
        let error = |text: &str| Quantity::parse(text).unwrap_err();
        for text in ["", ".", "Gi", "-", "1.2.3", "abc"] {
            assert_eq!(error(text), QuantityError::NoNumber(text.to_owned()), "{text}");
        }
        for (text, suffix) in
            [("1e3m", "e3m"), ("1e", "e"), ("1Kib", "Kib"), ("1 Gi", " Gi"), ("1GiGi", "GiGi"), ("1K", "K")]
        {
            assert_eq!(
                error(text),
                QuantityError::UnknownSuffix { text: text.to_owned(), suffix: suffix.to_owned() },
                "{text}"
            );
        }
        for text in
            ["9223372036854775808", "8Ei", "1e19", "1e999999999999", "99999999999999999999999999999999999999999"]
        {
            assert_eq!(error(text), QuantityError::Overflow(text.to_owned()), "{text}");
        }
        assert_eq!(error("-1Gi"), QuantityError::Negative("-1Gi".to_owned()));
        assert!(matches!(Quantity::from_json(&serde_json::json!(true)), Err(QuantityError::NotText(_))));
    }

    #[test]
    fn prints_what_it_reads() {
        for text in ["0", "1", "500m", "2Gi", "1536Mi", "3", "1n", "1Ti"] {
            assert_eq!(Quantity::parse(text).unwrap().to_string(), text);
        }
    }

    proptest::proptest! {
        #[test]
        fn never_panics_and_round_trips(text in "[-+]?[0-9]{0,20}[.]?[0-9]{0,12}(n|u|m|k|M|G|Ki|Mi|Gi|e[0-9]{1,3}|E-?[0-9]{1,2}|)") {
            if let Ok(quantity) = Quantity::parse(&text) {
                proptest::prop_assert_eq!(Quantity::parse(&quantity.to_string()).unwrap(), quantity);
            }
        }
    }
}
