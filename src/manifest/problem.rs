//! What could not be read, in words for the one who wrote it.

use granit_parser::{ErrorKind, ScanError};

use super::position::Position;

/// Something in a file that could not be read, or that the tools of Kubernetes read in different ways.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {reason}")]
pub struct Unread {
    /// The YAML document in the file, from 1.
    pub document: usize,
    /// The line, from 1.
    pub line: u32,
    /// The character within the line, from 1.
    pub column: u32,
    /// What is wrong.
    pub reason: Reason,
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    /// It is neither YAML nor JSON.
    #[error("{0}")]
    Syntax(String),
    /// Part of a Helm chart, or of another template in the language of Go.
    #[error("this is a template (\"{{{{\"); render it first: helm template ... | reprieve scan -{}", because(syntax.as_deref()))]
    Template {
        /// What is wrong with it as YAML, if it cannot be read at all.
        syntax: Option<String>,
    },
    /// The bytes are no UTF-8.
    #[error("this is not UTF-8 text")]
    NotUtf8,
    /// The file begins as UTF-16 does.
    #[error("this is UTF-16 text; store it as UTF-8")]
    Utf16,
    /// More levels than any object of Kubernetes has.
    #[error("nested more than {} levels deep", super::MAXIMUM_DEPTH)]
    TooDeep,
    /// Anchors and aliases that would fill the memory.
    #[error("the aliases of this file stand for more than {} MiB", super::MAXIMUM_COPIED >> 20)]
    TooMuchCopied,
    /// An alias inside the value of its own anchor.
    #[error("this alias stands for a value that contains it")]
    ContainsItself,
    /// A key that is a list or a mapping.
    #[error("a key must be a text, not a list or a mapping")]
    ComplexKey,
    /// `<<` with something to merge that has no members.
    #[error("\"<<\" merges a mapping or a list of mappings, and this is neither")]
    NothingToMerge,
    /// A key that stands twice in one mapping. The later one was taken, as kubectl does.
    #[error(
        "the key \"{key}\" is already in line {earlier}, and this one replaces it; kubectl refuses it where it is strict"
    )]
    DuplicateKey {
        /// The key.
        key: String,
        /// The line of the earlier one.
        earlier: u32,
    },
    /// A merge key behind a key that it brings too. The merged one was taken, as kubectl does; kustomize does not.
    #[error(
        "\"<<\" replaces the key \"{key}\" of line {earlier} for kubectl, but not for other tools; put \"<<\" first"
    )]
    MergeReplaces {
        /// The key.
        key: String,
        /// The line of the one that was replaced.
        earlier: u32,
    },
    /// A tag whose type the value does not have. The value was left as text.
    #[error("\"{text}\" is no {tag}")]
    WrongTag {
        /// The value as it stands.
        text: String,
        /// The type that was asked for, for example `int`.
        tag: String,
    },
    /// Infinity or not-a-number, which JSON cannot say. The value was left as text.
    #[error("{0} is no number that a Kubernetes object can hold; put it in quotes if it is a text")]
    NotFinite(String),
}

impl Reason {
    /// Whether the document is not among those that were read. The others were read in spite of the problem.
    #[must_use]
    pub fn loses_document(&self) -> bool {
        match self {
            Self::Template { syntax } => syntax.is_some(),
            Self::DuplicateKey { .. } | Self::MergeReplaces { .. } | Self::WrongTag { .. } | Self::NotFinite(_) => {
                false
            }
            Self::Syntax(_)
            | Self::NotUtf8
            | Self::Utf16
            | Self::TooDeep
            | Self::TooMuchCopied
            | Self::ContainsItself
            | Self::ComplexKey
            | Self::NothingToMerge => true,
        }
    }
}

impl Reason {
    /// Whether a file with it is not to be changed: parts of it are not known, or it is rendered to something else.
    pub(super) fn forbids_edits(&self) -> bool {
        self.loses_document() || matches!(self, Self::Template { .. })
    }
}

/// A reason at a place, before it is known which document it belongs to.
#[derive(Clone, Debug)]
pub(super) struct Refusal {
    pub(super) position: Position,
    pub(super) reason: Reason,
}

fn because(syntax: Option<&str>) -> String {
    syntax.map_or_else(String::new, |syntax| format!(" (as YAML: {syntax})"))
}

/// The parser's error in words that say what to change. It knows the grammar; the writer knows indentation and quotes.
pub(super) fn of_parser(error: &ScanError) -> Reason {
    let words = match error.kind() {
        ErrorKind::RecursionLimitExceeded => return Reason::TooDeep,
        ErrorKind::TabNotAllowed | ErrorKind::TabInBlockIndentation | ErrorKind::TabInIndentation => {
            "a tab indents this line, and YAML allows only spaces"
        }
        ErrorKind::MappingValueNotAllowed => {
            "a key cannot stand here: the indentation is wrong, or a text with \": \" needs quotes"
        }
        ErrorKind::ExpectedBlockMappingKey | ErrorKind::InvalidIndentation => {
            "a key with a \":\" should stand here, indented like the keys above"
        }
        ErrorKind::SimpleKeyExpected | ErrorKind::InvalidSimpleKey => "this line should be a key with a \":\"",
        ErrorKind::ExpectedBlockSequenceEntry => "a \"- \" should stand here, indented like those above",
        ErrorKind::BlockSequenceEntryNotAllowed | ErrorKind::BlockEntryInFlowCollection => {
            "a list with \"- \" cannot begin here; it needs a line of its own"
        }
        ErrorKind::ExpectedDocumentStart => {
            "the document has ended above: the indentation is wrong, or \"---\" is missing"
        }
        ErrorKind::ExpectedFlowSequenceSeparator => "a \",\" or \"]\" is missing here",
        ErrorKind::ExpectedFlowMappingSeparator => "a \",\" or \"}\" is missing here",
        ErrorKind::ExpectedNodeContent
        | ErrorKind::UnexpectedEofFlowSequence
        | ErrorKind::UnexpectedEofFlowMapping
        | ErrorKind::UnexpectedEofImplicitFlowMapping => "a value is missing here",
        ErrorKind::CommentInterceptedScalar => "this comment ends the text, and the next line tries to continue it",
        ErrorKind::UnclosedQuotedScalar | ErrorKind::DocumentIndicatorInQuotedScalar => {
            "this quotation mark is not closed"
        }
        ErrorKind::InvalidTrailingSingleQuotedScalar | ErrorKind::InvalidTrailingDoubleQuotedScalar => {
            "something follows the closing quotation mark; a quotation mark inside it must be escaped"
        }
        ErrorKind::UnknownQuotedScalarEscape => {
            "there is no such escape with \"\\\"; write \"\\\\\", or take single quotation marks"
        }
        ErrorKind::UnknownAnchor => {
            "no anchor \"&\" of this name stands above; a text that begins with \"*\" needs quotes"
        }
        ErrorKind::BomInsideDocument => "a byte order mark hides here; remove it",
        ErrorKind::MismatchedFlowCollectionEnd { open, close } => {
            return Reason::Syntax(format!("this \"{open}\" is closed by \"{close}\""));
        }
        ErrorKind::UnclosedFlowCollection { open } => return Reason::Syntax(format!("this \"{open}\" is not closed")),
        ErrorKind::UnexpectedCharacter { character } if character.is_control() => {
            let code = u32::from(*character);
            return Reason::Syntax(format!(
                "the control character U+{code:04X} stands here; this may be no text at all"
            ));
        }
        ErrorKind::UnexpectedCharacter { character } => {
            return Reason::Syntax(format!("a text cannot begin with \"{character}\"; put it in quotes"));
        }
        other => return Reason::Syntax(other.to_string()),
    };
    Reason::Syntax(words.to_owned())
}
