//! Several authorization servers: what one gave is nobody else's.

use serde_json::{Value, json};

use super::super::Cx;
use super::super::asking::call;
use super::trail::Trail;
use super::visit::Place;
use super::world::{World, signs_in};
use crate::check::{Check, client_check};
use crate::verdict::{Verdict, expect};

pub(in super::super) const CHECKS: &[Check] =
    &[client_check!("client-auth-as-migration", Http, as_migration)];

async fn as_migration(cx: Cx) -> Verdict {
    signs_in(&cx).await?;
    for has_documents in [Value::Null, json!(true)] {
        let metadata = json!({ "client_id_metadata_document_supported": has_documents });
        let steps = json!([call("echo"), call("echo"), { "do": "tools/list" }]);
        let world = World::new().issuers(&["/one"]).metadata(metadata).steps(steps);
        let trail = world.clone().then_issuer("/two").play(&cx).await?;
        let signed_in = |issuer| trail.at(Place::Token).any(|seen| Place::issuer(seen) == issuer);
        expect(signed_in("/one"), "a sign-in with the first issuer", trail.way())?;
        expect(signed_in("/two"), "another with the second, once it is named", trail.way())?;
        let last = trail.told.last().is_some_and(|told| told.get("result").is_some());
        expect(last, "results with the token of the second", format!("{:?}", trail.told))?;
        apart(&trail)?;
        one_after_the_other(&trail)?;
        let trail = world.issuers(&["/one", "/two"]).play(&cx).await?;
        trail.went_on("two issuers")?;
        apart(&trail)?;
    }
    Ok(())
}

/// Neither issuer sees what the other gave.
fn apart(trail: &Trail) -> Verdict {
    let kinds = ["client", "password", "code", "access", "refresh"];
    for (own, other) in [("/one", "two"), ("/two", "one")] {
        let at_own = trail.requests.iter().filter(|seen| seen.target().starts_with(own));
        for seen in at_own {
            let stray = kinds.iter().find(|kind| seen.mentions(&format!("{other}-{kind}-")));
            let shown = format!("a {} of the other at {}", stray.unwrap_or(&""), seen.target());
            expect(stray.is_none(), format!("nothing at {own} that /{other} gave"), shown)?;
        }
    }
    Ok(())
}

/// The server gets no token of the first issuer once the client has one of the second.
fn one_after_the_other(trail: &Trail) -> Verdict {
    let tokens = trail.at(Place::Mcp).filter_map(|seen| seen.header("Authorization"));
    let mut after = tokens.skip_while(|header| !header.contains("two-access-"));
    let late = after.find(|header| header.contains("one-access-"));
    expect(late.is_none(), "no token of the first issuer any more", late.unwrap_or_default())
}
