//! What in a command does not do what it seems to do.

/// Something in a command that does not do what it seems to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Oddity {
    /// Of which kind.
    pub kind: OddityKind,
    /// What is odd, for people: a sentence without its end.
    pub sentence: String,
}

/// The kinds of oddities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OddityKind {
    /// `sh -c true pg_isready`: the words after the script are its parameters, and it uses none.
    WordsThatNeverRun,
    /// `exec pg_isready && test -f x`: `exec` replaces the shell, so nothing after it runs.
    AfterExec,
    /// `--host $POD_IP`, where the manifest does not define it: where the image does not either, the option takes the
    /// next word.
    UnsetVariable,
}
