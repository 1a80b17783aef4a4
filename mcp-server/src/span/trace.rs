//! What of a trace context is well formed. Specification: Overview, OpenTelemetry trace context; the forms are those of
//! W3C Trace Context and W3C Baggage.

use mcp_types::TraceContext;

/// 512 characters of `tracestate`: what everybody has to pass on.
const MAX_STATE: usize = 512;
/// 32 members of `tracestate`: there must not be more.
const MAX_STATES: usize = 32;
/// 256 characters of each key and of each value of `tracestate`: there must not be more.
const MAX_MEMBER: usize = 256;
/// 8 KiB of `baggage`: what everybody has to pass on.
const MAX_BAGGAGE: usize = 8192;

/// The trace context without what is malformed. A `tracestate` means nothing without its `traceparent`.
pub(crate) fn valid(trace: TraceContext) -> TraceContext {
    let traceparent = trace.traceparent.filter(|text| is_parent(text));
    let tracestate = trace.tracestate.filter(|text| traceparent.is_some() && is_state(text));
    let baggage = trace.baggage.filter(|text| is_baggage(text));
    TraceContext { traceparent, tracestate, baggage }
}

/// `version-trace-parent-flags`, in lower-case hexadecimal; later versions may have more behind.
fn is_parent(text: &str) -> bool {
    let mut fields = text.splitn(5, '-');
    let mut hex = |length: usize, forbidden: u8| {
        let field = fields.next().unwrap_or_default().as_bytes();
        let digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        field.len() == length
            && field.iter().all(digit)
            && !field.iter().all(|byte| *byte == forbidden)
    };
    let whole = hex(2, b'f') && hex(32, b'0') && hex(16, b'0') && hex(2, b'-');
    whole && (fields.next().is_none() || !text.starts_with("00"))
}

fn is_state(text: &str) -> bool {
    let members = || {
        text.split(',')
            .map(|member| member.trim_matches([' ', '\t']))
            .filter(|member| !member.is_empty())
    };
    let key = |b: u8| {
        b.is_ascii_lowercase()
            || b.is_ascii_digit()
            || matches!(b, b'_' | b'-' | b'*' | b'/' | b'@')
    };
    text.len() <= MAX_STATE
        && members().count() <= MAX_STATES
        && members().all(|member| {
            member.split_once('=').is_some_and(|(name, value)| {
                name.starts_with(|first: char| first.is_ascii_alphanumeric())
                    && name.len() <= MAX_MEMBER
                    && name.bytes().all(key)
                    && !value.is_empty()
                    && value.len() <= MAX_MEMBER
                    && value.bytes().all(|b| matches!(b, b' '..=b'~') && b != b'=')
            })
        })
}

fn is_baggage(text: &str) -> bool {
    text.len() <= MAX_BAGGAGE
        && text.bytes().all(|b| matches!(b, b'\t' | b' '..=b'~'))
        && text
            .split(',')
            .all(|member| member.split_once('=').is_some_and(|(name, _)| !name.trim().is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn only_well_formed_parents_pass() {
        let later = PARENT.replacen("00", "cc", 1);
        for text in [PARENT, &later, &format!("{later}-what-comes")] {
            assert!(is_parent(text), "{text}");
        }
        let wrong = [
            "",
            "00",
            "own",
            &PARENT.to_uppercase(),
            &PARENT.replacen("00", "ff", 1),
            &PARENT.replacen("00", "0", 1),
            &format!("{PARENT}-more"),
            &format!("{PARENT}-"),
            &format!("{PARENT} "),
            &format!("{later}0"),
            &PARENT.replace("4bf92f3577b34da6a3ce929d0e0e4736", &"0".repeat(32)),
            &PARENT.replace("00f067aa0ba902b7", &"0".repeat(16)),
            &PARENT.replace("00f067aa0ba902b7", "00f067aa0ba902bg"),
            &PARENT.replace("-01", "-1"),
            &PARENT.replace('-', "_"),
        ];
        for text in wrong {
            assert!(!is_parent(text), "{text}");
        }
    }

    #[test]
    fn states_and_baggage_are_bounded_and_well_formed() {
        for text in ["rojo=00f067aa0ba902b7,congo=t61rcWkgMzE", "a=1, b@c=2 ,", ""] {
            assert!(is_state(text), "{text}");
        }
        let many = |n: usize| (0..n).map(|n| format!("k{n}=v")).collect::<Vec<_>>().join(",");
        assert!(is_state(&many(32)) && !is_state(&many(33)));
        for text in
            ["a", "=1", "A=1", "a=", "a=1\n", "a=ä", "a=b=c", "_a=1", "@a=1", "a =1", "a\t=1"]
        {
            assert!(!is_state(text), "{text}");
        }
        let long = |key: usize, value: usize| {
            is_state(&format!("{}={}", "k".repeat(key), "v".repeat(value)))
        };
        assert!(long(255, 256) && long(256, 255) && !long(1, 257) && !long(257, 1));
        assert!(!long(256, 256), "more than 512 in all");
        for text in ["userId=alice,serverNode=DF%2028", "a=1;p=2 , b=", "a=b=c"] {
            assert!(is_baggage(text), "{text}");
        }
        for text in ["", "a", "=1", "a=1,", "a=\n", &format!("a={}", "x".repeat(8191))] {
            assert!(!is_baggage(text), "{text}");
        }
    }

    #[test]
    fn a_state_needs_its_parent() {
        let trace = |parent: &str| TraceContext {
            traceparent: Some(parent.to_owned()),
            tracestate: Some("a=1".to_owned()),
            baggage: Some("b=2".to_owned()),
        };
        assert_eq!(valid(trace(PARENT)), trace(PARENT));
        let orphaned = TraceContext { traceparent: None, tracestate: None, ..trace("") };
        assert_eq!(valid(trace("nonsense")), orphaned);
    }
}
