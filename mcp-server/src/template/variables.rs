//! `Variables`: the values of a template's variables.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::decode::{self, InvalidVariables};

/// The values of a template's variables, by name; absent ones are not in it.
///
/// It is encoded by serde as a map of strings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Variables(BTreeMap<String, String>);

impl Variables {
    /// The value of a variable, decoded; `None` if it is absent.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Names and values, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Decodes the variables into the fields of a struct, or into a map.
    ///
    /// A text is parsed into the type that its field asks for: strings, numbers, `bool` (`true`, `false`), `char`,
    /// enums without data, newtypes of these. A variable that may be absent is an `Option`, or has
    /// `#[serde(default)]`. Fields behind `#[serde(flatten)]` get strings only.
    ///
    /// # Errors
    /// When a field has no variable, or its text does not parse.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, InvalidVariables> {
        decode::decode(&self.0)
    }

    /// The value of a variable as a path that stays below the directory it is joined to.
    ///
    /// `None` if the variable is absent, or its value is anything but names joined by `/`: an absolute path,
    /// one with `.`, `..` or an empty name, with a backslash or a control character, or on Windows with a `:`.
    /// Names of nothing but dots and spaces are refused too, which Windows takes for `.` and `..`.
    ///
    /// The file system is not looked at: links below the directory may still lead out of it. Windows' device names,
    /// such as `NUL`, pass.
    ///
    /// ```
    /// use std::path::Path;
    /// use mcp_server::UriTemplate;
    ///
    /// let template = UriTemplate::parse("file:///{+path}")?;
    /// let asked = |uri| template.matches(uri).expect("it is one");
    /// let notes = asked("file:///notes/may.md");
    /// assert_eq!(notes.relative_path("path"), Some(Path::new("notes/may.md")));
    /// assert_eq!(asked("file:///notes/..%2F..%2Fetc/passwd").relative_path("path"), None);
    /// # Ok::<_, mcp_server::InvalidTemplate>(())
    /// ```
    #[must_use]
    pub fn relative_path(&self, name: &str) -> Option<&Path> {
        let value = self.get(name)?;
        let banned = |c: char| c.is_control() || c == '\\' || (cfg!(windows) && c == ':');
        let named = |piece: &str| !piece.trim_end_matches(['.', ' ']).is_empty();
        (value.split('/').all(named) && !value.contains(banned)).then(|| Path::new(value))
    }
}

/// Of a name that comes more than once, the last value counts.
impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for Variables {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(variables: I) -> Self {
        Self(variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}
