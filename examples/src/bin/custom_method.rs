//! A method that the specification does not have: one type names it, its parameters and its result, for the server
//! that answers it and the client that calls it. It belongs to an extension, which both have to declare.

use mcp_client::types::{ClientCapabilities, JsonMap, Outcome, RawJson};
use mcp_client::{Client, ClientBuilder};
use mcp_server::types::{ErrorCode, ErrorObject, Request, RequestMeta, ResultMeta, has_meta};
use mcp_server::{Args, Context, Method, Progress, Server, Structured};
use serde::{Deserialize, Serialize};

/// The extension. Its settings say how many titles a client wants at most.
const CATALOGUE: &str = "com.example/catalogue";

#[derive(Deserialize)]
struct Settings {
    most: Option<usize>,
}

/// `com.example/search`: titles with a word in them.
enum Search {}

impl Request for Search {
    const METHOD: &'static str = "com.example/search";
    type Params = Query;
    type Result = Found;
}

#[derive(Serialize, Deserialize)]
struct Query {
    word: String,
    #[serde(rename = "_meta", default, skip_serializing_if = "RequestMeta::is_empty")]
    meta: RequestMeta,
}

#[derive(Debug, Serialize, Deserialize)]
struct Found {
    titles: Vec<String>,
    #[serde(rename = "_meta", default, skip_serializing_if = "ResultMeta::is_empty")]
    meta: ResultMeta,
}

has_meta!(RequestMeta: Query);
has_meta!(ResultMeta: Found);

/// Codes above -32000 are free for anybody's use.
const NO_WORD: ErrorCode = ErrorCode(1);

async fn search(
    context: Context,
    progress: Progress,
    Args(query): Args<Query>,
) -> Result<Structured<Found>, ErrorObject> {
    if query.word.is_empty() {
        return Err(ErrorObject::new(NO_WORD, "There is no word to look for"));
    }
    let settings = context.extension::<Settings>(CATALOGUE)?;
    let most = settings.and_then(|settings| settings.most).unwrap_or(usize::MAX);
    progress.report_of(1, 1);
    let titles = ["Moby Dick", "The Old Man and the Sea", "The Sea, the Sea"];
    let found = titles.into_iter().filter(|title| title.contains(&query.word)).take(most);
    let titles = found.map(str::to_owned).collect();
    Ok(Structured(Found { titles, meta: ResultMeta::default() }))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = Server::builder("library", "1.0.0")
        .method(Method::of::<Search, _>(search).extension(CATALOGUE))
        .build()?;
    let query = |word: &str| Query { word: word.to_owned(), meta: RequestMeta::default() };

    let settings = JsonMap::from_iter([("most", RawJson::new(&1)?)]);
    let mut capabilities = ClientCapabilities::default();
    capabilities.declare_extension(CATALOGUE, &settings)?;
    let client = ClientBuilder::in_process(server.service()).capabilities(capabilities).build()?;
    if let Outcome::Complete(found) = client.call::<Search>(query("Sea")).await? {
        println!("found {:?}", found.titles);
    }
    let error = client.call::<Search>(query("")).await.expect_err("there is no word");
    println!("refused: {error}");

    // A client that knows nothing of the extension is told what it lacks.
    let client = Client::in_process(server.service());
    let error = client.call::<Search>(query("Sea")).await.expect_err("nothing was declared");
    println!("refused: {error}");
    Ok(())
}
