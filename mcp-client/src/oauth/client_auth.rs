//! How a client proves to the token endpoint who it is.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue};

use super::client_id::{AuthMethod, ClientId};
use super::error::{Kind, OAuthError};
use super::form::escape;

impl AuthMethod {
    /// What to register, where the authorization server supports these. Where it does not say, it is what RFC 8414 says
    /// that silence means.
    pub(crate) fn to_register(supported: Option<&[String]>) -> Self {
        let Some(supported) = supported else { return Self::SecretBasic };
        let offered = |method: &Self| supported.iter().any(|name| name == method.as_str());
        let preferred = [Self::None, Self::SecretBasic, Self::SecretPost];
        preferred.into_iter().find(offered).unwrap_or(Self::SecretBasic)
    }

    /// How `client` proves who it is, and how else it may be understood if that is refused: metadata is missing or wrong
    /// more often than one would think. What was settled when the client was registered is not tried otherwise.
    pub(crate) fn of(client: &ClientId, supported: Option<&[String]>) -> (Self, Option<Self>) {
        if client.method == Some(Self::PrivateKeyJwt) {
            return (Self::PrivateKeyJwt, None);
        }
        if client.secret.is_none() {
            return (Self::None, None);
        }
        if let Some(method) = client.method {
            return (method, None);
        }
        let offered = |method: Self| {
            supported.is_some_and(|names| names.iter().any(|name| name == method.as_str()))
        };
        let (basic, post) = (offered(Self::SecretBasic), offered(Self::SecretPost));
        match (basic, post, offered(Self::None)) {
            (false, true, _) => (Self::SecretPost, Some(Self::SecretBasic)),
            (false, false, true) => (Self::None, Some(Self::SecretBasic)),
            _ => (Self::SecretBasic, Some(Self::SecretPost)),
        }
    }
}

/// Adds to a request what proves who the client is. `assertion` is what it has signed, for the method that wants
/// one. RFC 6749, section 2.3.1; RFC 7523, section 2.2.
///
/// # Errors
/// When the method wants a secret and there is none.
pub(crate) fn authenticate<'a>(
    client: &'a ClientId,
    method: AuthMethod,
    assertion: &'a str,
    headers: &mut HeaderMap,
    params: &mut Vec<(&'a str, &'a str)>,
) -> Result<(), OAuthError> {
    let missing = || {
        let text = format!("{} wants a secret, which the client has not", method.as_str());
        OAuthError::new(Kind::Usage, text)
    };
    let secret = || client.secret.as_ref().ok_or_else(missing);
    match method {
        AuthMethod::None => params.push(("client_id", &client.id)),
        AuthMethod::SecretPost => {
            let secret = secret()?.expose();
            params.extend([("client_id", &*client.id), ("client_secret", secret)]);
        }
        // Who the client is stands in the assertion.
        AuthMethod::PrivateKeyJwt => params
            .extend([("client_assertion_type", ASSERTION_TYPE), ("client_assertion", assertion)]),
        AuthMethod::SecretBasic => {
            let pair = format!("{}:{}", escape(&client.id), escape(secret()?.expose()));
            // Base64 fits into a header whatever it is of.
            if let Ok(mut value) =
                HeaderValue::from_str(&format!("Basic {}", STANDARD.encode(pair)))
            {
                value.set_sensitive(true);
                headers.insert(AUTHORIZATION, value);
            }
        }
    }
    Ok(())
}

const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(client: &ClientId, method: AuthMethod) -> (Option<String>, Vec<(String, String)>) {
        let (mut headers, mut params) = (HeaderMap::new(), Vec::new());
        authenticate(client, method, "assertion", &mut headers, &mut params).unwrap();
        let basic = headers.get(AUTHORIZATION).map(|value| {
            assert!(value.is_sensitive());
            let encoded = value.to_str().unwrap().strip_prefix("Basic ").unwrap();
            String::from_utf8(STANDARD.decode(encoded).unwrap()).unwrap()
        });
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        (basic, params.iter().map(own).collect())
    }

    #[test]
    fn methods() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let table = [
            ("id", "secret", "id:secret"),
            ("a:b", "c:d", "a%3Ab:c%3Ad"),
            ("a b+c", "100%&=/?", "a%20b%2Bc:100%25%26%3D%2F%3F"),
            ("https://app/x", "p\u{e4}ss\u{20ac}", "https%3A%2F%2Fapp%2Fx:p%C3%A4ss%E2%82%AC"),
            ("-._~", "*'()!", "-._~:%2A%27%28%29%21"),
        ];
        for (id, secret, expected) in table {
            let client = ClientId::confidential(id, secret);
            let (basic, params) = sent(&client, AuthMethod::SecretBasic);
            assert_eq!((basic.as_deref(), params), (Some(expected), vec![]));
            let (basic, params) = sent(&client, AuthMethod::SecretPost);
            assert_eq!(basic, None);
            assert_eq!(params, [pair("client_id", id), pair("client_secret", secret)]);
            let (basic, params) = sent(&client, AuthMethod::None);
            assert_eq!((basic, params), (None, vec![pair("client_id", id)]));
            let (basic, params) = sent(&client, AuthMethod::PrivateKeyJwt);
            let expected = [
                pair("client_assertion_type", ASSERTION_TYPE),
                pair("client_assertion", "assertion"),
            ];
            assert_eq!((basic, params), (None, expected.to_vec()));
        }
        let public = ClientId::public("id");
        for method in [AuthMethod::SecretBasic, AuthMethod::SecretPost] {
            let error = authenticate(&public, method, "", &mut HeaderMap::new(), &mut Vec::new());
            assert!(error.unwrap_err().is_usage());
        }
    }

    #[test]
    fn choice() {
        use AuthMethod::{None as Nothing, SecretBasic as Basic, SecretPost as Post};
        let names =
            |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        // What is supported; what is registered, what is tried first and second.
        type Row<'a> = (Option<&'a [&'a str]>, AuthMethod, AuthMethod, Option<AuthMethod>);
        let table: [Row<'_>; 8] = [
            (None, Basic, Basic, Some(Post)),
            (Some(&[]), Basic, Basic, Some(Post)),
            (Some(&["client_secret_basic"]), Basic, Basic, Some(Post)),
            (Some(&["client_secret_post"]), Post, Post, Some(Basic)),
            (Some(&["none"]), Nothing, Nothing, Some(Basic)),
            (Some(&["client_secret_post", "client_secret_basic"]), Basic, Basic, Some(Post)),
            (Some(&["none", "client_secret_post"]), Nothing, Post, Some(Basic)),
            (Some(&["private_key_jwt"]), Basic, Basic, Some(Post)),
        ];
        for (supported, registered, first, second) in table {
            let supported = supported.map(names);
            let supported = supported.as_deref();
            assert_eq!(AuthMethod::to_register(supported), registered, "{supported:?}");
            let client = ClientId::confidential("id", "secret");
            assert_eq!(AuthMethod::of(&client, supported), (first, second), "{supported:?}");
            let settled = client.auth_method(Post);
            assert_eq!(AuthMethod::of(&settled, supported), (Post, None), "{supported:?}");
            assert_eq!(AuthMethod::of(&ClientId::public("id"), supported), (Nothing, None));
            let signing = ClientId::public("id").auth_method(AuthMethod::PrivateKeyJwt);
            let only = (AuthMethod::PrivateKeyJwt, None);
            assert_eq!(AuthMethod::of(&signing, supported), only);
        }
    }
}
