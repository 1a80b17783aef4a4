//! What a user filled in against the fields of the form.

use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{
    ElicitationSchema, MultiSelectSchema, NumberSchema, PrimitiveSchema, SelectOptions,
    StringSchema,
};
use crate::{ElicitAction, ElicitFormParams, ElicitResult, JsonMap, Number, RawJson};

impl ElicitFormParams {
    /// The user agreed and filled in `content`, an object in JSON: completed and checked as
    /// [`ElicitationSchema::complete`] does.
    ///
    /// # Errors
    /// When it does not follow the form.
    pub fn accept<T: Serialize + ?Sized>(&self, content: &T) -> Result<ElicitResult, FormError> {
        let content = RawJson::new(content).and_then(|content| content.decode::<JsonMap>());
        let content = content.ok().ok_or_else(|| FormError::new("", Fault::NotAnObject))?;
        let content = self.requested_schema.complete(content)?;
        Ok(ElicitResult { action: ElicitAction::Accept, content: Some((&content).into()) })
    }
}

impl ElicitationSchema {
    /// What stands in the form at first: the defaults of the fields that have one, in the order of the form.
    pub fn defaults(&self) -> JsonMap {
        let default = |(name, field): (&str, &PrimitiveSchema)| {
            field.default_value().map(|value| (name.to_owned(), value))
        };
        self.properties.iter().filter_map(default).collect()
    }

    /// Completes what a user filled in and checks it, so that it can be sent: what was left out is taken
    /// from the defaults; a member that is `null` was left out. Members that are no fields stay.
    ///
    /// Checked are types, lengths, ranges, choices and that nothing required is missing. That a text is of its
    /// format is not: what is an address, the server knows better.
    ///
    /// # Errors
    /// The first field that does not follow the form.
    pub fn complete(&self, content: JsonMap) -> Result<JsonMap, FormError> {
        let given = content.into_iter().filter(|(_, value)| value.get() != "null");
        let mut content: JsonMap = given.collect();
        for (name, default) in self.defaults() {
            if !content.contains_key(&name) {
                content.insert(name, default);
            }
        }
        for (name, field) in self.properties.iter() {
            if let Some(value) = content.get(name) {
                field.check(value).map_err(|fault| FormError::new(name, fault))?;
            }
        }
        let mut required = self.required.iter().flatten();
        match required.find(|name| !content.contains_key(name)) {
            Some(missing) => Err(FormError::new(missing, Fault::Missing)),
            None => Ok(content),
        }
    }
}

impl PrimitiveSchema {
    fn default_value(&self) -> Option<RawJson> {
        match self {
            Self::String(field) => json(field.default_value.as_ref()),
            Self::Number(field) | Self::Integer(field) => json(field.default_value.as_ref()),
            Self::Boolean(field) => json(field.default_value.as_ref()),
            Self::SingleSelect(field) => json(field.default_value.as_ref()),
            Self::MultiSelect(field) => json(field.default_value.as_ref()),
        }
    }

    fn check(&self, value: &RawJson) -> Result<(), Fault> {
        match self {
            Self::String(field) => field.check(&decode::<String>(value, "a text")?),
            Self::Number(field) => field.check(decode(value, "a number")?),
            Self::Integer(field) => {
                let number: Number = decode(value, "an integer")?;
                let is_whole = number.as_u64().is_some() || number.as_f64().fract() == 0.0;
                if is_whole { field.check(number) } else { Err(Fault::Type("an integer")) }
            }
            Self::Boolean(_) => decode::<bool>(value, "true or false").map(drop),
            Self::SingleSelect(field) => {
                choose(&field.options, &decode::<String>(value, "one of the options")?)
            }
            Self::MultiSelect(field) => field.check(&decode::<Vec<String>>(value, "options")?),
        }
    }
}

impl StringSchema {
    fn check(&self, text: &str) -> Result<(), Fault> {
        let length = text.chars().count();
        within(length, self.min_length, self.max_length, "characters")
    }
}

impl NumberSchema {
    fn check(&self, number: Number) -> Result<(), Fault> {
        match (self.minimum, self.maximum) {
            (Some(least), _) if number < least => Err(Fault::Below(least)),
            (_, Some(most)) if number > most => Err(Fault::Above(most)),
            _ => Ok(()),
        }
    }
}

impl MultiSelectSchema {
    fn check(&self, chosen: &[String]) -> Result<(), Fault> {
        within(chosen.len(), self.min_items, self.max_items, "options")?;
        chosen.iter().try_for_each(|value| choose(&self.options, value))
    }
}

fn json<T: Serialize>(value: Option<&T>) -> Option<RawJson> {
    value.map(|value| RawJson::new(value).expect("texts, numbers and lists of texts are JSON"))
}

fn decode<T: DeserializeOwned>(value: &RawJson, what: &'static str) -> Result<T, Fault> {
    value.decode().ok().ok_or(Fault::Type(what))
}

fn choose(options: &SelectOptions, value: &str) -> Result<(), Fault> {
    match options.values().any(|option| option == value) {
        true => Ok(()),
        false => Err(Fault::NoOption),
    }
}

fn within(
    count: usize,
    least: Option<u64>,
    most: Option<u64>,
    what: &'static str,
) -> Result<(), Fault> {
    // No platform that Rust supports has a wider `usize`.
    let count = u64::try_from(count).unwrap_or(u64::MAX);
    match (least, most) {
        (Some(least), _) if count < least => Err(Fault::TooFew(least, what)),
        (_, Some(most)) if count > most => Err(Fault::TooMany(most, what)),
        _ => Ok(()),
    }
}

/// What a user filled in does not follow the form. It names the field and says what it must be; what was filled
/// in is not repeated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormError {
    field: Box<str>,
    fault: Fault,
}

impl FormError {
    fn new(field: &str, fault: Fault) -> Self {
        Self { field: field.into(), fault }
    }

    /// The name of the field; empty when what was filled in is no object at all.
    pub fn field(&self) -> &str {
        &self.field
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Fault {
    NotAnObject,
    Missing,
    Type(&'static str),
    NoOption,
    Below(Number),
    Above(Number),
    TooFew(u64, &'static str),
    TooMany(u64, &'static str),
}

impl fmt::Display for FormError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.fault == Fault::NotAnObject {
            return f.write_str("the content of a form must be an object");
        }
        write!(f, "the field {:?} must ", self.field)?;
        match &self.fault {
            Fault::NotAnObject => Ok(()),
            Fault::Missing => f.write_str("be filled in"),
            Fault::Type(what) => write!(f, "be {what}"),
            Fault::NoOption => f.write_str("be one of the options"),
            Fault::Below(least) => write!(f, "be at least {least}"),
            Fault::Above(most) => write!(f, "be at most {most}"),
            Fault::TooFew(least, what) => write!(f, "have at least {least} {what}"),
            Fault::TooMany(most, what) => write!(f, "have at most {most} {what}"),
        }
    }
}

impl std::error::Error for FormError {}

#[cfg(test)]
mod tests {
    use super::*;

    const FORM: &str = r#"{"type":"object","required":["name","size"],"properties":{
        "name":{"type":"string","minLength":2,"maxLength":4},
        "age":{"type":"integer","minimum":18,"maximum":130},
        "weight":{"type":"number","minimum":0.5},
        "news":{"type":"boolean","default":false},
        "size":{"type":"string","enum":["S","L"],"default":"L"},
        "color":{"type":"string","oneOf":[{"const":"f00","title":"Red"}]},
        "tags":{"type":"array","minItems":1,"maxItems":2,"items":{"type":"string","enum":["a","b","c"]}},
        "days":{"type":"array","items":{"anyOf":[{"const":"m","title":"Monday"}]},"default":["m"]},
        "rate":{"type":"number","default":1.50}}}"#;

    fn complete(content: &str) -> Result<String, String> {
        let form: ElicitationSchema = serde_json::from_str(FORM).unwrap();
        let content = serde_json::from_str(content).unwrap();
        let completed = form.complete(content).map_err(|error| error.to_string())?;
        Ok(serde_json::to_string(&completed).unwrap())
    }

    // Specification: Elicitation, Requested Schema.
    #[test]
    fn what_follows_the_form_is_completed() {
        let defaults = r#""news":false,"size":"L","days":["m"],"rate":1.5"#;
        assert_eq!(complete(r#"{"name":"Bob"}"#), Ok(format!(r#"{{"name":"Bob",{defaults}}}"#)));
        // What the user chose stays, numbers keep their form, what is null was left out.
        let given =
            r#"{"name":"ÄÖÜß","age":18.0,"news":true,"size":"S","days":[],"rate":2e0,"x":1}"#;
        assert_eq!(complete(given), Ok(given.to_owned()));
        let given = r#"{"name":"Bob","age":null,"size":null}"#;
        assert_eq!(complete(given), Ok(format!(r#"{{"name":"Bob",{defaults}}}"#)));
    }

    #[test]
    fn what_does_not_is_told() {
        let table = [
            (r#"{}"#, "\"name\" must be filled in"),
            (r#"{"name":null}"#, "\"name\" must be filled in"),
            (r#"{"name":1}"#, "\"name\" must be a text"),
            (r#"{"name":"A"}"#, "have at least 2 characters"),
            (r#"{"name":"ABCDE"}"#, "have at most 4 characters"),
            (r#"{"name":"Bob","age":"18"}"#, "\"age\" must be an integer"),
            (r#"{"name":"Bob","age":18.5}"#, "\"age\" must be an integer"),
            (r#"{"name":"Bob","age":17}"#, "\"age\" must be at least 18"),
            (r#"{"name":"Bob","age":131}"#, "\"age\" must be at most 130"),
            (r#"{"name":"Bob","weight":0.4}"#, "\"weight\" must be at least 0.5"),
            (r#"{"name":"Bob","weight":"heavy"}"#, "\"weight\" must be a number"),
            // M9: a boolean is no text.
            (r#"{"name":"Bob","news":"true"}"#, "\"news\" must be true or false"),
            (r#"{"name":"Bob","size":"M"}"#, "\"size\" must be one of the options"),
            (r#"{"name":"Bob","color":"Red"}"#, "\"color\" must be one of the options"),
            (r#"{"name":"Bob","tags":[]}"#, "\"tags\" must have at least 1 options"),
            (r#"{"name":"Bob","tags":["a","b","c"]}"#, "\"tags\" must have at most 2 options"),
            (r#"{"name":"Bob","tags":["d"]}"#, "\"tags\" must be one of the options"),
            (r#"{"name":"Bob","tags":"a"}"#, "\"tags\" must be options"),
        ];
        for (content, expected) in table {
            let error = complete(content).unwrap_err();
            assert!(error.contains(expected), "{content}: {error}");
        }
    }

    #[test]
    fn an_answer_is_built_from_any_object() {
        let form = ElicitFormParams {
            message: "m".to_owned(),
            requested_schema: serde_json::from_str(FORM).unwrap(),
        };
        let answer = form.accept(&serde_json::json!({"name": "Bob"})).unwrap();
        assert_eq!(answer.action, ElicitAction::Accept);
        assert!(answer.content.unwrap().get().contains(r#""size":"L""#));
        let error = form.accept("Bob").unwrap_err();
        assert_eq!(error.to_string(), "the content of a form must be an object");
        assert_eq!(form.accept(&serde_json::json!({})).unwrap_err().field(), "name");
    }
}
