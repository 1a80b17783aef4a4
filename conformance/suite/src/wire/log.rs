//! `Log`: what passed between a check and what it tested.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

/// What passed, in order. A cheap clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    text: Arc<Mutex<String>>,
    secrets: Secrets,
}

/// Texts that are to stand in no report, such as tokens. A cheap clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Secrets(Arc<[String]>);

/// A secret has as many bytes. Shorter ones would be found by chance in everything.
const SECRET: usize = 8;

/// Bytes of a log that are kept; what exceeds them is counted.
const KEPT: usize = 64 * 1024;
/// Bytes of one entry that are kept.
const ENTRY: usize = 4 * 1024;

impl Secrets {
    /// These texts. Of credentials with a scheme, such as `Bearer`, what follows it is secret.
    pub(crate) fn new<'t>(texts: impl IntoIterator<Item = &'t str>) -> Self {
        let secrets = texts.into_iter().map(|text| {
            let credentials = text.split_once(' ').filter(|(scheme, _)| {
                scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            });
            credentials.map_or(text, |(_, secret)| secret).trim()
        });
        let mut secrets: Vec<_> =
            secrets.filter(|text| text.len() >= SECRET).map(str::to_owned).collect();
        // One that contains another is looked for before it.
        secrets.sort_by_key(|text| std::cmp::Reverse(text.len()));
        Self(secrets.into())
    }

    fn longest(&self) -> usize {
        self.0.first().map_or(0, String::len)
    }

    /// The text with `[secret]` in place of each of them.
    pub(crate) fn hide(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| text.replace(secret, "[secret]"))
    }
}

impl Log {
    /// A log in which these do not appear.
    pub(crate) fn hiding(secrets: Secrets) -> Self {
        Self { text: Arc::default(), secrets }
    }

    /// What was sent to the tested side.
    pub(crate) fn sent(&self, bytes: &[u8]) {
        self.add('>', bytes);
    }

    /// What the tested side sent.
    pub(crate) fn seen(&self, bytes: &[u8]) {
        self.add('<', bytes);
    }

    /// What happened besides.
    pub(crate) fn note(&self, what: &str) {
        self.add('#', what.as_bytes());
    }

    fn add(&self, mark: char, bytes: &[u8]) {
        let mut log = self.text.lock().unwrap_or_else(PoisonError::into_inner);
        if log.len() > KEPT {
            return;
        }
        // Hidden before it is cut: half a secret would not be found.
        let window = bytes.len().min(ENTRY + self.secrets.longest());
        let (window, _) = bytes.split_at(window);
        let text = self.secrets.hide(&String::from_utf8_lossy(window));
        let (shown, _) = text.split_at(text.floor_char_boundary(ENTRY));
        for line in shown.lines() {
            let _ = writeln!(log, "{mark} {}", printable(line));
        }
        if bytes.len() > ENTRY {
            let _ = writeln!(log, "{mark} ... and {} bytes more", bytes.len() - ENTRY);
        }
    }

    /// A text without the secrets.
    pub(crate) fn hide(&self, text: &str) -> String {
        self.secrets.hide(text)
    }

    /// All of it, a mark and a line each.
    pub(crate) fn text(&self) -> String {
        self.text.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The text with escapes for what a terminal does not show or takes for a command.
pub(crate) fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' | '\'' | '\\' => out.push(c),
            _ => out.extend(c.escape_debug()),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_hidden_wherever_they_stand() {
        let token = "0123456789abcdef";
        let secrets = Secrets::new([&*format!("Bearer {token}"), "short", "a secret of words"]);
        assert_eq!(secrets.hide(&format!("x{token}y short")), "x[secret]y short");
        // A word before a space is taken for a scheme: what follows it is secret.
        assert_eq!(secrets.hide("a secret of words"), "a [secret]");
        for at in [0, 1, ENTRY - token.len(), ENTRY - 3, ENTRY - 1, ENTRY, 2 * ENTRY] {
            let log = Log::hiding(secrets.clone());
            log.sent(format!("{}{token}{}", ".".repeat(at), ".".repeat(ENTRY)).as_bytes());
            assert!(!log.text().contains("0123"), "at {at}");
        }
    }

    #[test]
    fn logs_are_text_and_have_an_end() {
        let log = Log::default();
        log.seen(b"\x1b[31m{\"a\":\"\\u0000\"}\xff\r\nb\x00");
        assert_eq!(log.text(), "< \\u{1b}[31m{\"a\":\"\\u0000\"}\u{fffd}\n< b\\0\n");
        for _ in 0..1000 {
            log.seen(&[b'x'; 10_000]);
        }
        assert!(log.text().len() < KEPT + 2 * ENTRY);
    }
}
