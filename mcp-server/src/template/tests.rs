use std::path::Path;

use proptest::prelude::*;
use serde::Deserialize;

use super::*;

fn parse(template: &str) -> UriTemplate {
    UriTemplate::parse(template).unwrap_or_else(|error| panic!("{template}: {error}"))
}

fn variables(pairs: &[(&str, &str)]) -> Variables {
    pairs.iter().copied().collect()
}

/// Sorted, as `name=value` with single spaces between.
fn read(template: &str, uri: &str) -> Option<String> {
    let variables = parse(template).matches(uri)?;
    let pairs: Vec<_> = variables.iter().map(|(name, value)| format!("{name}={value}")).collect();
    Some(pairs.join(" "))
}

/// Template, URI, what is read from it.
fn check(cases: &[(&str, &str, Option<&str>)]) {
    for (template, uri, expected) in cases {
        assert_eq!(read(template, uri).as_deref(), *expected, "{template} {uri}");
    }
}

#[test]
fn expands_as_the_rfc_does() {
    let given = variables(&[
        ("var", "value"),
        ("hello", "Hello World!"),
        ("path", "/foo/bar"),
        ("empty", ""),
        ("half", "50%"),
        ("x", "1024"),
        ("y", "768"),
        ("done", "a%2Fb"),
        ("accent", "é"),
    ]);
    let cases = [
        ("{var}", "value"),
        ("{hello}", "Hello%20World%21"),
        ("{half}", "50%25"),
        ("O{empty}X", "OX"),
        ("O{undef}X", "OX"),
        ("{x,y}", "1024,768"),
        ("{undef,y}", "768"),
        ("?{x,empty}", "?1024,"),
        ("?{x,undef}", "?1024"),
        ("{+hello}", "Hello%20World!"),
        ("{+half}", "50%25"),
        ("{+done}", "a%2Fb"),
        ("{done}", "a%252Fb"),
        ("{+accent}", "%C3%A9"),
        ("{+path}/here", "/foo/bar/here"),
        ("up{+path}{var}/here", "up/foo/barvalue/here"),
        ("{+x,hello,y}", "1024,Hello%20World!,768"),
        ("{#path,x}/here", "#/foo/bar,1024/here"),
        ("X{#undef}", "X"),
        ("X{.var,x}", "X.value.1024"),
        ("{/var,empty,x}/here", "/value//1024/here"),
        ("{/undef,x}", "/1024"),
        ("{;x,y,empty}", ";x=1024;y=768;empty"),
        ("{?x,y,empty}", "?x=1024&y=768&empty="),
        ("{?undef,y}", "?y=768"),
        ("?fixed=yes{&x,undef,empty}", "?fixed=yes&x=1024&empty="),
        ("x://é%20{x}", "x://%C3%A9%201024"),
        ("", ""),
    ];
    for (template, uri) in cases {
        assert_eq!(parse(template).expand(&given), uri, "{template}");
    }
}

#[test]
fn matches_what_it_expands_to() {
    let cases = [
        ("test://template/{id}/data", "test://template/123/data", Some("id=123")),
        ("test://static", "test://static", Some("")),
        ("test://static", "test://static/", None),
        ("test://static", "test://stat", None),
        ("", "", Some("")),
        // One segment, and at least one character.
        ("u/{id}", "u/", None),
        ("u/{id}", "u/a/b", None),
        ("u/{id}", "u/a?b", None),
        ("u/{id}", "u/a#b", None),
        ("u/{id}", "u/a%2Fb", Some("id=a/b")),
        ("u/{id}", "u/..", Some("id=..")),
        ("u/{id}", "u/bob@example.com", Some("id=bob@example.com")),
        ("file:///{+path}", "file:///a/b.md", Some("path=a/b.md")),
        ("file:///{+path}", "file:///", None),
        ("get:{+url}", "get:http://h/p?q=1#f", Some("url=http://h/p?q=1#f")),
        // Several variables.
        ("{x,y}", "1,2", Some("x=1 y=2")),
        ("{x,y}", "1", Some("x=1")),
        ("{x,y}", "1,2,3", None),
        ("{x,y}", "1,", None),
        ("{x,y}", "1%2C2", Some("x=1,2")),
        ("{x}", "1,2", Some("x=1,2")),
        ("{+x,y}", "a/b,c?d", Some("x=a/b y=c?d")),
    ];
    check(&cases);
}

#[test]
fn optional_and_named_variables_match_in_part() {
    let cases = [
        ("u{/a,b}", "u", Some("")),
        ("u{/a,b}", "u/1", Some("a=1")),
        ("u{/a,b}", "u/1/2", Some("a=1 b=2")),
        ("u{/a,b}", "u/1/2/3", None),
        ("u{/a,b}", "u//2", None),
        ("u{/a}/end", "u/end", Some("")),
        ("u{/a}/end", "u/1/end", Some("a=1")),
        ("u{.a,b}", "u.1.2", Some("a=1 b=2")),
        ("p{#a,b}", "p#1,/2?", Some("a=1 b=/2?")),
        ("p{#a}", "p#1#2", None),
        // Named.
        ("m{;x,y}/z", "m;x=1;y=2/z", Some("x=1 y=2")),
        ("m{;x,y}/z", "m;y;x/z", Some("x= y=")),
        ("m{;x}", "m;x=1;x=2", None),
        ("m{;x}", "m;xx=1", None),
        ("s{?q,n}", "s", Some("")),
        ("s{?q,n}", "s?q=a&n=2", Some("n=2 q=a")),
        ("s{?q,n}", "s?n=2&q=a", Some("n=2 q=a")),
        ("s{?q,n}", "s?n=2", Some("n=2")),
        ("s{?q,n}", "s?q=&n", Some("n= q=")),
        ("s{?q,n}", "s?q=a=b/c,d+e", Some("q=a=b/c,d+e")),
        ("s{?q,n}", "s?q=a%26n%3D1", Some("q=a&n=1")),
        ("s{?q,n}", "s?q=1&q=2", None),
        // A pair never holds what introduces pairs, or reading them would take quadratic time.
        ("s{?q,n}", "s?q=1?n=2", None),
        ("s{?q,n}", "s?other=1", None),
        ("s{?q,n}", "s?q=1&other=1", None),
        ("s{?q,n}", "s?", None),
        ("s{?q,n}", "s?q=1&", None),
        ("s{?q,n}", "s&q=1", None),
        ("s?v=1{&q}", "s?v=1", Some("")),
        ("s?v=1{&q}", "s?v=1&q=2", Some("q=2")),
        ("s{?q}&v=1", "s?q=2&v=1", Some("q=2")),
        ("s{?q}{&n}{#f}", "s?q=1&n=2#top", Some("f=top n=2 q=1")),
    ];
    check(&cases);
}

#[test]
fn options_are_filled_first_then_values_are_as_long_as_they_can_be() {
    let cases = [
        ("{name}.{ext}", "a.tar.gz", Some("ext=gz name=a.tar")),
        ("{name}{.ext}", "a.tar.gz", Some("ext=gz name=a.tar")),
        ("{name}{.ext}", "README", Some("name=README")),
        ("{name}{.ext}", ".profile", Some("name=.profile")),
        ("{+dir}{/file}", "a/b/c", Some("dir=a/b file=c")),
        ("{+dir}/{file}{?v}", "a/b/c?v=1", Some("dir=a/b file=c v=1")),
        ("{+path}{?v}", "a/b?v=1", Some("path=a/b v=1")),
        ("{+path}{?v}", "a/b?w=1", None),
        ("{+path}?v={v}", "a?b?v=1", None),
        ("{+path}{#part}", "a#b", Some("part=b path=a")),
        ("{x}{;p}{?q}", "a;p=1?q=2", Some("p=1 q=2 x=a")),
        ("{x}{&p}", "a&p=1", Some("p=1 x=a")),
        ("{x}{;p}", "a;o=1", None),
        ("{x}{?p}{&q}", "a&q=1", Some("q=1 x=a")),
        ("{a}{b}", "xyz", Some("a=xy b=z")),
        ("{+a}x{b}", "x/x1", Some("a=x/ b=1")),
        ("{+a}x{b}", "x/yx1", Some("a=x/y b=1")),
        ("{a}aa{b}", "aaaa", Some("a=a b=a")),
    ];
    check(&cases);
}

#[test]
fn decodes_characters_and_never_splits_them() {
    let cases = [
        ("x:{a}", "x:%e2%98%83%20%25", Some("a=☃ %")),
        ("x:{a}{b}", "x:1%C3%A9", Some("a=1 b=é")),
        ("x:{a}{b}", "x:%C3%A9", None),
        ("x:{a}41", "x:%41", None),
        ("x:é{a}", "x:%C3%A91", Some("a=1")),
        ("x:{a}", "x:%00", Some("a=\0")),
        // Not UTF-8, not hexadecimal, not complete, not characters of a URI.
        ("x:{a}", "x:%FF", None),
        ("x:{a}", "x:%C3", None),
        ("x:{a}", "x:%C0%AF", None),
        ("x:{a}", "x:%ED%A0%80", None),
        ("x:{a}", "x:%zz", None),
        ("x:{a}", "x:%+1", None),
        ("x:{a}", "x:1%", None),
        ("x:{a}", "x:1%4", None),
        ("x:{+a}", "x:é", None),
        ("x:{+a}", "x:a b", None),
        ("x:{+a}", "x:a\\b", None),
        ("x:{+a}", "x:a\nb", None),
    ];
    check(&cases);
}

#[test]
fn refuses_what_it_cannot_read_back() {
    let cases = [
        ("x://{", 4, "not closed"),
        ("x://{a", 4, "not closed"),
        ("x://a}", 5, "not opened"),
        ("x://{a}}", 7, "not opened"),
        ("x://{}", 5, "name"),
        ("x://{+}", 6, "name"),
        ("x://{a,}", 7, "name"),
        ("x://{a{b}", 5, "name"),
        ("x://{a-b}", 5, "name"),
        ("x://{a b}", 5, "name"),
        ("x://{a..b}", 5, "name"),
        ("x://{é}", 5, "name"),
        ("x://{?a,=b}", 8, "operator"),
        ("x://{|a}", 5, "operator"),
        ("x://{a*}", 5, "level 4"),
        ("x://{?a,b:3}", 8, "level 4"),
        ("x://{a}{+a}", 9, "twice"),
        ("x://{?a}.json", 8, "directly"),
        ("x://{;a}{b}", 8, "directly"),
        ("x://{;a}{.b}", 8, "directly"),
        ("x://a b{c}", 5, "character"),
        ("x://é\u{80}", 6, "character"),
        ("x://a%2", 5, "character"),
        ("x://%é", 4, "character"),
    ];
    for (template, at, why) in cases {
        let error = UriTemplate::parse(template).expect_err(template);
        assert_eq!(error.at(), at, "{template}: {error}");
        assert!(error.to_string().contains(why), "{template}: {error}");
    }
}

#[test]
fn names_its_variables_in_order() {
    let template = parse("x://{z,b_1}/{+a.b}{?C}");
    assert_eq!(template.variables().collect::<Vec<_>>(), ["z", "b_1", "a.b", "C"]);
    assert_eq!(format!("{template:?}"), "UriTemplate(\"x://{z,b_1}/{+a.b}{?C}\")");
}

#[test]
fn what_can_grow_has_a_ceiling() {
    let longest = "x".repeat(UriTemplate::MAX_LEN);
    assert!(UriTemplate::parse(&longest).is_ok());
    assert!(UriTemplate::parse(&(longest + "x")).is_err());

    let names: Vec<_> = (0..=UriTemplate::MAX_VARIABLES).map(|n| format!("v{n}")).collect();
    assert!(UriTemplate::parse(&format!("{{{}}}", names[1..].join(","))).is_ok());
    assert!(UriTemplate::parse(&format!("{{{}}}", names.join(","))).is_err());

    let any = parse("{+any}");
    let longest = "x".repeat(UriTemplate::MAX_URI_LEN);
    assert!(any.matches(&longest).is_some());
    assert!(any.matches(&(longest + "x")).is_none());
    assert!(any.matches(&",".repeat(100_000)).is_none());
}

/// Inputs that take a backtracking matcher longer than anyone waits, beyond the ceiling of URIs: that this test
/// ends is the proof.
#[test]
fn hostile_uris_end() {
    let all: Vec<_> = (0..UriTemplate::MAX_VARIABLES).map(|n| format!("v{n}")).collect();
    let repeated = all.iter().map(|name| format!("{{+{name}}},")).collect::<String>() + "!";
    let templates = [
        "{+a}".to_owned(),
        "{+a,b,c}".to_owned(),
        "{a}{b}{c}{d}!".to_owned(),
        repeated,
        format!("{{{}}}!", all.join(",")),
        format!("{{/{}}}", all.join(",")),
        format!("{{?{}}}", all.join(",")),
        format!("s{{&{}}}#", all.join(",")),
        ",".repeat(1000) + "{x}!",
    ];
    for template in &templates {
        let template = parse(template);
        for unit in [",", "/", "%2C", "&v1=", "?v1=", "?v1=&v2=", ";v1", "a"] {
            let uri = unit.repeat(10_000 / unit.len());
            template.matcher.values(&uri);
            template.matcher.values(&format!("s{uri}"));
        }
    }
}

#[derive(Debug, Deserialize, PartialEq)]
struct Typed {
    id: u32,
    ratio: f64,
    deep: bool,
    sort: Option<Sort>,
    name: Name,
    #[serde(default)]
    page: u8,
    letter: Option<char>,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Sort {
    Up,
    Down,
}

#[derive(Debug, Deserialize, PartialEq)]
struct Name(String);

const TYPED: [(&str, &str); 4] =
    [("id", "7"), ("ratio", "-1.5e1"), ("deep", "true"), ("name", "5")];

#[test]
fn decodes_into_the_types_asked_for() {
    let least = Typed {
        id: 7,
        ratio: -15.0,
        deep: true,
        sort: None,
        name: Name("5".to_owned()),
        page: 0,
        letter: None,
    };
    assert_eq!(variables(&TYPED).decode(), Ok(least));

    let more = TYPED.into_iter().chain([("sort", "down"), ("page", "255"), ("letter", "é")]);
    let typed: Typed = more.collect::<Variables>().decode().unwrap();
    assert_eq!((typed.sort, typed.page, typed.letter), (Some(Sort::Down), 255, Some('é')));

    let map = variables(&TYPED).decode::<std::collections::HashMap<String, String>>().unwrap();
    assert_eq!(map["ratio"], "-1.5e1");
    let json = serde_json::to_string(&variables(&TYPED[..1])).unwrap();
    assert_eq!(json, r#"{"id":"7"}"#);
}

#[test]
fn says_which_variable_does_not_decode() {
    let cases = [
        ("id", "x", "id: expected u32"),
        ("id", "", "id: expected u32"),
        ("id", "-1", "id: expected u32"),
        ("id", "+1", "id: expected u32"),
        ("id", " 1", "id: expected u32"),
        ("id", "4294967296", "id: expected u32"),
        ("ratio", "NaN", "ratio: expected f64"),
        ("ratio", "inf", "ratio: expected f64"),
        ("ratio", "1e999", "ratio: expected f64"),
        ("deep", "1", "deep: expected a boolean"),
        ("sort", "left", "sort: unknown variant `left`, expected `up` or `down`"),
        ("letter", "ab", "letter: invalid value: string \"ab\", expected a character"),
    ];
    for (name, text, why) in cases {
        let given: Variables = TYPED.into_iter().chain([(name, text)]).collect();
        assert_eq!(given.decode::<Typed>().unwrap_err().to_string(), why, "{name}={text}");
    }
    let error = variables(&TYPED[1..]).decode::<Typed>().unwrap_err();
    assert_eq!(error.to_string(), "id is missing");

    #[derive(Debug, Deserialize)]
    struct Many {
        #[expect(dead_code, reason = "never decodes")]
        id: Vec<u32>,
    }
    variables(&TYPED).decode::<Many>().unwrap_err();
}

#[test]
fn a_relative_path_stays_below() {
    let safe = ["a", "a/b.md", ".profile", "a/..b", "a b", "é", "...a"];
    let unsafe_ = [
        "", "/", "/a", "a/", "a//b", ".", "..", "a/..", "../a", "a/../b", "./a", "...", ".. ", " ",
        "a\\b", "..\\a", "C:\\a", "a\0", "a\nb",
    ];
    for path in safe {
        assert_eq!(variables(&[("p", path)]).relative_path("p"), Some(Path::new(path)), "{path:?}");
    }
    for path in unsafe_ {
        assert_eq!(variables(&[("p", path)]).relative_path("p"), None, "{path:?}");
    }
    assert_eq!(variables(&[]).relative_path("p"), None);
    assert_eq!(variables(&[("p", "c:a")]).relative_path("p").is_none(), cfg!(windows));
}

/// Templates that can be read in one way only, with the names of variables that have to be there; the others
/// may be absent.
const UNAMBIGUOUS: [(&str, &[&str]); 7] = [
    ("x://{a}/{b}", &["a", "b"]),
    ("x://{a,b}{?c,d}", &["a", "b"]),
    ("x://{a}/-{/b}{;c,d}", &["a"]),
    ("x:{a}{?b}{&c,d}", &["a"]),
    ("{a}://{b}?f=1{&c,d}", &["a", "b"]),
    ("x://{/a}{?b}#{c}/{d}", &["c", "d"]),
    ("x:{;a,b,c}{#d}", &[]),
];

/// Each `N` replaced by a name of its own.
fn with_names(template: &str) -> String {
    let pieces = template.split('N').enumerate();
    pieces
        .map(|(n, piece)| if n == 0 { piece.to_owned() } else { format!("v{n}{piece}") })
        .collect()
}

proptest! {
    #[test]
    fn matching_undoes_expanding(
        which in 0..UNAMBIGUOUS.len(),
        values in prop::array::uniform4(prop::option::of("[ -~é☃\\PC]{1,8}")),
    ) {
        let (template, needed) = UNAMBIGUOUS[which];
        let template = parse(template);
        let given: Variables = ["a", "b", "c", "d"]
            .into_iter()
            .zip(values)
            .filter(|(name, _)| template.variables().any(|own| own == *name))
            .filter_map(|(name, value)| match value {
                Some(value) => Some((name, value)),
                None => needed.contains(&name).then(|| (name, "-".to_owned())),
            })
            // `{#d}` leaves reserved characters and percent-encodings as they are.
            .map(|(name, value)| (name, value.replace(['#', '%'], "_")))
            .collect();
        let uri = template.expand(&given);
        prop_assert_eq!(template.matches(&uri), Some(given), "{}", uri);
    }

    /// Of any template, however it can be read.
    #[test]
    fn whatever_it_expands_to_matches(
        pieces in prop::collection::vec("[ab/]|\\{[+#./;?&]?N(,N)?\\}", 1..8),
        values in prop::collection::vec("[ab/:é ]{1,4}", 16),
    ) {
        let source = with_names(&pieces.concat());
        let Ok(template) = UriTemplate::parse(&source) else { return Ok(()) };
        let names: Vec<String> = template.variables().map(str::to_owned).collect();
        let uri = template.expand(&names.into_iter().zip(values).collect());
        // Two fragments are none.
        prop_assume!(uri.matches('#').count() < 2 && uri.matches('?').count() < 2);
        let found = template.matches(&uri);
        prop_assert!(found.is_some(), "{} {}", source, uri);
        prop_assert!(found.iter().all(|found| template.matches(&template.expand(found)).is_some()));
    }

    /// Whatever it reads from a URI makes up the whole of it.
    #[test]
    fn what_it_reads_makes_the_uri(
        pieces in prop::collection::vec("[ab/.]|\\{[+#./]?N(,N)?\\}", 1..6),
        // Without `%25`: `{+x}` writes a value such as `%aa` as it is (RFC 6570, section 3.2.3).
        uri in "[ab/.,#%]{0,12}|([ab/.,#]|%2[0-46-9A-F]|%C3%A9){0,12}",
    ) {
        let Ok(template) = UriTemplate::parse(&with_names(&pieces.concat())) else { return Ok(()) };
        if let Some(found) = template.matches(&uri) {
            let again = template.expand(&found);
            prop_assert_eq!(percent::decode(&again), percent::decode(&uri), "{:?} {}", template, again);
        }
    }

    #[test]
    fn nothing_panics(template in "[x/{}+#.;?&,%a-c*é]{0,24}", uri in "[x/+#.;?&=,%a-c0-9é]{0,40}") {
        if let Ok(template) = UriTemplate::parse(&template) {
            let found = template.matches(&uri).unwrap_or_default();
            let _ = template.expand(&found);
            let _ = found.decode::<Typed>();
        }
    }
}
