//! What is known of a text or an exit status.

/// A text, as far as it is known before the script runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Known(String),
    /// A number from 1 to 255: the exit status of something that failed.
    NonZero,
    /// Output with diagnostics among it (`2>&1`): these lines, maybe more. What a client prints when all is well is
    /// not in its diagnostics.
    Noisy {
        text: String,
        success: Option<String>,
    },
    Unknown,
}

/// An exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    Code(u8),
    /// Not zero; which is not known.
    NonZero,
    Unknown,
}

/// Longer texts are not kept.
const MAX_TEXT: usize = 64 * 1024;

impl Value {
    pub(super) fn empty() -> Self {
        Self::Known(String::new())
    }

    pub(super) fn known(&self) -> Option<&str> {
        match self {
            Self::Known(text) => Some(text),
            _ => None,
        }
    }

    /// This with another behind it.
    pub(super) fn followed_by(self, next: &Self) -> Self {
        match (self, next) {
            (Self::Known(text), next) if text.is_empty() => next.clone(),
            (value, Self::Known(text)) if text.is_empty() => value,
            (Self::Known(text), Self::Known(more)) if text.len() + more.len() <= MAX_TEXT => Self::Known(text + more),
            (Self::Known(text), Self::Noisy { text: more, success }) if text.len() + more.len() <= MAX_TEXT => {
                Self::Noisy { text: text + more, success: success.clone() }
            }
            (Self::Noisy { text, success }, Self::Known(more)) if text.len() + more.len() <= MAX_TEXT => {
                Self::Noisy { text: text + more, success }
            }
            _ => Self::Unknown,
        }
    }

    /// Without the line breaks at its end, as `$( … )` takes it.
    pub(super) fn trimmed(self) -> Self {
        match self {
            Self::Known(text) => Self::Known(text.trim_end_matches('\n').to_owned()),
            Self::Noisy { text, success } => Self::Noisy { text: text.trim_end_matches('\n').to_owned(), success },
            other => other,
        }
    }

    /// Whether it is this text.
    pub(super) fn is(&self, text: &str) -> Option<bool> {
        match self {
            Self::Known(known) => Some(known == text),
            Self::NonZero => match text.parse::<u8>() {
                Ok(0) | Err(_) => Some(false),
                Ok(_) => None,
            },
            Self::Noisy { text: known, success } => {
                let differs = !text.contains(known.trim()) || known.is_empty() && success.as_deref() == Some(text);
                differs.then_some(false)
            }
            Self::Unknown => None,
        }
    }

    pub(super) fn is_empty(&self) -> Option<bool> {
        match self {
            Self::Known(text) => Some(text.is_empty()),
            Self::NonZero => Some(false),
            Self::Noisy { text, .. } if !text.trim().is_empty() => Some(false),
            Self::Noisy { .. } | Self::Unknown => None,
        }
    }

    /// Whether both are the same text.
    pub(super) fn same_as(&self, other: &Self) -> Option<bool> {
        match (self, other) {
            (Self::Known(text), value) | (value, Self::Known(text)) => value.is(text),
            _ => None,
        }
    }
}

impl Status {
    /// The status that says this; None where nobody knows.
    pub(super) fn of(holds: Option<bool>) -> Self {
        match holds {
            Some(true) => Self::Code(0),
            Some(false) => Self::Code(1),
            None => Self::Unknown,
        }
    }

    pub(super) fn is_zero(self) -> Option<bool> {
        match self {
            Self::Code(code) => Some(code == 0),
            Self::NonZero => Some(false),
            Self::Unknown => None,
        }
    }

    pub(super) fn negated(self) -> Self {
        Self::of(self.is_zero().map(|zero| !zero))
    }

    /// As `$?` gives it.
    pub(super) fn value(self) -> Value {
        match self {
            Self::Code(code) => Value::Known(code.to_string()),
            Self::NonZero => Value::NonZero,
            Self::Unknown => Value::Unknown,
        }
    }

    /// What `exit` and `return` make of their argument.
    pub(super) fn from_value(value: &Value) -> Self {
        match value {
            Value::Known(text) => match text.trim().parse::<i64>() {
                Ok(number) => Self::Code(u8::try_from(number.rem_euclid(256)).unwrap_or(1)),
                Err(_) => Self::NonZero,
            },
            Value::NonZero => Self::NonZero,
            Value::Noisy { .. } | Value::Unknown => Self::Unknown,
        }
    }
}

/// Both, where both are known to hold; either known not to hold decides.
pub(super) fn both(first: Option<bool>, second: Option<bool>) -> Option<bool> {
    match (first, second) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

/// One of them, where either is known to hold.
pub(super) fn either(first: Option<bool>, second: Option<bool>) -> Option<bool> {
    both(first.map(|holds| !holds), second.map(|holds| !holds)).map(|holds| !holds)
}
