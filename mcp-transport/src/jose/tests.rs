use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::limits::{MAX_DEPTH, MAX_JWKS_KEYS, MAX_JWT};

const RSA: &[u8] = include_bytes!("../../tests/keys/rsa.pem");
const RSA_PKCS1: &[u8] = include_bytes!("../../tests/keys/rsa_pkcs1.pem");
const P256: &[u8] = include_bytes!("../../tests/keys/p256.pem");
const P256_SEC1: &[u8] = include_bytes!("../../tests/keys/p256_sec1.pem");
const P384: &[u8] = include_bytes!("../../tests/keys/p384.pem");
const ED25519: &[u8] = include_bytes!("../../tests/keys/ed25519.pem");

/// RFC 7515, appendix A.2.
const RS256_HEADER: &str = "eyJhbGciOiJSUzI1NiJ9";
const CLAIMS: &str = "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0\
                      cnVlfQ";
const RS256_SIGNATURE: &str = "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_\
                               O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIA\
                               RNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPq\
                               vhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77\
                               Rw";
const RSA_JWK: &str = r#"{"kty":"RSA","n":"ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ","e":"AQAB"}"#;

/// RFC 7515, appendix A.3.
const ES256_TOKEN: &str = "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlL\
                           mNvbS9pc19yb290Ijp0cnVlfQ.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlS\
                           ApmWQxfKTUJqPP3-Kg6NU1Q";
const EC_JWK: &str = r#"{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}"#;

/// RFC 8037, appendix A.2.
const ED_JWK: &str =
    r#"{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#;

fn key(algorithm: Algorithm) -> SigningKey {
    let pem = match algorithm {
        Algorithm::Es256 => P256,
        Algorithm::Es384 => P384,
        Algorithm::EdDsa => ED25519,
        _ => RSA,
    };
    SigningKey::from_pem(algorithm, pem).unwrap()
}

fn jwk(text: &str) -> Jwk {
    Jwk::parse(text).unwrap()
}

/// A token with any header, signed by the key whatever the header says.
fn token(key: &SigningKey, header: &str, claims: &str) -> String {
    let signed = format!("{}.{}", encode(header), encode(claims));
    let signature = key.sign(signed.as_bytes()).unwrap();
    format!("{signed}.{}", encode(signature))
}

#[test]
fn rfc_7515_a_2_rs256() {
    let compact = format!("{RS256_HEADER}.{CLAIMS}.{RS256_SIGNATURE}");
    let token = Unverified::parse(&compact).unwrap();
    let verified = token.verify(&jwk(RSA_JWK), Algorithm::Rs256).unwrap();
    let claims =
        "{\"iss\":\"joe\",\r\n \"exp\":1300819380,\r\n \"http://example.com/is_root\":true}";
    assert_eq!(verified.claims(), claims);
    // The signature is the same every time, so signing is checked as well.
    for pem in [RSA, RSA_PKCS1] {
        let key = SigningKey::from_pem(Algorithm::Rs256, pem).unwrap();
        let signature = key.sign(format!("{RS256_HEADER}.{CLAIMS}").as_bytes()).unwrap();
        assert_eq!(encode(signature), RS256_SIGNATURE);
        assert_eq!(*key.public_jwk(), jwk(RSA_JWK));
    }
}

#[test]
fn rfc_7515_a_3_es256() {
    let token = Unverified::parse(ES256_TOKEN).unwrap();
    let claims: Value = token.verify(&jwk(EC_JWK), Algorithm::Es256).unwrap().decode().unwrap();
    assert_eq!(claims["iss"], "joe");
    let shown = format!("{token:?}");
    assert!(!shown.contains("eyJ") && !shown.contains("joe") && shown.contains("Es256"), "{shown}");
    assert_eq!(*key(Algorithm::Es256).public_jwk(), jwk(EC_JWK));
}

#[test]
fn rfc_8037_a_4_ed25519() {
    let message = b"eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc";
    let signature =
        "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg";
    let key = key(Algorithm::EdDsa);
    assert_eq!(encode(key.sign(message).unwrap()), signature);
    assert_eq!(*key.public_jwk(), jwk(ED_JWK));
    jwk(ED_JWK).verify(Algorithm::EdDsa, message, &decode(signature).unwrap()).unwrap();
}

#[test]
fn rfc_7638_and_8037_thumbprints() {
    let rsa = r#"{"kty":"RSA","n":"0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw","e":"AQAB","alg":"RS256","kid":"2011-04-29"}"#;
    let thumbprint = jwk(rsa).thumbprint();
    assert_eq!(thumbprint.to_string(), "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs");
    assert_eq!(thumbprint.to_string().parse(), Ok(thumbprint));
    assert_eq!(jwk(ED_JWK).thumbprint().to_string(), "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
    for text in ["", "NzbL", "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs=", "x"] {
        assert_eq!(text.parse::<Thumbprint>(), Err(InvalidThumbprint), "{text}");
    }
}

#[test]
fn every_algorithm_signs_what_it_verifies_and_nothing_else_does() {
    let keys: Vec<_> = Algorithm::ALL.into_iter().map(key).collect();
    for signer in &keys {
        let algorithm = signer.algorithm();
        let token = signer.sign_jwt(&Header::new("JWT"), &json!({"n": 1})).unwrap();
        let token = Unverified::parse(&token).unwrap();
        assert_eq!(token.algorithm(), algorithm);
        for other in &keys {
            let result = token.verify(other.public_jwk(), other.algorithm());
            assert_eq!(result.is_ok(), other.algorithm() == algorithm, "{algorithm} by {other:?}");
            // One key of RSA is good for six algorithms, and of those only the header's counts.
            let result = token.verify(other.public_jwk(), algorithm);
            let same_key = other.public_jwk() == signer.public_jwk();
            assert_eq!(result.is_ok(), same_key, "{algorithm} by {other:?}");
        }
    }
}

#[test]
fn generated_keys_sign() {
    for algorithm in [Algorithm::Es256, Algorithm::Es384, Algorithm::EdDsa] {
        let key = SigningKey::generate(algorithm).unwrap().with_key_id("k1");
        let token = key.sign_jwt(&Header::new("JWT"), &json!({})).unwrap();
        let token = Unverified::parse(&token).unwrap();
        assert_eq!(token.key_id(), Some("k1"));
        assert_eq!(key.public_jwk().key_id(), Some("k1"));
        token.verify(key.public_jwk(), algorithm).unwrap();
        let stranger = SigningKey::generate(algorithm).unwrap();
        let result = token.verify(stranger.public_jwk(), algorithm);
        assert!(matches!(result, Err(InvalidJwt::Signature)));
    }
    assert!(matches!(
        SigningKey::generate(Algorithm::Rs256),
        Err(InvalidKey::NotGenerated(Algorithm::Rs256))
    ));
}

#[test]
fn private_keys_are_read_for_their_algorithm_only_and_never_shown() {
    for algorithm in Algorithm::ALL {
        for pem in [RSA, P256, P384, ED25519] {
            match SigningKey::from_pem(algorithm, pem) {
                Ok(key) => assert!(key.public_jwk().fits(algorithm)),
                Err(error) => assert!(matches!(error, InvalidKey::Unfit { .. }), "{error}"),
            }
        }
        let sec1 = SigningKey::from_pem(algorithm, P256_SEC1).unwrap_err();
        assert!(sec1.to_string().contains("openssl pkcs8 -topk8"), "{sec1}");
    }
    let encrypted =
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMC4C\n-----END ENCRYPTED PRIVATE KEY-----\n";
    for none in
        ["", "nothing", encrypted, "-----BEGIN PRIVATE KEY-----\n!!!\n-----END PRIVATE KEY-----"]
    {
        let error = SigningKey::from_pem(Algorithm::Es256, none.as_bytes()).unwrap_err();
        assert!(matches!(error, InvalidKey::NoKey), "{error}");
    }
    let shown = format!("{:?}", key(Algorithm::Es256));
    assert!(!shown.contains("jpsQnnGQmL") && shown.contains("Es256"), "{shown}");
}

#[test]
fn a_token_cannot_choose_how_it_is_verified() {
    let key = key(Algorithm::Rs256);
    for name in ["none", "None", "nOnE", "NONE", "HS256", "HS512", "RSA1_5", "rs256", "", "ES512"] {
        let text = token(&key, &json!({"alg": name}).to_string(), "{}");
        assert!(matches!(Unverified::parse(&text), Err(InvalidJwt::Algorithm(_))), "{name}");
        let unsigned = format!("{}.e30.", encode(json!({"alg": name}).to_string()));
        assert!(matches!(Unverified::parse(&unsigned), Err(InvalidJwt::Algorithm(_))), "{name}");
    }
    // HMAC with the text of the public key as its secret.
    let signed = format!("{}.{}", encode(r#"{"alg":"HS256"}"#), encode("{}"));
    let secret = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, RSA_JWK.as_bytes());
    let text = format!("{signed}.{}", encode(ring::hmac::sign(&secret, signed.as_bytes())));
    assert!(matches!(Unverified::parse(&text), Err(InvalidJwt::Algorithm(_))));
    // Another algorithm for the same key.
    let text = token(&key, r#"{"alg":"PS256"}"#, "{}");
    let other = Unverified::parse(&text).unwrap();
    let result = other.verify(key.public_jwk(), Algorithm::Rs256);
    assert!(matches!(result, Err(InvalidJwt::OtherAlgorithm(Algorithm::Rs256))));
    assert!(other.verify(key.public_jwk(), Algorithm::Ps256).is_err());
    // An empty signature.
    let text = format!("{}.e30.", encode(r#"{"alg":"ES256"}"#));
    let empty = Unverified::parse(&text).unwrap();
    assert!(matches!(empty.verify(&jwk(EC_JWK), Algorithm::Es256), Err(InvalidJwt::Signature)));
}

#[test]
fn a_key_verifies_only_what_it_is_for() {
    let with = |member: &str| jwk(&EC_JWK.replace("{", &format!("{{{member},")));
    for (member, fits) in [
        (r#""use":"sig""#, true),
        (r#""use":"enc""#, false),
        (r#""alg":"ES256""#, true),
        (r#""alg":"ES384""#, false),
        (r#""alg":"ECDH-ES""#, false),
        (r#""alg":"none""#, false),
        (r#""key_ops":["verify"]"#, true),
        (r#""key_ops":["sign","verify"]"#, true),
        (r#""key_ops":["encrypt"]"#, false),
        (r#""key_ops":[]"#, false),
        (r#""kid":"a","x5c":[1],"ext":true"#, true),
    ] {
        let key = with(member);
        assert_eq!(key.fits(Algorithm::Es256), fits, "{member}");
        let token = Unverified::parse(ES256_TOKEN).unwrap();
        assert_eq!(token.verify(&key, Algorithm::Es256).is_ok(), fits, "{member}");
        // What it says of itself survives.
        assert_eq!(jwk(&serde_json::to_string(&key).unwrap()), key);
    }
    let newer = jwk(&ED_JWK.replace("{", r#"{"alg":"Ed25519","#));
    assert!(newer.fits(Algorithm::EdDsa));
}

#[test]
fn a_point_off_its_curve_verifies_nothing() {
    let off = EC_JWK.replace("f83O", "f83P");
    let token = Unverified::parse(ES256_TOKEN).unwrap();
    assert!(token.verify(&jwk(&off), Algorithm::Es256).is_err());
}

#[test]
fn keys_that_cannot_be_used() {
    let bytes = |length: usize| encode(vec![0xFF; length]);
    let rsa = |n: &str, e: &str| json!({"kty": "RSA", "n": n, "e": e}).to_string();
    let ec =
        |crv: &str, x: &str, y: &str| json!({"kty": "EC", "crv": crv, "x": x, "y": y}).to_string();
    let (full, short) = (bytes(32), bytes(31));
    let leading_zero = encode([&[0][..], &[0xFF; 256]].concat());
    let rows = [
        (ec("P-521", &bytes(66), &bytes(66)), "kind"),
        (ec("secp256k1", &full, &full), "kind"),
        (json!({"kty": "oct", "alg": "HS256"}).to_string(), "kind"),
        (json!({"kty": "OKP", "crv": "X25519", "x": full}).to_string(), "kind"),
        (json!({"kty": "OKP", "crv": "Ed25519", "x": short}).to_string(), "key's x"),
        (ec("P-256", &short, &full), "key's x"),
        (ec("P-256", &full, &format!("{full}=")), "key's y"),
        (ec("P-384", &full, &full), "key's x"),
        (rsa(&bytes(255), "AQAB"), "bits"),
        (rsa(&bytes(1025), "AQAB"), "bits"),
        (rsa(&encode([&[0x7F][..], &[0xFF; 255]].concat()), "AQAB"), "bits"),
        (rsa(&leading_zero, "AQAB"), "key's n"),
        (rsa(&bytes(256), ""), "key's e"),
        (rsa(&bytes(256), &bytes(6)), "key's e"),
        (rsa("!", "AQAB"), "key's n"),
        (r#"{"kty":"EC","kty":"RSA"}"#.to_owned(), "not right"),
        (r#"{"kty":7}"#.to_owned(), "not right"),
        ("[]".to_owned(), "not right"),
        ("{".to_owned(), "not right"),
        ("{}".to_owned(), "not right"),
    ];
    for (text, why) in rows {
        let error = Jwk::parse(&text).unwrap_err();
        assert!(error.to_string().contains(why), "{text}: {error}");
    }
    for member in ["d", "p", "q", "dp", "dq", "qi", "oth", "k"] {
        let text = EC_JWK.replace("{", &format!("{{\"{member}\":\"AQ\","));
        assert!(matches!(Jwk::parse(&text), Err(InvalidJwk::Private)), "{member}");
    }
}

#[test]
fn a_set_keeps_what_can_be_used() {
    let weak = json!({"kty": "RSA", "n": encode([0xFF; 128]), "e": "AQAB"});
    let named = EC_JWK.replace("{", r#"{"kid":"a","#);
    let text = format!(
        r#"{{"keys":[{weak},{{"kty":"new"}},7,null,{named},{RSA_JWK},{{"kty":"oct","k":"AA"}}],"x":1}}"#
    );
    let set = JwkSet::parse(&text).unwrap();
    assert_eq!((set.iter().count(), set.skipped()), (2, 5));
    assert!(set.knows(Some("a")) && !set.knows(Some("b")) && !set.knows(None));
    let count = |id, algorithm| set.candidates(id, algorithm).count();
    assert_eq!(count(Some("a"), Algorithm::Es256), 1);
    assert_eq!(count(Some("a"), Algorithm::Rs256), 0);
    // A name that no key has may mean one without a name.
    assert_eq!(count(Some("b"), Algorithm::Rs256), 1);
    assert_eq!(count(Some("b"), Algorithm::Es256), 0);
    assert_eq!(count(None, Algorithm::Es256), 1);
    assert_eq!(count(None, Algorithm::Rs512), 1);

    for none in ["", "[]", "{}", r#"{"keys":7}"#, r#"{"keys":[],"keys":[]}"#, r#"{"keys":[}"#] {
        assert!(matches!(JwkSet::parse(none), Err(InvalidJwk::Set(_))), "{none}");
    }
    let many = |count| format!(r#"{{"keys":[{}]}}"#, vec!["1"; count].join(","));
    assert_eq!(JwkSet::parse(&many(MAX_JWKS_KEYS)).unwrap().skipped(), MAX_JWKS_KEYS);
    assert!(matches!(JwkSet::parse(&many(MAX_JWKS_KEYS + 1)), Err(InvalidJwk::Many)));
}

#[test]
fn headers_that_are_refused() {
    let key = key(Algorithm::Es256);
    let deep = "[".repeat(MAX_DEPTH) + &"]".repeat(MAX_DEPTH);
    let private = EC_JWK.replace("{", r#"{"d":"AQ","#);
    let rows = [
        (r#"{"alg":"ES256","crit":["exp"]}"#.to_owned(), "critical"),
        (r#"{"alg":"ES256","crit":[]}"#.to_owned(), "critical"),
        (r#"{"alg":"ES256","b64":false,"crit":["b64"]}"#.to_owned(), "critical"),
        (r#"{"alg":"ES256","alg":"ES256"}"#.to_owned(), "header is not right"),
        (r#"{"alg":"ES256","\u0061lg":"none"}"#.to_owned(), "header is not right"),
        (r#"{"alg":"ES256","x":1,"x":2}"#.to_owned(), "header is not right"),
        (format!(r#"{{"alg":"ES256","x":{deep}}}"#), "header is not right"),
        ("[]".to_owned(), "header is not right"),
        (r#"{"alg":"ES256"} x"#.to_owned(), "header is not right"),
        ("{}".to_owned(), "header's alg"),
        (r#"{"alg":["ES256"]}"#.to_owned(), "header's alg"),
        (r#"{"alg":null}"#.to_owned(), "header's alg"),
        (r#"{"alg":"ES256","kid":1}"#.to_owned(), "header's kid"),
        (r#"{"alg":"ES256","typ":{}}"#.to_owned(), "header's typ"),
        (r#"{"alg":"ES256","jwk":"x"}"#.to_owned(), "header's key"),
        (format!(r#"{{"alg":"ES256","jwk":{private}}}"#), "header's key"),
        (format!(r#"{{"alg":"ES256","x":"{}"}}"#, "x".repeat(5000)), "header is longer"),
    ];
    for (header, why) in rows {
        let text = token(&key, &header, "{}");
        let error = Unverified::parse(&text).unwrap_err();
        assert!(error.to_string().contains(why), "{header}: {error}");
    }
    for claims in ["", "[]", "1", "{", r#"{"exp":1,"exp":2}"#, r#"{"a":1}{}"#, &deep] {
        let text = token(&key, r#"{"alg":"ES256"}"#, claims);
        assert!(matches!(Unverified::parse(&text), Err(InvalidJwt::Claims(_))), "{claims}");
    }
    let text = format!("{}.{}.AA", encode(r#"{"alg":"ES256"}"#), encode(b"{\"a\":\"\xFF\"}"));
    assert!(matches!(Unverified::parse(&text), Err(InvalidJwt::NotUtf8)));
}

#[test]
fn texts_that_are_no_token() {
    let parts: Vec<_> = ES256_TOKEN.split('.').collect();
    let (header, claims, signature) = (parts[0], parts[1], parts[2]);
    let standard = signature.replace('-', "+");
    let shorter = |by| signature.get(..signature.len() - by).unwrap();
    for text in [
        String::new(),
        "..".to_owned(),
        header.to_owned(),
        format!("{header}.{claims}"),
        format!("{ES256_TOKEN}."),
        format!("{ES256_TOKEN}.{signature}"),
        format!("{header}.{claims}.{signature}=="),
        format!("{header}.{claims}=.{signature}"),
        format!("{header}.{claims}.{standard}"),
        format!("{header}.{claims}.{signature}\n"),
        format!(" {ES256_TOKEN}"),
        format!("{header}\n.{claims}.{signature}"),
        format!("{header}.{claims}.{}", shorter(1)),
        // The last character has bits to spare, which must be zero.
        format!("{header}.{claims}.{}R", shorter(1)),
    ] {
        assert!(Unverified::parse(&text).is_err(), "{text:?}");
    }
    // Base64url all the same, of another length.
    for signature in [shorter(2), &format!("{signature}A"), ""] {
        let text = format!("{header}.{claims}.{signature}");
        let result = Unverified::parse(&text).unwrap().verify(&jwk(EC_JWK), Algorithm::Es256).err();
        assert!(matches!(result, Some(InvalidJwt::Signature)), "{signature}");
    }

    let huge = "A".repeat(MAX_JWT + 1);
    assert!(matches!(Unverified::parse(&huge), Err(InvalidJwt::Long)));
}

#[test]
fn no_bit_may_change() {
    for algorithm in [Algorithm::Es256, Algorithm::EdDsa] {
        let key = key(algorithm);
        let text = key.sign_jwt(&Header::new("JWT"), &json!({"sub": "a"})).unwrap();
        for at in 0..text.len() {
            for bit in 0..7 {
                let mut bytes = text.clone().into_bytes();
                bytes[at] ^= 1 << bit;
                let Ok(changed) = String::from_utf8(bytes) else { continue };
                let Ok(token) = Unverified::parse(&changed) else { continue };
                let result = token.verify(key.public_jwk(), algorithm);
                assert!(result.is_err(), "bit {bit} of byte {at} of {text}");
            }
        }
    }
}

#[test]
fn ecdsa_in_der_is_refused() {
    let random = ring::rand::SystemRandom::new();
    let algorithm = &ring::signature::ECDSA_P256_SHA256_ASN1_SIGNING;
    let pkcs8 = ring::signature::EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
    let pair = ring::signature::EcdsaKeyPair::from_pkcs8(algorithm, pkcs8.as_ref(), &random);
    let key = SigningKey::from_pkcs8(Algorithm::Es256, pkcs8.as_ref()).unwrap();
    let signed = format!("{}.e30", encode(r#"{"alg":"ES256"}"#));
    let signature = pair.unwrap().sign(&random, signed.as_bytes()).unwrap();
    let text = format!("{signed}.{}", encode(signature));
    let token = Unverified::parse(&text).unwrap();
    let result = token.verify(key.public_jwk(), Algorithm::Es256);
    assert!(matches!(result, Err(InvalidJwt::Signature)));
}

#[test]
fn types_are_media_types() {
    let key = key(Algorithm::EdDsa);
    let is_typ = |typ: &str| {
        let text = key.sign_jwt(&Header::new(typ), &json!({})).unwrap();
        Unverified::parse(&text).unwrap().is_typ("at+jwt")
    };
    for typ in ["at+jwt", "AT+JWT", "application/at+jwt", "Application/At+Jwt"] {
        assert!(is_typ(typ), "{typ}");
    }
    for typ in
        ["", "JWT", "at+jwt ", "text/at+jwt", "application/", "dpop+jwt", "applicatiön/at+jwt"]
    {
        assert!(!is_typ(typ), "{typ}");
    }
    let text = key.sign_jwt(&Header::default(), &json!({})).unwrap();
    let token = Unverified::parse(&text).unwrap();
    assert!(!token.is_typ("at+jwt") && token.typ().is_none());
}

#[test]
fn headers_of_ones_own_cannot_say_another_algorithm() {
    let key = key(Algorithm::EdDsa).with_key_id("a");
    let header = Header::new("JWT").member("alg", "none").member("x5t#S256", "abc");
    let text = key.sign_jwt(&header, &json!({"iss": "me"})).unwrap();
    let token = Unverified::parse(&text).unwrap();
    assert_eq!((token.algorithm(), token.key_id()), (Algorithm::EdDsa, Some("a")));
    let head = decode(text.split('.').next().unwrap()).unwrap();
    let head: Value = serde_json::from_slice(&head).unwrap();
    assert_eq!(head, json!({"alg": "EdDSA", "kid": "a", "typ": "JWT", "x5t#S256": "abc"}));
    for nothing in [json!(7), json!([]), json!(null)] {
        assert!(matches!(key.sign_jwt(&header, &nothing), Err(SignError::Claims(_))));
    }
}

proptest! {
    #[test]
    fn any_text_is_read(text in ".*") {
        fuzz_jwt(text.as_bytes());
    }

    #[test]
    fn any_bytes_in_compact_form_are_read(
        header in any::<Vec<u8>>(),
        claims in any::<Vec<u8>>(),
        signature in any::<Vec<u8>>(),
    ) {
        fuzz_jwt(format!("{}.{}.{}", encode(header), encode(claims), encode(signature)).as_bytes());
    }

    #[test]
    fn near_keys_are_read(
        kty in "EC|RSA|OKP|oct", crv in "P-256|P-384|Ed25519|x", x in "[A-Za-z0-9_-]{0,70}",
        n in "[A-Za-z0-9_-]{340,345}", kid in ".{0,8}",
    ) {
        let key = json!({"kty": kty, "crv": crv, "x": x, "y": x, "n": n, "e": "AQAB", "kid": kid});
        fuzz_jwt(key.to_string().as_bytes());
        let header = json!({"alg": "ES256", "jwk": key}).to_string();
        fuzz_jwt(format!("{}.e30.AAAA", encode(header)).as_bytes());
    }

    #[test]
    fn what_is_signed_verifies(
        which in 0..Algorithm::ALL.len(), name in ".{0,20}", kid in ".{0,20}", number in any::<i64>(),
    ) {
        let key = key(Algorithm::ALL[which]).with_key_id(kid.as_str());
        let claims = json!({"name": name, "number": number});
        let text = key.sign_jwt(&Header::new("JWT"), &claims).unwrap();
        let token = Unverified::parse(&text).unwrap();
        prop_assert_eq!(token.key_id(), Some(kid.as_str()));
        let verified = token.verify(key.public_jwk(), key.algorithm()).unwrap();
        prop_assert_eq!(verified.decode::<Value>().unwrap(), claims);
    }
}
