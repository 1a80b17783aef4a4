//! Who gives tokens for a server: what is asked, in which order, and what must not be.

use mcp_client::oauth::{Challenge, OAuthError, Policy};
use serde_json::json;

use crate::support::provider::{AS, OIDC, PRM, PRM_ROOT, Provider};

fn bearer(resource_metadata: &str) -> Vec<Challenge> {
    vec![Challenge::new("Bearer").with("resource_metadata", resource_metadata)]
}

async fn discover(provider: &Provider, challenges: &[Challenge]) -> Result<String, OAuthError> {
    let discovered = provider.fetcher().discover(challenges).await?;
    Ok(discovered.metadata().resource.clone())
}

async fn identify(provider: &Provider, policy: Policy) -> Result<String, OAuthError> {
    let fetcher = provider.builder().build_fetcher(policy).unwrap();
    let discovered = fetcher.discover(&[]).await?;
    let issuer = discovered.issuers()[0].clone();
    Ok(discovered.identify(&issuer).await?.metadata().issuer.clone())
}

#[tokio::test]
async fn the_path_comes_before_the_root() {
    let provider = Provider::start().await;
    assert_eq!(discover(&provider, &[]).await.unwrap(), provider.url());
    assert_eq!(provider.lines(), [PRM]);
    assert_eq!(provider.asked()[0].header("accept"), Some("application/json"));

    let provider = Provider::bare().await;
    // To the byte: without a slash.
    provider.on(PRM_ROOT, "200 OK", &provider.resource(&json!({ "resource": provider.origin })));
    assert_eq!(discover(&provider, &[]).await.unwrap(), provider.origin);
    assert_eq!(provider.lines(), [PRM, PRM_ROOT]);
}

// O3: what cannot be read at one place is looked for at the next.
#[tokio::test]
async fn what_cannot_be_read_is_looked_for_elsewhere() {
    let faults = [
        ("404 Not Found", "not here"),
        ("500 Internal Server Error", "{}"),
        ("200 OK", "<html>"),
        ("200 OK", "{}"),
        ("200 OK", ""),
        ("204 No Content", ""),
        ("302 Found\r\nlocation: https://elsewhere.example/", ""),
    ];
    for (status, body) in faults {
        let provider = Provider::start().await;
        let metadata = provider.resource(&json!({}));
        provider.on_text(PRM, status, body);
        provider.on(PRM_ROOT, "200 OK", &metadata);
        assert_eq!(discover(&provider, &[]).await.unwrap(), provider.url(), "{status} {body}");
        assert_eq!(provider.lines(), [PRM, PRM_ROOT]);

        provider.on_text(AS, status, body);
        provider.on(OIDC, "200 OK", &provider.metadata(&json!({})));
        assert_eq!(identify(&provider, Policy::new()).await.unwrap(), provider.origin);
        assert_eq!(provider.lines()[2..], [PRM, PRM_ROOT, AS, OIDC]);
    }
}

#[tokio::test]
async fn the_place_that_a_challenge_names_comes_first() {
    let provider = Provider::start().await;
    let named = format!("{}/custom/location.json", provider.origin);
    provider.on("GET /custom/location.json", "200 OK", &provider.resource(&json!({})));
    discover(&provider, &bearer(&named)).await.unwrap();
    assert_eq!(provider.lines(), ["GET /custom/location.json"]);

    // Another scheme's is none of ours; and one that leads nowhere is not the end.
    let basic = [Challenge::new("Basic").with("resource_metadata", &named)];
    discover(&provider, &basic).await.unwrap();
    discover(&provider, &bearer(&format!("{}/gone", provider.origin))).await.unwrap();
    assert_eq!(provider.lines()[1..], [PRM, "GET /gone", PRM]);
}

#[tokio::test]
async fn redirects_of_documents_stay_at_their_origin() {
    let (provider, other) = (Provider::start().await, Provider::start().await);
    provider.on(PRM, "307 Temporary Redirect\r\nlocation: /moved?x=1", &json!({}));
    provider.on("GET /moved", "200 OK", &provider.resource(&json!({})));
    discover(&provider, &[]).await.unwrap();
    assert_eq!(provider.lines(), [PRM, "GET /moved?x=1"]);

    let away = format!("302 Found\r\nlocation: {}/moved", other.origin);
    provider.on(PRM, &away, &json!({}));
    assert!(discover(&provider, &[]).await.unwrap_err().is_discovery());
    provider.on(PRM, "302 Found\r\nlocation: //evil.example/moved", &json!({}));
    assert!(discover(&provider, &[]).await.unwrap_err().is_discovery());
    provider.on(
        PRM,
        "302 Found\r\nlocation: /.well-known/oauth-protected-resource/mcp",
        &json!({}),
    );
    assert!(discover(&provider, &[]).await.is_err());
    assert_eq!(other.lines(), [""; 0]);
}

#[tokio::test]
async fn another_resource_ends_it_before_any_issuer_is_asked() {
    let (provider, issuer) = (Provider::start().await, Provider::start().await);
    let table = [
        "https://evil.example.com/mcp".to_owned(),
        format!("{}/mcpx", provider.origin),
        format!("{}/mcp/deeper", provider.origin),
        format!("{}/mcp#f", provider.origin),
        format!("{}/mcp?tenant=1", provider.origin),
        format!("{}/mcp", issuer.origin),
        String::new(),
    ];
    for resource in table {
        let changes = json!({ "resource": resource, "authorization_servers": [issuer.origin] });
        provider.on(PRM, "200 OK", &provider.resource(&changes));
        let error = discover(&provider, &[]).await.unwrap_err();
        assert!(error.is_mismatch(), "{resource}: {error}");
        assert!(error.to_string().contains(&format!("{resource:?}")), "{error}");
    }
    assert!(provider.lines().iter().all(|line| line == PRM));
    assert_eq!(issuer.lines(), [""; 0]);
}

#[tokio::test]
async fn a_resource_with_a_query_is_one() {
    let provider = Provider::bare().await;
    let url = format!("{}/mcp?tenant=1", provider.origin);
    provider.on(PRM, "200 OK", &provider.resource(&json!({ "resource": url })));
    let builder = mcp_client::Client::builder(&url);
    let fetcher = builder.build_fetcher(Policy::new()).unwrap();
    let discovered = fetcher.discover(&[]).await.unwrap();
    assert_eq!(discovered.metadata().resource, url);
    assert_eq!(provider.lines(), [format!("{PRM}?tenant=1")]);
}

#[tokio::test]
async fn the_places_of_an_issuer_with_a_path() {
    let provider = Provider::start().await;
    let issuer = format!("{}/tenant1", provider.origin);
    provider.on(PRM, "200 OK", &provider.resource(&json!({ "authorization_servers": [issuer] })));
    let appended = "GET /tenant1/.well-known/openid-configuration";
    provider.on(appended, "200 OK", &provider.metadata(&json!({ "issuer": issuer })));
    assert_eq!(identify(&provider, Policy::new()).await.unwrap(), issuer);
    // The root has metadata, which is not this issuer's.
    let expected = [PRM, &format!("{AS}/tenant1"), &format!("{OIDC}/tenant1"), appended];
    assert_eq!(provider.lines(), expected);

    provider.on(appended, "404 Not Found", &json!({}));
    let error = identify(&provider, Policy::new()).await.unwrap_err();
    assert!(error.is_discovery(), "{error}");
    assert_eq!(provider.lines()[4..], expected);
}

// O2: both are shown, and the way out for those who know better.
#[tokio::test]
async fn an_issuer_is_who_it_says_it_is() {
    for slash in ["/", "/x", "?q"] {
        let provider = Provider::start().await;
        let found = format!("{}{slash}", provider.origin);
        provider.on(AS, "200 OK", &provider.metadata(&json!({ "issuer": found })));
        let error = identify(&provider, Policy::new()).await.unwrap_err();
        assert!(error.is_mismatch());
        let text = error.to_string();
        assert!(text.contains(&format!("{:?}", provider.origin)), "{text}");
        assert!(text.contains(&format!("{found:?}")), "{text}");
        assert!(text.contains("danger_accept_issuer"), "{text}");
        // No other place is asked, and nothing that it names.
        assert_eq!(provider.lines(), [PRM, AS]);

        let policy = Policy::new().danger_accept_issuer(&provider.origin, &found);
        assert_eq!(identify(&provider, policy).await.unwrap(), found);
        let other = Policy::new().danger_accept_issuer(&provider.origin, "https://other.example");
        assert!(identify(&provider, other).await.unwrap_err().is_mismatch());
    }
}

#[tokio::test]
async fn a_server_that_does_not_say_who_gives_tokens() {
    let provider = Provider::start().await;
    provider.on(PRM, "404 Not Found", &json!({}));
    let error = discover(&provider, &[]).await.unwrap_err();
    assert!(error.is_discovery());
    assert!(error.to_string().contains("fallback_issuer"), "{error}");
    assert_eq!(provider.lines(), [PRM, PRM_ROOT]);

    let policy = || Policy::new().fallback_issuer(&provider.origin);
    assert_eq!(identify(&provider, policy()).await.unwrap(), provider.origin);
    provider.on(PRM, "200 OK", &provider.resource(&json!({ "authorization_servers": [] })));
    assert!(discover(&provider, &[]).await.unwrap_err().is_discovery());
    assert_eq!(identify(&provider, policy()).await.unwrap(), provider.origin);
}

#[tokio::test]
async fn one_who_is_out_of_order_may_be_asked_later() {
    let provider = Provider::start().await;
    for route in [PRM, PRM_ROOT] {
        provider.on(route, "503 Service Unavailable", &json!({}));
    }
    assert!(discover(&provider, &[]).await.unwrap_err().is_transport());
    provider.describe();
    provider.on(AS, "429 Too Many Requests", &json!({}));
    assert!(identify(&provider, Policy::new()).await.unwrap_err().is_transport());
}

#[tokio::test]
async fn answers_are_bounded() {
    let provider = Provider::start().await;
    let long = "x".repeat(mcp_client::Limits::OAUTH_BODY);
    provider.on(PRM, "200 OK", &provider.resource(&json!({ "resource_name": long })));
    provider.on_text(PRM_ROOT, "200 OK", &" ".repeat(mcp_client::Limits::OAUTH_BODY + 1));
    let error = discover(&provider, &[]).await.unwrap_err();
    assert!(error.is_discovery(), "{error}");
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(cause.contains("more than 262144 bytes"), "{cause}");
}

#[tokio::test]
async fn only_those_that_are_named_are_asked() {
    let provider = Provider::start().await;
    let discovered = provider.fetcher().discover(&[]).await.unwrap();
    let error = discovered.identify("https://other.example").await.unwrap_err();
    assert!(error.is_usage());
    assert_eq!(provider.lines(), [PRM]);
}
