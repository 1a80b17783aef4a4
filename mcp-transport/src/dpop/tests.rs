use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::jose::{Algorithm, Header, InvalidJwt, SigningKey, Unverified};

const NOW: u64 = 1_785_000_000;
const URL: &str = "https://mcp.example.com/mcp";

const EXPECTED: Expected<'static> = Expected {
    method: "POST",
    url: URL,
    access_token: Some("token"),
    nonces: &[],
    algorithms: &Algorithm::ALL,
    now: NOW,
    window: Duration::from_secs(300),
};

fn key() -> SigningKey {
    SigningKey::generate(Algorithm::Es256).unwrap()
}

/// A proof that is right but for what `change` does to its claims.
fn proof(key: &SigningKey, change: impl FnOnce(&mut Value)) -> String {
    let mut claims = json!({
        "jti": "a", "htm": "POST", "htu": URL, "iat": NOW, "ath": token_hash("token"),
    });
    change(&mut claims);
    key.sign_jwt(&header(key), &claims).unwrap()
}

fn header(key: &SigningKey) -> Header {
    let jwk = serde_json::to_value(key.public_jwk()).unwrap();
    Header::new("dpop+jwt").member("jwk", jwk)
}

/// RFC 9449, sections 4.1, 6.1 and 7.1.
#[test]
fn rfc_9449_examples() {
    let for_token = "eyJ0eXAiOiJkcG9wK2p3dCIsImFsZyI6IkVTMjU2IiwiandrIjp7Imt0eSI6IkVDIiwieCI6Imw4dEZyaHgtMzR0VjNoUklDUkRZOXpDa0RscEJoRjQyVVFVZldWQVdCRnMiLCJ5IjoiOVZFNGpmX09rX282NHpiVFRsY3VOSmFqSG10NnY5VERWclUwQ2R2R1JEQSIsImNydiI6IlAtMjU2In19.eyJqdGkiOiItQndDM0VTYzZhY2MybFRjIiwiaHRtIjoiUE9TVCIsImh0dSI6Imh0dHBzOi8vc2VydmVyLmV4YW1wbGUuY29tL3Rva2VuIiwiaWF0IjoxNTYyMjYyNjE2fQ.2-GxA6T8lP4vfrg8v-FdWP0A0zdrj8igiMLvqRMUvwnQg4PtFLbdLXiOSsX0x7NVY-FNyJK70nfbV37xRZT3Lg";
    let for_resource = "eyJ0eXAiOiJkcG9wK2p3dCIsImFsZyI6IkVTMjU2IiwiandrIjp7Imt0eSI6IkVDIiwieCI6Imw4dEZyaHgtMzR0VjNoUklDUkRZOXpDa0RscEJoRjQyVVFVZldWQVdCRnMiLCJ5IjoiOVZFNGpmX09rX282NHpiVFRsY3VOSmFqSG10NnY5VERWclUwQ2R2R1JEQSIsImNydiI6IlAtMjU2In19.eyJqdGkiOiJlMWozVl9iS2ljOC1MQUVCIiwiaHRtIjoiR0VUIiwiaHR1IjoiaHR0cHM6Ly9yZXNvdXJjZS5leGFtcGxlLm9yZy9wcm90ZWN0ZWRyZXNvdXJjZSIsImlhdCI6MTU2MjI2MjYxOCwiYXRoIjoiZlVIeU8ycjJaM0RaNTNFc05yV0JiMHhXWG9hTnk1OUlpS0NBcWtzbVFFbyJ9.2oW9RP35yRqzhrtNP86L-Ey71EOptxRimPPToA1plemAgR6pxHF8y6-yqyVnmcw6Fy1dqd-jfxSYoMxhAJpLjA";
    let thumbprint = "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I".parse().unwrap();
    let at_token = Expected {
        url: "https://server.example.com/token",
        access_token: None,
        now: 1_562_262_616,
        ..EXPECTED
    };
    let checked = check(for_token, &at_token).unwrap();
    let jti = "-BwC3ESc6acc2lTc".to_owned();
    assert_eq!(checked, Checked { thumbprint, jti, issued_at: 1_562_262_616, nonce: None });
    let at_resource = Expected {
        method: "GET",
        url: "https://resource.example.org/protectedresource",
        access_token: Some("Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU"),
        now: 1_562_262_618,
        ..EXPECTED
    };
    assert_eq!(check(for_resource, &at_resource).unwrap().thumbprint, thumbprint);
}

#[test]
fn what_a_client_makes_a_server_accepts() {
    let key = key();
    let make = Proof::new(&key, "POST", "https://mcp.example.com/mcp?a=b#c");
    let make = make.access_token("token").nonce("n2");
    let (one, two) = (make.sign(NOW).unwrap(), make.sign(NOW).unwrap());
    let expected = Expected { nonces: &["n1", "n2"], ..EXPECTED };
    let (one, two) = (check(&one, &expected).unwrap(), check(&two, &expected).unwrap());
    assert_ne!(one.jti, two.jti);
    assert_eq!(one.nonce.as_deref(), Some("n2"));
    assert_eq!(one.thumbprint, key.public_jwk().thumbprint());

    let bare = Proof::new(&key, "POST", "https://mcp.example.com/mcp?a=b#c").sign(NOW).unwrap();
    let token = Unverified::parse(&bare).unwrap();
    assert_eq!(token.typ(), Some("dpop+jwt"));
    let claims: Value = serde_json::from_str(token.danger_claims()).unwrap();
    assert_eq!(claims["htu"], URL);
    assert_eq!(claims.as_object().unwrap().len(), 4, "{claims}");
    assert!(check(&bare, &Expected { access_token: None, ..EXPECTED }).is_ok());
}

#[test]
fn claims_that_are_refused() {
    type Change = fn(&mut Value);
    let rows: &[(Change, &str)] = &[
        (|c| c["htm"] = "GET".into(), "htm"),
        (|c| c["htm"] = "post".into(), "htm"),
        (|c| c["htu"] = "https://mcp.example.com/other".into(), "htu"),
        (|c| c["htu"] = "https://evil.example/mcp".into(), "htu"),
        (|c| c["htu"] = "/mcp".into(), "htu"),
        (|c| c["iat"] = (NOW - 301).into(), "iat"),
        (|c| c["iat"] = (NOW + 301).into(), "iat"),
        (|c| c["iat"] = 0.into(), "iat"),
        (|c| c["iat"] = u64::MAX.into(), "iat"),
        (|c| c["ath"] = token_hash("other").into(), "ath"),
        (|c| c["ath"] = "".into(), "ath"),
        (|c| drop(c.as_object_mut().unwrap().remove("ath")), "ath"),
        (|c| c["jti"] = "".into(), "jti"),
        (|c| c["jti"] = 7.into(), "claims"),
        (|c| c["iat"] = "now".into(), "claims"),
        (|c| c["iat"] = (-1).into(), "claims"),
        (|c| drop(c.as_object_mut().unwrap().remove("jti")), "claims"),
        (|c| drop(c.as_object_mut().unwrap().remove("htm")), "claims"),
        (|c| drop(c.as_object_mut().unwrap().remove("htu")), "claims"),
        (|c| drop(c.as_object_mut().unwrap().remove("iat")), "claims"),
    ];
    let key = key();
    for (change, why) in rows {
        let error = check(&proof(&key, change), &EXPECTED).unwrap_err().to_string();
        assert!(error.contains(why), "{why}: {error}");
    }
    for iat in [NOW - 300, NOW + 300] {
        assert!(check(&proof(&key, |c| c["iat"] = iat.into()), &EXPECTED).is_ok());
    }
    // A token where none was expected.
    let expected = Expected { access_token: None, ..EXPECTED };
    assert!(matches!(check(&proof(&key, |_| ()), &expected), Err(DpopFault::AccessToken)));
}

#[test]
fn a_nonce_is_asked_for_last() {
    let key = key();
    let expected = Expected { nonces: &["new", "old"], ..EXPECTED };
    let with = |nonce: &str| proof(&key, |claims| claims["nonce"] = nonce.into());
    assert!(check(&with("new"), &expected).is_ok() && check(&with("old"), &expected).is_ok());
    assert!(check(&with("any"), &EXPECTED).is_ok());
    for without in [with("older"), with(""), proof(&key, |_| ())] {
        assert!(matches!(check(&without, &expected), Err(DpopFault::Nonce)));
    }
    let other = proof(&key, |claims| claims["htm"] = "GET".into());
    assert!(matches!(check(&other, &expected), Err(DpopFault::Method)));
}

#[test]
fn headers_that_are_refused() {
    let key = key();
    let claims = json!({
        "jti": "a", "htm": "POST", "htu": URL, "iat": NOW, "ath": token_hash("token"),
    });
    let sign = |header: &Header| key.sign_jwt(header, &claims).unwrap();
    assert!(check(&sign(&header(&key)), &EXPECTED).is_ok());
    for typ in ["JWT", "", "at+jwt"] {
        let typed = header(&key).member("typ", typ);
        assert!(matches!(check(&sign(&typed), &EXPECTED), Err(DpopFault::Type)), "{typ}");
    }
    let no_key = Header::new("dpop+jwt");
    assert!(matches!(check(&sign(&no_key), &EXPECTED), Err(DpopFault::NoKey)));
    let others = SigningKey::generate(Algorithm::Es256).unwrap();
    let fault = check(&sign(&header(&others)), &EXPECTED);
    assert!(matches!(fault, Err(DpopFault::Token(InvalidJwt::Signature))));
    let mut private = serde_json::to_value(key.public_jwk()).unwrap();
    private["d"] = "AQ".into();
    let private = Header::new("dpop+jwt").member("jwk", private);
    let fault = check(&sign(&private), &EXPECTED);
    assert!(matches!(fault, Err(DpopFault::Token(InvalidJwt::Jwk(_)))));
    let expected = Expected { algorithms: &[Algorithm::EdDsa], ..EXPECTED };
    let fault = check(&sign(&header(&key)), &expected);
    assert!(matches!(fault, Err(DpopFault::Algorithm(Algorithm::Es256))));
    let secret = json!({"kty": "oct", "k": "AAAA"});
    let secret = Header::new("dpop+jwt").member("jwk", secret);
    assert!(matches!(check(&sign(&secret), &EXPECTED), Err(DpopFault::Token(_))));
}

proptest! {
    #[test]
    fn any_text_is_checked(text in ".*", url in ".*") {
        prop_assert!(check(&text, &EXPECTED).is_err());
        prop_assert!(target::same(&url, &url) || !target::same(&url, URL));
    }

    #[test]
    fn any_claims_are_checked(htu in ".{0,40}", jti in ".{0,9}", iat in any::<f64>()) {
        let key = SigningKey::generate(Algorithm::EdDsa).unwrap();
        let proof = proof(&key, |claims| {
            *claims = json!({"htm": "POST", "htu": htu, "jti": jti, "iat": iat});
        });
        prop_assert!(check(&proof, &EXPECTED).is_err());
    }
}
