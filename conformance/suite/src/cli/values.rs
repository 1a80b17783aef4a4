//! Values of options.

use std::time::Duration;

/// A header, name and value.
pub(super) type Header = (String, String);

/// Headers as they are given: `NAME: VALUE` each, or `@FILE` for a file of such lines, which no list of processes shows.
///
/// # Errors
/// Says what is no header, but not its value, which may be a secret.
pub(super) fn headers(given: &[String]) -> Result<Vec<Header>, String> {
    let mut all = Vec::new();
    for text in given {
        match text.strip_prefix('@') {
            None => all.push(header(text)?),
            Some(path) => {
                let file = super::read(path.as_ref())?;
                let lines = file.lines().filter(|line| !line.trim().is_empty());
                let read = lines.map(header).collect::<Result<Vec<_>, _>>();
                all.extend(read.map_err(|why| format!("{path}: {why}"))?);
            }
        }
    }
    Ok(all)
}

fn header(text: &str) -> Result<Header, String> {
    let (name, value) = text
        .split_once(':')
        .ok_or("a header is given as \"NAME: VALUE\", or as @FILE with such lines")?;
    let (name, value) = (name.trim(), value.trim());
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || !name.bytes().all(is_token) {
        return Err(format!("{name:?} is no name of a header"));
    }
    if value.bytes().any(|byte| byte.is_ascii_control() && byte != b'\t') {
        return Err(format!("the header {name} has control characters in its value"));
    }
    Ok((name.to_owned(), value.to_owned()))
}

/// Seconds that a check may wait: less than a tenth is shorter than what machines need that have else to do.
pub(super) fn patience(text: &str) -> Result<Duration, String> {
    seconds(text, 0.1, 600.0)
}

/// Seconds that a server may take to start.
pub(super) fn wait(text: &str) -> Result<Duration, String> {
    seconds(text, 0.0, 3600.0)
}

fn seconds(text: &str, least: f64, most: f64) -> Result<Duration, String> {
    let number = text.parse::<f64>().ok().filter(|number| (least..=most).contains(number));
    number
        .map(Duration::from_secs_f64)
        .ok_or_else(|| format!("a number of seconds from {least} to {most} is needed"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        for text in ["0.1", "5", "600", "1e2"] {
            assert!(patience(text).is_ok(), "{text}");
        }
        for text in ["0", "-1", "nan", "inf", "1e19", "601", "", "5s"] {
            assert!(patience(text).is_err(), "{text}");
        }
        assert_eq!(wait("0"), Ok(Duration::ZERO));
    }

    #[test]
    fn headers_that_are_some() {
        assert_eq!(header("A-b :  c: d "), Ok(("A-b".to_owned(), "c: d".to_owned())));
        for text in ["a", ": b", "a b: c", "a: b\r\nX: y", "a: \0", "ä: b", "a: \x7f"] {
            assert!(header(text).is_err(), "{text:?}");
        }
        let told = header("Authorization: Bearer 0123\n").map(|_| ());
        assert_eq!(told, Ok(()));
        assert!(!header("no name: 0123\x01").unwrap_err().contains("0123"));
    }
}
