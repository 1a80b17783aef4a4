//! `Challenge`: one of those that `WWW-Authenticate` holds. RFC 9110, section 11.6.1.

use std::collections::BTreeSet;

use crate::verdict::{Stop, Verdict};

/// A scheme and its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Challenge {
    scheme: String,
    params: Vec<(String, String)>,
}

impl Challenge {
    /// All that these fields hold.
    ///
    /// # Errors
    /// What is not well formed fails.
    pub(super) fn all<'f>(fields: impl IntoIterator<Item = &'f str>) -> Verdict<Vec<Self>> {
        let mut all = Vec::new();
        for field in fields {
            Parser { rest: field }.challenges(&mut all).map_err(|why| {
                Stop::fail("a well-formed WWW-Authenticate", format!("{why}: {field}"))
            })?;
        }
        Ok(all)
    }

    pub(super) fn is_of(&self, scheme: &str) -> bool {
        self.scheme.eq_ignore_ascii_case(scheme)
    }

    /// A parameter, by its name in lower case.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.params.iter().find(|(found, _)| found == name).map(|(_, value)| &**value)
    }

    /// The scopes that it names.
    pub(super) fn scopes(&self) -> Option<BTreeSet<&str>> {
        self.get("scope").map(|scope| scope.split(' ').filter(|it| !it.is_empty()).collect())
    }
}

/// Challenges on one line.
pub(super) fn shown(challenges: &[Challenge]) -> String {
    if challenges.is_empty() {
        return "no challenge".to_owned();
    }
    format!("{challenges:?}")
}

struct Parser<'f> {
    rest: &'f str,
}

impl<'f> Parser<'f> {
    /// A list whose commas part challenges and parameters alike: what is followed by `=` is a parameter.
    fn challenges(mut self, all: &mut Vec<Challenge>) -> Result<(), &'static str> {
        let mut current: Option<Challenge> = None;
        loop {
            self.rest = self.rest.trim_start_matches([' ', '\t', ',']);
            if self.rest.is_empty() {
                all.extend(current);
                return Ok(());
            }
            let name = self.token().ok_or("something that is no token")?;
            if let (Some(challenge), Some(rest)) = (&mut current, self.equals()) {
                self.rest = rest;
                let (name, value) = (name.to_ascii_lowercase(), self.value()?);
                if challenge.get(&name).is_some() {
                    return Err("a parameter that is given twice");
                }
                challenge.params.push((name, value));
                self.ends()?;
            } else {
                all.extend(current.replace(Challenge { scheme: name.into(), params: Vec::new() }));
                if !self.rest.is_empty() && !self.rest.starts_with([' ', ',']) {
                    return Err("a scheme that is not followed by a space");
                }
                self.token68();
            }
        }
    }

    fn token(&mut self) -> Option<&'f str> {
        let is_token = |it: char| it.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(it);
        let end = self.rest.find(|it| !is_token(it)).unwrap_or(self.rest.len());
        let (token, rest) = self.rest.split_at(end);
        self.rest = rest;
        Some(token).filter(|token| !token.is_empty())
    }

    /// What follows an equals sign, if one comes next.
    fn equals(&self) -> Option<&'f str> {
        let rest = self.rest.trim_start_matches([' ', '\t']).strip_prefix('=')?;
        Some(rest.trim_start_matches([' ', '\t']))
    }

    fn value(&mut self) -> Result<String, &'static str> {
        let Some(quoted) = self.rest.strip_prefix('"') else {
            return self.token().map(str::to_owned).ok_or("a parameter without a value");
        };
        let mut value = String::new();
        let mut chars = quoted.char_indices();
        while let Some((at, next)) = chars.next() {
            match next {
                '"' => {
                    self.rest = quoted.split_at(at + 1).1;
                    return Ok(value);
                }
                '\\' => value.extend(chars.next().map(|(_, escaped)| escaped)),
                _ => value.push(next),
            }
        }
        Err("a quote that does not end")
    }

    fn ends(&self) -> Result<(), &'static str> {
        let rest = self.rest.trim_start_matches([' ', '\t']);
        let is_end = rest.is_empty() || rest.starts_with(',');
        if is_end { Ok(()) } else { Err("parameters without a comma between them") }
    }

    /// What some schemes have in place of parameters.
    fn token68(&mut self) {
        let item = self.rest.split(',').next().unwrap_or_default();
        let body = item.trim().trim_end_matches('=');
        let is_part = |it: char| it.is_ascii_alphanumeric() || "-._~+/".contains(it);
        if !body.is_empty() && body.chars().all(is_part) {
            self.rest = self.rest.split_at(item.len()).1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(fields: &[&str]) -> String {
        match Challenge::all(fields.iter().copied()) {
            Ok(all) => all
                .iter()
                .map(|it| format!("{}{:?}", it.scheme, it.params))
                .collect::<Vec<_>>()
                .join(" ")
                .replace("\", \"", "="),
            Err(_) => "!".to_owned(),
        }
    }

    #[test]
    fn challenges() {
        let table: [(&[&str], &str); 15] = [
            (&[], ""),
            (&["Bearer"], "Bearer[]"),
            (&["Bearer a=b"], r#"Bearer[("a=b")]"#),
            (&[r#"Bearer A="x, y=z" , b=c"#], r#"Bearer[("a=x, y=z"), ("b=c")]"#),
            (&[r#"Bearer a="x\"y\\""#], r#"Bearer[("a=x\"y\\")]"#),
            (&["Bearer a = b"], r#"Bearer[("a=b")]"#),
            (&["Bearer a=b, DPoP c=d"], r#"Bearer[("a=b")] DPoP[("c=d")]"#),
            (&["Negotiate abc==, Bearer a=b"], r#"Negotiate[] Bearer[("a=b")]"#),
            (&["Basic, Bearer"], "Basic[] Bearer[]"),
            (&["Bearer a=b", "DPoP"], r#"Bearer[("a=b")] DPoP[]"#),
            (&["Bearer a=b c=d"], "!"),
            (&["Bearer a=b, a=c"], "!"),
            (&[r#"Bearer a="b"#], "!"),
            (&["Bearer a="], "Bearer[]"),
            (&[r#"Bearer: realm="x""#], "!"),
        ];
        for (fields, expected) in table {
            assert_eq!(told(fields), expected, "{fields:?}");
        }
    }
}
