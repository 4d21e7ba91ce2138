//! Prints values as people do: each in a way of its own.

use serde_json::{Map, Value};

/// A small generator of numbers: the same seed gives the same layout.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed ^ 0x9E37_79B9_7F4A_7C15)
    }

    /// A number below `sides`.
    pub(crate) fn roll(&mut self, sides: u64) -> u64 {
        // xorshift64*
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % sides
    }

    pub(crate) fn one_in(&mut self, sides: u64) -> bool {
        self.roll(sides) == 0
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[usize::try_from(self.roll(from.len() as u64)).unwrap()]
    }
}

/// The habits of one file.
pub(crate) struct Printer<'d> {
    pub(crate) dice: &'d mut Dice,
    indent: usize,
    dash: usize,
    /// One in how many collections is in braces, has a comment, an anchor.
    flow: u64,
    comments: u64,
    anchors: u64,
    quotes_keys: bool,
    tabs: bool,
    /// What has an anchor, and whether it may be merged.
    anchored: Vec<(String, Value)>,
    number: usize,
    /// How deep in a probe or in resources we are: comments there may go.
    inside: usize,
}

const NEVER: u64 = 1 << 40;

impl<'d> Printer<'d> {
    pub(crate) fn new(dice: &'d mut Dice) -> Self {
        let indent = dice.pick(&[2, 2, 4, 3]);
        Self {
            indent,
            dash: dice.pick(&[0, 0, indent, 1]),
            flow: dice.pick(&[NEVER, 2, 4, 8]),
            comments: dice.pick(&[NEVER, 3, 6]),
            anchors: dice.pick(&[NEVER, NEVER, 3]),
            quotes_keys: dice.one_in(5),
            tabs: dice.one_in(6),
            anchored: Vec::new(),
            number: 0,
            inside: 0,
            dice,
        }
    }

    /// A whole document, without a line break at its end.
    pub(crate) fn document(&mut self, value: &Value) -> String {
        self.anchored.clear();
        let Value::Object(members) = value else { panic!("a manifest is a mapping") };
        self.mapping(members, 0)
    }

    fn comment(&mut self) -> String {
        self.number += 1;
        let kind = if self.inside > 0 { "inside" } else { "keep" };
        format!("# {kind}{}: [x] {{y}} 'z", self.number)
    }

    fn mapping(&mut self, members: &Map<String, Value>, column: usize) -> String {
        let margin = " ".repeat(column);
        let mut lines: Vec<String> = Vec::new();
        let mut rest: Vec<(&String, &Value)> = members.iter().collect();
        if let Some((anchor, merged)) = self.mergeable(members) {
            rest.retain(|(name, value)| merged.get(*name) != Some(value));
            lines.push(format!("<<: *{anchor}"));
        }
        for (name, value) in rest {
            if self.dice.one_in(self.comments) {
                let stray = if self.dice.one_in(4) && !lines.is_empty() { "" } else { &margin };
                let comment = self.comment();
                // The first line has its margin already.
                lines.push(if lines.is_empty() { comment } else { format!("\0{stray}{comment}") });
            }
            if self.dice.one_in(20) && !lines.is_empty() {
                lines.push("\0".to_owned());
            }
            let is_inside = name.ends_with("Probe") || name == "resources";
            self.inside += usize::from(is_inside);
            let value = self.behind_colon(value, column);
            lines.push(format!("{}:{value}", self.key(name)));
            self.inside -= usize::from(is_inside);
        }
        let mut text = String::new();
        for (index, line) in lines.iter().enumerate() {
            match line.strip_prefix('\0') {
                _ if index == 0 => text.push_str(line),
                Some(bare) => text = text + "\n" + bare,
                None => text = text + "\n" + &margin + line,
            }
        }
        text
    }

    fn key(&mut self, name: &str) -> String {
        if self.quotes_keys || self.dice.one_in(30) { Value::from(name).to_string() } else { name.to_owned() }
    }

    fn behind_colon(&mut self, value: &Value, column: usize) -> String {
        let anchor = match self.anchor(value) {
            Ok(anchor) => anchor,
            Err(alias) => return alias,
        };
        let in_braces = self.dice.one_in(self.flow);
        let trailing = if self.dice.one_in(self.comments) { format!(" {}", self.comment()) } else { String::new() };
        match value {
            Value::Object(members) if !members.is_empty() && !in_braces => {
                let inner = column + self.indent;
                format!("{anchor}{trailing}\n{}{}", " ".repeat(inner), self.mapping(members, inner))
            }
            Value::Array(elements) if !elements.is_empty() && !in_braces => {
                let inner = column + self.dash;
                let margin = " ".repeat(inner);
                let elements: Vec<_> = elements.iter().map(|element| self.element(element, inner)).collect();
                format!("{anchor}{trailing}\n{margin}{}", elements.join(&format!("\n{margin}")))
            }
            Value::String(text) if text.contains('\n') && !self.dice.one_in(3) => {
                format!("{anchor}{}", block_text(text, column + self.indent))
            }
            other => {
                let space = if self.tabs { "\t" } else { self.dice.pick(&[" ", " ", "  "]) };
                let multi = self.dice.one_in(4).then_some(column + 2);
                format!("{anchor}{space}{}{trailing}", self.flow(other, multi))
            }
        }
    }

    fn element(&mut self, value: &Value, column: usize) -> String {
        match value {
            Value::Object(members) if !members.is_empty() && !self.dice.one_in(self.flow) => {
                format!("- {}", self.mapping(members, column + 2))
            }
            Value::String(text) if text.contains('\n') => format!("-{}", block_text(text, column + 2)),
            other => format!("- {}", self.flow(other, None)),
        }
    }

    /// In braces; on several lines with a column.
    fn flow(&mut self, value: &Value, lines: Option<usize>) -> String {
        let (open, close) = match lines {
            Some(column) => (format!("\n{}", " ".repeat(column + 2)), format!("\n{}", " ".repeat(column))),
            None => (String::new(), String::new()),
        };
        let separator = if lines.is_some() { format!(",{open}") } else { self.dice.pick(&[", ", ","]).to_owned() };
        let inner = lines.map(|column| column + 2);
        match value {
            Value::Object(members) if !members.is_empty() => {
                let members: Vec<_> = members
                    .iter()
                    .map(|(name, value)| format!("{}: {}", self.key(name), self.flow(value, inner)))
                    .collect();
                let comma = if self.dice.one_in(6) { "," } else { "" };
                format!("{{{open}{}{comma}{close}}}", members.join(&separator))
            }
            Value::Array(elements) if !elements.is_empty() => {
                let elements: Vec<_> = elements.iter().map(|element| self.flow(element, None)).collect();
                format!("[{}]", elements.join(", "))
            }
            Value::String(text) => self.scalar(text),
            other => other.to_string(),
        }
    }

    fn scalar(&mut self, text: &str) -> String {
        let is_word = !text.is_empty()
            && text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '/')
            && text.chars().all(|character| character.is_ascii_alphanumeric() || "/-_.".contains(character))
            && !["yes", "no", "on", "off", "true", "false", "null", "y", "n"].contains(&text.to_lowercase().as_str());
        match self.dice.roll(4) {
            0 | 1 if is_word => text.to_owned(),
            2 if !text.contains('\n') => format!("'{}'", text.replace('\'', "''")),
            _ => Value::from(text).to_string(),
        }
    }

    /// A new anchor or nothing; as an error the alias of the same value.
    fn anchor(&mut self, value: &Value) -> Result<String, String> {
        let is_collection = value.as_object().is_some_and(|members| !members.is_empty())
            || value.as_array().is_some_and(|elements| !elements.is_empty());
        if self.anchors == NEVER || !is_collection {
            return Ok(String::new());
        }
        if let Some((name, _)) = self.anchored.iter().find(|(_, anchored)| anchored == value) {
            return Err(format!(" *{name}"));
        }
        if !self.dice.one_in(self.anchors) {
            return Ok(String::new());
        }
        let name = format!("a{}", self.anchored.len());
        self.anchored.push((name.clone(), value.clone()));
        Ok(format!(" &{name}"))
    }

    /// An anchored mapping that has only members of this one. One that is still open is not here yet.
    fn mergeable(&mut self, members: &Map<String, Value>) -> Option<(String, Map<String, Value>)> {
        let fits = |value: &Value| {
            value.as_object().is_some_and(|anchored| {
                anchored.len() < members.len() && anchored.iter().all(|(name, value)| members.get(name) == Some(value))
            })
        };
        let found = self.anchored.iter().find(|(_, value)| fits(value)).cloned();
        found.map(|(name, value)| (name, value.as_object().cloned().unwrap_or_default()))
    }
}

fn block_text(text: &str, column: usize) -> String {
    let mark = if text.ends_with('\n') { "|" } else { "|-" };
    let margin = " ".repeat(column);
    format!(" {mark}\n{margin}{}", text.trim_end_matches('\n').replace('\n', &format!("\n{margin}")))
}
