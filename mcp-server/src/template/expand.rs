//! From variables to a URI (RFC 6570, section 3).

use super::expression::{Expression, Operator, Part};
use super::percent::{Class, encode};
use super::variables::Variables;

pub(super) fn expand(parts: &[Part], variables: &Variables) -> String {
    let mut uri = String::new();
    for part in parts {
        match part {
            Part::Literal(text) => uri.push_str(text),
            Part::Expression(expression) => write(&mut uri, expression, variables),
        }
    }
    uri
}

fn write(uri: &mut String, Expression { operator, names }: &Expression, variables: &Variables) {
    let plain = if operator.reserved() { Class::URI } else { Class::UNRESERVED };
    let mut lead = operator.lead();
    for name in names {
        let Some(value) = variables.get(name) else { continue };
        uri.extend(lead.map(char::from));
        lead = Some(operator.separator());
        if operator.named() {
            uri.push_str(name);
            if !value.is_empty() || *operator != Operator::Matrix {
                uri.push('=');
            }
        }
        encode(uri, value, plain);
    }
}
