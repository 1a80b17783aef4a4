use proptest::prelude::{any, proptest};

use super::*;

const NOW: u64 = 1_800_000_000;

const BINDING: Binding<'_> = Binding {
    principal: Some("alice"),
    method: "tools/call",
    target: "book",
    arguments: r#"{"seat":{"row":12,"place":"A"},"fares":[1.50,"ä"]}"#,
};

fn key(seed: u8) -> Key {
    Key::new(&[seed; 32])
}

fn sealer() -> Sealer {
    Sealer::new(KeyRing::new(key(1)))
}

fn payload(data: &[u8]) -> Payload<'_> {
    Payload { round: 3, expires: NOW + LIFETIME, data }
}

fn sealed() -> String {
    sealer().seal(&BINDING, &payload(b"answers so far")).unwrap()
}

#[test]
fn what_was_sealed_opens() {
    for data in [&b""[..], b"x", &[0; 10_000]] {
        let text = sealer().seal(&BINDING, &payload(data)).unwrap();
        let opened = sealer().open(&BINDING, &text, NOW).unwrap();
        assert_eq!((opened.round, opened.expires, &*opened.data), (3, NOW + LIFETIME, data));
    }
    assert_ne!(sealed(), sealed(), "the nonce is new each time");
    let tag = || sealer().open(&BINDING, &sealed(), NOW).unwrap().tag;
    assert_ne!(tag(), tag(), "and so is what tells states apart");
    assert!(sealed().bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)));
}

/// M7, as all that follows.
#[test]
fn no_bit_can_be_changed() {
    let text = sealed();
    let bytes = URL_SAFE_NO_PAD.decode(&text).unwrap();
    for bit in 0..bytes.len() * 8 {
        let mut changed = bytes.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        let found = sealer().open(&BINDING, &URL_SAFE_NO_PAD.encode(changed), NOW).unwrap_err();
        let expected = match bit / 8 {
            0 => SealError::Malformed,
            1..HEAD => SealError::UnknownKey,
            _ => SealError::NotYours,
        };
        assert_eq!(found, expected, "bit {bit}");
    }
    // Nor a letter, the last of which has bits that stand for nothing.
    for at in 0..text.len() {
        for letter in ["A", "B", "-", "_", "=", "+", "/", " ", "\n", "é"] {
            let mut changed = text.clone();
            changed.replace_range(at..=at, letter);
            assert!(
                changed == text || sealer().open(&BINDING, &changed, NOW).is_err(),
                "{changed}"
            );
        }
    }
}

#[test]
fn nothing_can_be_cut_off_or_added() {
    let text = sealed();
    for end in 0..text.len() {
        assert!(sealer().open(&BINDING, text.split_at(end).0, NOW).is_err(), "{end}");
        assert!(sealer().open(&BINDING, text.split_at(end + 1).1, NOW).is_err(), "{end}");
    }
    for added in ["-TAMPERED", "A", "AA", "AAAA", "=", "==", "\n", " ", "\0"] {
        assert!(sealer().open(&BINDING, &format!("{text}{added}"), NOW).is_err(), "{added:?}");
        assert!(sealer().open(&BINDING, &format!("{added}{text}"), NOW).is_err(), "{added:?}");
    }
    for foreign in [
        "",
        "x",
        "null",
        "{}",
        "eyJhbGciOiJub25lIn0",
        &"A".repeat(MAX_SEALED),
        &"A".repeat(10_000_000),
    ] {
        assert!(sealer().open(&BINDING, foreign, NOW).is_err());
    }
}

#[test]
fn it_belongs_to_one_request() {
    let text = sealed();
    let others = [
        Binding { principal: Some("bob"), ..BINDING },
        Binding { principal: Some(""), ..BINDING },
        Binding { principal: None, ..BINDING },
        Binding { method: "prompts/get", ..BINDING },
        Binding { target: "cancel", ..BINDING },
        // What one field loses another wins.
        Binding { principal: Some("alicetools"), method: "/call", ..BINDING },
        Binding { method: "tools/callbook", target: "", ..BINDING },
        Binding { arguments: "{}", ..BINDING },
        Binding { arguments: "", ..BINDING },
    ];
    for other in others {
        assert_eq!(sealer().open(&other, &text, NOW), Err(SealError::NotYours), "{other:?}");
    }
    let nobody = sealer().seal(&Binding { principal: None, ..BINDING }, &payload(b"")).unwrap();
    assert!(sealer().open(&BINDING, &nobody, NOW).is_err());
    assert!(sealer().open(&Binding { principal: Some(""), ..BINDING }, &nobody, NOW).is_err());
}

#[test]
fn arguments_are_compared_by_meaning() {
    let deep = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    for (ours, theirs, same) in [
        (r#"{"a":1,"b":[true,null]}"#, "{ \"b\" : [ true,\n null ], \"a\" : 1 }", true),
        (r#"{"a":{"x":1,"y":2}}"#, r#"{"a":{"y":2,"x":1}}"#, true),
        (r#"{"a":"ä/"}"#, r#"{"\u0061":"\u00e4\/"}"#, true),
        (r#"{"a":1}"#, r#"{"a":1.0}"#, false),
        (r#"{"a":10000000000000000000001}"#, r#"{"a":10000000000000000000002}"#, false),
        (r#"{"a":1}"#, r#"{"a":"1"}"#, false),
        (r#"{"a":1}"#, r#"{"a":1,"b":null}"#, false),
        (r#"{"a":[1,2]}"#, r#"{"a":[2,1]}"#, false),
        (r#"{"a":[[],1]}"#, r#"{"a":[[1]]}"#, false),
        (r#"{"a":{}}"#, r#"{"a":[]}"#, false),
        (r#"{"a":1,"a":2}"#, r#"{"a":2,"a":1}"#, false),
        ("[true,false]", "[false,true]", false),
        ("no json", "no json", true),
        ("no json", "no  json", false),
        ("", "\"\"", false),
        (&deep(128), &format!(" {}", deep(128)), true),
        (&deep(129), &deep(129), true),
        (&deep(129), &format!(" {}", deep(129)), false),
    ] {
        let text = sealer().seal(&Binding { arguments: ours, ..BINDING }, &payload(b"")).unwrap();
        let opened = sealer().open(&Binding { arguments: theirs, ..BINDING }, &text, NOW);
        assert_eq!(opened.is_ok(), same, "{ours} {theirs}");
    }
}

#[test]
fn it_expires() {
    let text = sealed();
    for (now, expected) in [
        (0, Ok(3)),
        (NOW + LIFETIME - 1, Ok(3)),
        (NOW + LIFETIME, Err(SealError::Expired)),
        (u64::MAX, Err(SealError::Expired)),
    ] {
        assert_eq!(sealer().open(&BINDING, &text, now).map(|opened| opened.round), expected);
    }
}

#[test]
fn keys_rotate_in_stages() {
    let open = |ring: KeyRing, text: &str| Sealer::new(ring).open(&BINDING, text, NOW).map(drop);
    let seal = |ring: KeyRing| Sealer::new(ring).seal(&BINDING, &payload(b"")).unwrap();
    let stages = || {
        [
            KeyRing::new(key(1)),
            KeyRing::new(key(1)).also_opens(key(2)),
            KeyRing::new(key(2)).also_opens(key(1)),
            KeyRing::new(key(2)),
        ]
    };
    // While a stage is rolled out, instances of two neighbouring stages open each other's states.
    for (mine, sealing) in stages().into_iter().enumerate() {
        let text = seal(sealing);
        for (theirs, opening) in stages().into_iter().enumerate() {
            if mine.abs_diff(theirs) <= 1 {
                assert_eq!(open(opening, &text), Ok(()), "{mine} {theirs}");
            }
        }
    }
    assert_eq!(open(KeyRing::new(key(2)), &seal(KeyRing::new(key(1)))), Err(SealError::UnknownKey));
    assert_eq!(
        open(KeyRing::random().unwrap(), &seal(KeyRing::random().unwrap())),
        Err(SealError::UnknownKey)
    );
}

#[test]
fn it_is_bounded() {
    let largest = MAX_SEALED / 4 * 3 - OVERHEAD;
    let text = sealer().seal(&BINDING, &payload(&vec![7; largest])).unwrap();
    assert_eq!(text.len(), MAX_SEALED);
    assert_eq!(sealer().open(&BINDING, &text, NOW).unwrap().data.len(), largest);
    let error = sealer().seal(&BINDING, &payload(&vec![7; largest + 1])).unwrap_err();
    assert_eq!(error, TooLarge { size: MAX_SEALED + 2 });
    let text = "A".repeat(MAX_SEALED + 4);
    assert_eq!(sealer().open(&BINDING, &text, NOW), Err(SealError::Malformed));
}

#[test]
fn keys_are_read_and_kept_secret() {
    let text = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=";
    let same = Sealer::new(KeyRing::new(Key::from_base64(&format!("{text}\n")).unwrap()));
    assert!(same.open(&BINDING, &sealed(), NOW).is_ok());
    for wrong in ["", "AQEB", "password", text.split_at(1).1, &format!("AQEB{text}"), "*"] {
        assert_eq!(Key::from_base64(wrong).map(drop), Err(InvalidKey), "{wrong}");
    }
    let shown = format!("{:?} {:?} {BINDING:?} {:?}", sealer(), key(1), payload(b"secret"));
    for secret in ["alice", "secret", "seat", "1, 1", "0101"] {
        assert!(!shown.contains(secret), "{shown}");
    }
    const fn zeroizes<T: zeroize::ZeroizeOnDrop>() {}
    const { zeroizes::<aes::Aes256>() };
}

/// A change of the format or of what is bound needs a new version, or instances of two releases refuse each
/// other's states without saying why.
#[test]
fn the_format_is_fixed() {
    let text =
        "ARh1uyPQbakdsQi3ow9XuRZ1ki2kNt50UbsRB8ZgGn0WWMvzOshc62soA_0R-tcU1amhmk5X5ePP9zX9Mqag";
    assert_eq!(sealer().open(&BINDING, text, NOW).unwrap().data, b"answers so far");
}

proptest! {
    #[test]
    fn any_state_survives(data: Vec<u8>, round: u32, bound: Bound, ahead in 1..u64::MAX - NOW) {
        let binding = binding(&bound);
        let text = sealer().seal(&binding, &Payload { round, expires: NOW + ahead, data: &data }).unwrap();
        let opened = sealer().open(&binding, &text, NOW).unwrap();
        assert_eq!((opened.round, opened.expires, opened.data), (round, NOW + ahead, data));
    }

    #[test]
    fn any_text_is_refused(text: String, bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
        assert!(sealer().open(&BINDING, &text, NOW).is_err());
        assert!(sealer().open(&BINDING, &URL_SAFE_NO_PAD.encode(&bytes), NOW).is_err());
        let mut ours = URL_SAFE_NO_PAD.decode(sealed()).unwrap();
        ours.truncate(HEAD);
        ours.extend(bytes);
        assert!(sealer().open(&BINDING, &URL_SAFE_NO_PAD.encode(ours), NOW).is_err());
    }

    #[test]
    fn two_bindings_never_look_alike(a: Bound, b: Bound) {
        assert_eq!(a == b, binding(&a).associated_data(b"") == binding(&b).associated_data(b""));
    }
}

type Bound = (Option<String>, String, String, String);

fn binding((principal, method, target, arguments): &Bound) -> Binding<'_> {
    Binding { principal: principal.as_deref(), method, target, arguments }
}
