//! The documents of a file, one after the other, also behind one that cannot be read.

use granit_parser::{ErrorKind, Event, Options, Parser, ScanError, Span};

use super::position::Position;
use super::problem::{Reason, Refusal, Unread, of_parser};
use super::tree::{Root, Tree};
use super::{Document, MAXIMUM_DEPTH, Reading, is_workload, list, template};

pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Reads all documents of a file.
pub(super) fn read(bytes: &[u8]) -> Reading {
    let mut rest = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    let mut stream = Stream { reading: Reading::default(), position: Position::START, document: 0, copied: 0 };
    if let [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..] = rest {
        stream.document = 1;
        stream.refuse(Refusal { position: Position::START, reason: Reason::Utf16 });
        return stream.reading;
    }
    while let Some(chunk) = rest.utf8_chunks().next() {
        let text = chunk.valid();
        if chunk.invalid().is_empty() {
            stream.read(text);
            break;
        }
        // The document with the bad bytes is lost, from the marker before them to the marker behind.
        let lost = last_marker(text.as_bytes());
        let tail = stream.read(&text[..lost]);
        stream.document += 1;
        let bad = stream.position.after(tail).after(&text[lost..]);
        stream.refuse(Refusal { position: bad, reason: Reason::NotUtf8 });
        let Some(next) = next_marker(rest, text.len()) else { break };
        // Only the line matters now: a marker begins one.
        let skipped = String::from_utf8_lossy(&rest[text.len()..next]);
        stream.position = bad.after(&skipped);
        rest = &rest[next..];
    }
    stream.reading.problems.sort_by_key(|problem| (problem.line, problem.column));
    stream.reading
}

/// What was read so far, and where the rest begins.
struct Stream {
    reading: Reading,
    position: Position,
    document: usize,
    copied: usize,
}

impl Stream {
    /// Reads all documents of a text. Gives the end of it, before which the position stays: most files need no more.
    fn read<'t>(&mut self, mut text: &'t str) -> &'t str {
        while let Some(next) = self.read_to_error(text) {
            self.position = self.position.after(&text[..next]);
            text = &text[next..];
        }
        text
    }

    /// Reads documents up to the first that is wrong. Where to go on, more than zero, if there is anything left.
    fn read_to_error(&mut self, text: &str) -> Option<usize> {
        let mut tree = Tree::new(text, self.position, self.copied);
        let next = self.read_events(text, &mut tree);
        self.copied = tree.copied();
        next
    }

    fn read_events(&mut self, text: &str, tree: &mut Tree<'_>) -> Option<usize> {
        let mut parser = Parser::new_from_str_with_options(text, options());
        // Where the document begins that is being read, or where the last one ended.
        let mut begun = 0;
        let mut is_inside = false;
        // A document that is complete, but what follows may show that it was cut in two.
        let mut complete: Option<Root> = None;
        loop {
            let (refusal, at) = match parser.next()? {
                Ok((Event::StreamEnd, _)) => {
                    self.take(complete);
                    return None;
                }
                Ok((Event::DocumentStart(..), span)) => {
                    self.take(complete.take());
                    self.document += 1;
                    is_inside = true;
                    begun = start_of(&span);
                    continue;
                }
                Ok((Event::DocumentEnd, span)) => {
                    complete = self.finish(tree);
                    is_inside = false;
                    begun = span.end.byte_offset().unwrap_or(begun);
                    continue;
                }
                Ok((event, span)) => match tree.accept(event, &span) {
                    Ok(()) => continue,
                    Err(refusal) => (refusal, start_of(&span)),
                },
                Err(error) => {
                    let at = error.marker().byte_offset().unwrap_or(0);
                    if complete.as_ref().is_some_and(|root| root.is_flow) && begins_json(&error, text, at) {
                        self.take(complete);
                        return Some(at);
                    }
                    (Refusal { position: tree.position(error.marker()), reason: of_parser(&error) }, at)
                }
            };
            // Between two documents the error is in the next one, unless it shows that the last one goes on.
            if !is_inside && complete.is_none() {
                self.document += 1;
            }
            self.finish(tree);
            self.refuse(self.explain(refusal, text, begun, at));
            return next_marker(text.as_bytes(), begun);
        }
    }

    /// The document that has ended, its problems told.
    fn finish(&mut self, tree: &mut Tree<'_>) -> Option<Root> {
        let (root, problems) = tree.finish();
        for problem in problems {
            self.refuse(problem);
        }
        root
    }

    /// Blames a template for what was found at the byte `at`, if one stands in the document before it.
    fn explain(&self, refusal: Refusal, text: &str, begun: usize, at: usize) -> Refusal {
        let document = text.get(begun..).unwrap_or_default();
        let Some(braces) = template::before(document, at.saturating_sub(begun)) else { return refusal };
        Refusal {
            position: self.position.after(text.get(..begun + braces).unwrap_or_default()),
            reason: Reason::Template { syntax: Some(refusal.reason.to_string()) },
        }
    }

    fn take(&mut self, root: Option<Root>) {
        let Some(Root { value, places, template, .. }) = root else { return };
        let first = self.reading.documents.len();
        list::flatten(self.document, value, places, &mut self.reading.documents);
        // Other kinds have templates of their own in this form: ApplicationSets, workflows, dashboards.
        let workloads = |documents: &[Document]| documents.iter().any(|document| is_workload(&document.value));
        if let Some(position) = template.filter(|_| workloads(&self.reading.documents[first..])) {
            self.refuse(Refusal { position, reason: Reason::Template { syntax: None } });
        }
    }

    fn refuse(&mut self, Refusal { position: Position { line, column }, reason }: Refusal) {
        self.reading.problems.push(Unread { document: self.document, line, column, reason });
    }
}

fn options() -> Options {
    granit_parser::options! {
        // Another crate may have compiled them in.
        emit_comments: false,
        // As kubectl reads the last line of a file that has no line break.
        block_scalar_eof_without_line_feed: true,
        flow_nesting_limit: MAXIMUM_DEPTH,
        block_nesting_limit: MAXIMUM_DEPTH,
    }
}

fn start_of(span: &Span) -> usize {
    span.start.byte_offset().unwrap_or(0)
}

/// JSON documents may stand behind each other without anything between them, as `jq` prints them.
pub(super) fn begins_json(error: &ScanError, text: &str, at: usize) -> bool {
    at > 0
        && *error.kind() == ErrorKind::ExpectedDocumentStart
        && text.get(at..).is_some_and(|rest| rest.starts_with(['{', '[']))
}

/// The first `---` that begins a line behind the byte `from`. At the start of a line it is never part of a value.
fn next_marker(bytes: &[u8], from: usize) -> Option<usize> {
    let from = from + 1;
    bytes.get(from..)?.iter().enumerate().map(|(index, _)| from + index).find(|&index| is_marker(bytes, index))
}

/// The last `---` that begins a line, or the start of the bytes.
fn last_marker(bytes: &[u8]) -> usize {
    (0..bytes.len()).rev().find(|&index| is_marker(bytes, index)).unwrap_or(0)
}

fn is_marker(bytes: &[u8], index: usize) -> bool {
    bytes[index] == b'-'
        && (index == 0 || matches!(bytes[index - 1], b'\n' | b'\r'))
        && bytes[index..].starts_with(b"---")
        && bytes.get(index + 3).is_none_or(u8::is_ascii_whitespace)
}
