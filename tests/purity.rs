//! The core decides without a clock, a client, an environment or a file: what it is told is all that it knows. Only so
//! can every decision be repeated in a test. Lints cannot be limited to a folder, so this reads the sources.
#![allow(missing_docs, clippy::unwrap_used)]

use std::path::{Path, PathBuf};

/// What must not stand in `src/core`, as whole words.
const BANNED: [&str; 11] = [
    "tokio",
    "kube::Client",
    "kube::Api",
    "SystemTime",
    "Instant::now",
    "Timestamp::now",
    "Zoned::now",
    "std::env",
    "std::fs",
    "std::net",
    "std::process",
];

#[test]
fn the_core_is_pure() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = rust_files(&root.join("src/core"));
    let declared = std::fs::read_to_string(root.join("src/lib.rs")).unwrap().contains("mod core;");
    assert!(!files.is_empty() || !declared, "the library has a core, but src/core has no sources: did it move?");

    let mut found = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        for (line, word) in impurities(&text) {
            found.push(format!("{}:{line}: {word}", file.strip_prefix(root).unwrap().display()));
        }
    }
    assert!(found.is_empty(), "the core must be told these things, not ask for them:\n{}", found.join("\n"));
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// The banned words in a source, with their lines. Tests may read fixtures: what stands under `#[cfg(test)]` is left
/// out.
fn impurities(source: &str) -> Vec<(usize, String)> {
    let code = code_only(source);
    let mut found = Vec::new();
    let mut lines = code.lines().enumerate();
    while let Some((index, line)) = lines.next() {
        if line.trim() == "#[cfg(test)]" {
            skip_item(line, &mut lines);
            continue;
        }
        found.extend(words(line).into_iter().map(|word| (index + 1, word)));
    }
    found
}

/// Skips the item behind an attribute. In formatted code it ends at its indentation, with a semicolon or a brace.
fn skip_item<'a>(attribute: &str, lines: &mut impl Iterator<Item = (usize, &'a str)>) {
    let indentation = attribute.len() - attribute.trim_start().len();
    for (_, line) in lines {
        let here = line.len() - line.trim_start().len();
        let line = line.trim_end();
        if here == indentation && (line.ends_with(';') || line.ends_with('}')) {
            return;
        }
    }
}

fn words(line: &str) -> Vec<String> {
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    let mut found: Vec<String> = BANNED
        .into_iter()
        .filter(|word| {
            line.match_indices(word)
                .any(|(at, _)| !line[..at].ends_with(is_word) && !line[at + word.len()..].starts_with(is_word))
        })
        .map(str::to_owned)
        .collect();
    // `use std::{env, fs};` and `use kube::{Api, Client};`
    for (root, names) in [("std::{", &["env", "fs", "net", "process"][..]), ("kube::{", &["Api", "Client"])] {
        for (at, _) in line.match_indices(root) {
            let listed = line[at + root.len()..].split(|character| !is_word(character));
            found.extend(listed.filter(|name| names.contains(name)).map(|name| format!("{root}{name}")));
        }
    }
    let tokens: Vec<&str> = line.split_whitespace().collect();
    if tokens.windows(2).any(|pair| pair == ["async", "fn"]) {
        found.push("async fn".to_owned());
    }
    found
}

/// The source with comments, texts and characters blanked out, line by line as it was.
fn code_only(source: &str) -> String {
    let characters: Vec<char> = source.chars().collect();
    let mut code = String::with_capacity(source.len());
    let mut at = 0;
    // Copies line breaks and blanks everything else up to `end`.
    let blank = |code: &mut String, at: &mut usize, end: usize| {
        while *at < end.min(characters.len()) {
            code.push(if characters[*at] == '\n' { '\n' } else { ' ' });
            *at += 1;
        }
    };
    while at < characters.len() {
        let rest = &characters[at..];
        let after_word = at > 0 && (characters[at - 1].is_alphanumeric() || characters[at - 1] == '_');
        let end = match rest {
            ['/', '/', ..] => Some(rest.iter().position(|&c| c == '\n').map_or(characters.len(), |length| at + length)),
            ['/', '*', ..] => Some(at + block_comment(rest)),
            ['"', ..] => Some(at + text(rest)),
            ['r', '"' | '#', ..] if !after_word => raw_text(rest).map(|length| at + length),
            ['b', 'r', '"' | '#', ..] if !after_word => raw_text(&rest[1..]).map(|length| at + 1 + length),
            // A character, not a lifetime.
            ['\'', '\\', ..] => rest[2..].iter().skip(1).position(|&c| c == '\'').map(|length| at + 4 + length),
            ['\'', _, '\'', ..] => Some(at + 3),
            _ => None,
        };
        if let Some(end) = end {
            blank(&mut code, &mut at, end);
        } else {
            code.push(characters[at]);
            at += 1;
        }
    }
    code
}

fn block_comment(rest: &[char]) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < rest.len() {
        match &rest[at..] {
            ['/', '*', ..] => (depth, at) = (depth + 1, at + 2),
            ['*', '/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

fn text(rest: &[char]) -> usize {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            '\\' => at += 2,
            '"' => return at + 1,
            _ => at += 1,
        }
    }
    at
}

fn raw_text(rest: &[char]) -> Option<usize> {
    let hashes = rest[1..].iter().take_while(|&&c| c == '#').count();
    if rest.get(1 + hashes) != Some(&'"') {
        return None; // r#raw_identifier
    }
    let mut at = 2 + hashes;
    while at < rest.len() {
        if rest[at] == '"' && rest[at + 1..].iter().take(hashes).filter(|&&c| c == '#').count() == hashes {
            return Some(at + 1 + hashes);
        }
        at += 1;
    }
    Some(at)
}

mod the_reader {
    use super::*;

    #[track_caller]
    fn finds(source: &str, expected: &[(usize, &str)]) {
        let expected: Vec<_> = expected.iter().map(|(line, word)| (*line, (*word).to_owned())).collect();
        assert_eq!(impurities(source), expected, "{source}");
    }

    #[test]
    fn finds_each_banned_word() {
        for word in BANNED {
            finds(&format!("fn a() {{}}\nlet x = {word}::y();\n"), &[(2, word)]);
        }
        finds("use std::{env, fmt, fs as files};\n", &[(1, "std::{env"), (1, "std::{fs")]);
        finds("use kube::{Client, ResourceExt};\n", &[(1, "kube::{Client")]);
        finds("pub(crate) async  fn decide() {}\n", &[(1, "async fn")]);
    }

    #[test]
    fn leaves_longer_words_alone() {
        finds("let tokio_like = my_tokio; std::envelope(); kube::ApiResource; InSystemTime;", &[]);
    }

    #[test]
    fn does_not_read_comments_and_texts() {
        finds("// tokio\n/// std::fs\nlet a = 1; // Instant::now\n", &[]);
        finds("/* tokio /* nested */ std::env */ let a = tokio;\n", &[(1, "tokio")]);
        finds("let a = \"tokio \\\" std::fs // \"; std::env\n", &[(1, "std::env")]);
        finds("let a = r#\"tokio \" std::fs\"#;\nlet b = br\"std::net\";\nstd::env\n", &[(3, "std::env")]);
        finds(
            "let a = '\"'; tokio; let b = '\\''; std::fs; fn c<'a>(d: &'a str) {} std::env\n",
            &[(1, "tokio"), (1, "std::env"), (1, "std::fs")],
        );
        finds("let r#type = 1; tokio\n", &[(1, "tokio")]);
        finds("\"two\nlines\"\ntokio", &[(3, "tokio")]);
    }

    #[test]
    fn leaves_tests_alone_and_nothing_behind_them() {
        finds("#[cfg(test)]\nmod tests;\ntokio\n", &[(3, "tokio")]);
        finds("#[cfg(test)]\nmod tests {\n    use std::fs;\n    fn a() {\n    }\n}\ntokio\n", &[(7, "tokio")]);
        finds("mod a {\n    #[cfg(test)]\n    use std::fs;\n    use std::env;\n}\n", &[(4, "std::env")]);
    }
}
