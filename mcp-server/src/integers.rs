//! Integers that are written like fractions: to JSON Schema 2.0 is one as well as 2, and to no type of Rust. Some clients
//! and models write all numbers alike.

/// The integer that `number`, a number of JSON, is, written as one; `None` where it is no integer, or is one as it stands.
pub(crate) fn as_integer(number: &str) -> Option<String> {
    if !number.contains(['.', 'e', 'E']) {
        return None;
    }
    let value: f64 = number.parse().ok()?;
    // Above 2^53 a fraction does not hold every integer. There is no -0 among integers.
    let is_exact = value.fract() == 0.0 && value.abs() <= 9_007_199_254_740_992.0;
    is_exact.then(|| format!("{:.0}", value + 0.0))
}

/// A JSON text with its integers written as such; `None` where nothing is to be changed.
#[cold]
pub(crate) fn rewritten(json: &str) -> Option<String> {
    let mut out = String::new();
    let (mut rest, mut changed) = (json, false);
    while let Some(at) = rest.find(['"', '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let length = if from.starts_with('"') { string(from) } else { number(from) };
        let (token, behind) = from.split_at(length);
        let integer = if from.starts_with('"') { None } else { as_integer(token) };
        changed |= integer.is_some();
        out.push_str(integer.as_deref().unwrap_or(token));
        rest = behind;
    }
    out.push_str(rest);
    changed.then_some(out)
}

/// Bytes of the string that `json` begins with.
fn string(json: &str) -> usize {
    let mut escaped = false;
    let end = json.bytes().enumerate().skip(1).find(|&(_, byte)| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    });
    end.map_or(json.len(), |(at, _)| at + 1)
}

/// Bytes of the number that `json` begins with.
fn number(json: &str) -> usize {
    let is_of_number =
        |byte: u8| byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E');
    json.bytes().position(|byte| !is_of_number(byte)).unwrap_or(json.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_written_as_such() {
        for (number, expected) in [
            ("2.0", Some("2")),
            ("-0.0", Some("0")),
            ("1e2", Some("100")),
            ("9007199254740992.0", Some("9007199254740992")),
            ("9007199254740994.0", None),
            ("1e300", None),
            ("0.5", None),
            ("2", None),
        ] {
            assert_eq!(as_integer(number).as_deref(), expected, "{number}");
        }
    }

    #[test]
    fn only_numbers_are_changed() {
        for (json, expected) in [
            (
                r#"{"a":1.0,"1.0":[-2e1,0.5],"s":"1.0 \" 2.0"}"#,
                Some(r#"{"a":1,"1.0":[-20,0.5],"s":"1.0 \" 2.0"}"#),
            ),
            (r#"["\\",3.0]"#, Some(r#"["\\",3]"#)),
            (r#"{"ü":4.0}"#, Some(r#"{"ü":4}"#)),
            (r#"{"a":1,"b":"2.0","c":0.5}"#, None),
            ("{}", None),
        ] {
            assert_eq!(rewritten(json).as_deref(), expected, "{json}");
        }
    }
}
