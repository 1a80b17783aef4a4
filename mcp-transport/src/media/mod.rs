//! Media types, parsed as such and never searched as text (specification: Streamable HTTP,
//! Sending Messages; RFC 9110, sections 8.3.1 and 12.5.1).

use http::HeaderMap;
use http::header::{ACCEPT, CONTENT_TYPE};

mod parse;

pub(crate) use parse::is_tchar;
use parse::{Element, elements, media_type};

/// `application/json`, the media type of one message.
pub const JSON: &str = "application/json";

/// `text/event-stream`, the media type of a stream of messages.
pub const SSE: &str = "text/event-stream";

/// What a client sends as its `Accept`: it has to take both.
pub const ACCEPT_BOTH: &str = "application/json, text/event-stream";

/// Whether the body is declared to be JSON: exactly one `Content-Type`, whose media type is
/// `application/json` in any case and with any parameters.
///
/// A `charset` is ignored: JSON is UTF-8, and a body that is not fails as such.
#[must_use]
pub fn is_json(headers: &HeaderMap) -> bool {
    body_kind(headers) == BodyKind::Json
}

/// What a body is declared to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a reply is one of the two, or none of our business")]
pub enum BodyKind {
    /// One message.
    Json,
    /// A stream of messages.
    Sse,
    /// Any other media type, none, or more than one `Content-Type`.
    Other,
}

/// What the headers of a request or response declare its body to be.
#[must_use]
pub fn body_kind(headers: &HeaderMap) -> BodyKind {
    let mut lines = headers.get_all(CONTENT_TYPE).iter();
    let (Some(value), None) = (lines.next(), lines.next()) else {
        return BodyKind::Other;
    };
    if value == JSON {
        // What nearly every message says.
        return BodyKind::Json;
    }
    match media_type(value.as_bytes()) {
        Some((kind, subtype)) if is(kind, subtype, JSON) => BodyKind::Json,
        Some((kind, subtype)) if is(kind, subtype, SSE) => BodyKind::Sse,
        _ => BodyKind::Other,
    }
}

/// Which of the two reply forms a client takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accepts {
    /// One JSON body.
    pub json: bool,
    /// An SSE stream.
    pub sse: bool,
}

impl Accepts {
    /// Reads the `Accept` lines, however many.
    ///
    /// No line, or only empty ones, accept both. Of the ranges that fit a media type the most
    /// specific decides, and `q=0` there refuses it. Parameters of a range other than its weight
    /// are ignored, and so are elements that are no media range.
    #[must_use]
    pub fn parse(headers: &HeaderMap) -> Self {
        let mut lines = headers.get_all(ACCEPT).iter();
        if let (Some(line), None) = (lines.next(), lines.next())
            && line == ACCEPT_BOTH
        {
            // What nearly every client says.
            return Self { json: true, sse: true };
        }
        let (mut json, mut sse) = (Best::default(), Best::default());
        let mut any = false;
        for line in headers.get_all(ACCEPT) {
            for element in elements(line.as_bytes()) {
                any = true;
                let Some(range) = Element::parse(element) else {
                    continue;
                };
                json.consider(&range, JSON);
                sse.consider(&range, SSE);
            }
        }
        Self { json: !any || json.accepts(), sse: !any || sse.accepts() }
    }
}

/// The weight of the most specific range so far.
#[derive(Default)]
struct Best {
    specificity: u8,
    weighs: bool,
}

impl Best {
    fn consider(&mut self, range: &Element<'_>, media: &str) {
        let (kind, _) = media.split_once('/').unwrap_or((media, ""));
        let specificity = match (range.kind, range.subtype) {
            (b"*", b"*") => 1,
            (range_kind, b"*") if range_kind.eq_ignore_ascii_case(kind.as_bytes()) => 2,
            (range_kind, subtype) if is(range_kind, subtype, media) => 3,
            _ => return,
        };
        if specificity > self.specificity {
            *self = Self { specificity, weighs: range.weighs };
        } else if specificity == self.specificity {
            self.weighs |= range.weighs;
        }
    }

    fn accepts(&self) -> bool {
        self.specificity > 0 && self.weighs
    }
}

fn is(kind: &[u8], subtype: &[u8], media: &str) -> bool {
    media.split_once('/').is_some_and(|(media_kind, media_subtype)| {
        kind.eq_ignore_ascii_case(media_kind.as_bytes())
            && subtype.eq_ignore_ascii_case(media_subtype.as_bytes())
    })
}

/// Any header value is read without panicking, and one that is JSON is accepted as JSON.
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub fn fuzz_media(data: &[u8]) {
    let Ok(value) = http::HeaderValue::from_bytes(data) else {
        return;
    };
    let headers: HeaderMap = [(CONTENT_TYPE, value.clone()), (ACCEPT, value)].into_iter().collect();
    if is_json(&headers) && !data.to_ascii_lowercase().windows(2).any(|pair| pair == b"q=") {
        assert_eq!(Accepts::parse(&headers), Accepts { json: true, sse: false });
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use proptest::prelude::*;

    use super::*;

    fn lines(name: &http::HeaderName, values: &[&str]) -> HeaderMap {
        values
            .iter()
            .map(|value| (name.clone(), HeaderValue::from_bytes(value.as_bytes()).unwrap()))
            .collect()
    }

    #[test]
    fn kinds_of_bodies() {
        use BodyKind::{Json, Other, Sse};
        let rows: &[(&[&str], BodyKind)] = &[
            (&["application/json"], Json),
            (&["Application/JSON;charset=\"UTF-8\""], Json),
            (&["application/json; charset=utf-8"], Json),
            (&["application/json;"], Json),
            (&[" application/json ; ; a=b ;"], Json),
            (&["application/json; a=\"x;\\\",y\""], Json),
            (&["text/event-stream"], Sse),
            (&["TEXT/Event-Stream; charset=utf-8"], Sse),
            (&[], Other),
            (&[""], Other),
            (&["application/json", "application/json"], Other),
            (&["application/json, text/plain"], Other),
            (&["application/json; a=b, text/plain"], Other),
            (&["application/jsonx"], Other),
            (&["application/json x"], Other),
            (&["application/json/x"], Other),
            (&["application /json"], Other),
            (&["application/vnd.api+json"], Other),
            (&["text/plain"], Other),
            (&["text/html; a=\"application/json\""], Other),
            (&["application/*"], Other),
            (&["json"], Other),
            (&["application/json; a=\"open"], Other),
            (&["application/json; =b"], Other),
        ];
        for (values, kind) in rows {
            let headers = lines(&CONTENT_TYPE, values);
            assert_eq!(body_kind(&headers), *kind, "{values:?}");
            assert_eq!(is_json(&headers), *kind == Json);
        }
    }

    #[test]
    fn accepted_reply_forms() {
        let rows: &[(&[&str], bool, bool)] = &[
            (&[], true, true),
            (&[""], true, true),
            (&[" , ,"], true, true),
            (&[ACCEPT_BOTH], true, true),
            (&["*/*"], true, true),
            (&["application/*"], true, false),
            (&["text/*"], false, true),
            (&["application/json"], true, false),
            (&["text/event-stream"], false, true),
            (&["application/json;q=0.9, text/*;q=0.1"], true, true),
            (&["application/json", "text/event-stream"], true, true),
            (&["APPLICATION/JSON , Text/Event-Stream"], true, true),
            (&["application/json;q=0, */*"], false, true),
            (&["*/*;q=0, application/json"], true, false),
            (&["text/*;q=0.000, */*;q=0.1"], true, false),
            (&["application/json;q=0, application/*;q=1"], false, false),
            (&["application/json;Q=0"], false, false),
            (&["application/json; charset=utf-8; q=1.000"], true, false),
            (&["application/json;q=0, application/json;charset=utf-8"], true, false),
            (&["text/html, application/xhtml+xml"], false, false),
            (&["application/json;q=2"], false, false),
            (&["application/json;q=0.1234"], false, false),
            (&["*/json"], false, false),
            (&["json, */*;q=0.5"], true, true),
            (&["text/plain;a=\"x, application/json\""], false, false),
            (&["application/jsonx"], false, false),
        ];
        for (values, json, sse) in rows {
            let accepts = Accepts::parse(&lines(&ACCEPT, values));
            assert_eq!(accepts, Accepts { json: *json, sse: *sse }, "{values:?}");
        }
    }

    proptest! {
        #[test]
        fn any_value_is_read(bytes in any::<Vec<u8>>()) {
            fuzz_media(&bytes);
        }

        #[test]
        fn near_misses_are_read(
            text in "(application|text|\\*|)/(json|event-stream|\\*)([;, =\"\\\\q01.]{0,8})",
        ) {
            fuzz_media(text.as_bytes());
        }
    }
}
