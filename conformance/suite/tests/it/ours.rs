//! Our server and our client pass, without a warning; what is skipped is skipped for one of the reasons listed here.

use super::support::{Server, example, finds_nothing, free_address};

/// What our server does not have, or what no server can have at the same time.
const FINE: &[&str] = &[
    "does not declare extensions",
    "no tool \"failing_job\"",
    "there were no tasks",
    "no task asks for input",
    "the server declares",
    "no trace context was seen",
    "the server has cancelled nothing",
];

fn server(what: &str, options: &[&str], args: &[&str], fine: &[&str]) {
    let server = Server::start(options);
    let stop = server.stop();
    let common = ["server", "--url", &server.url, "--stop", &stop];
    let fine = [FINE, fine].concat();
    finds_nothing(what, &[&common, args].concat(), &fine);
}

/// Who asks for no token knows no users.
const OPEN: [&str; 3] =
    ["the server is open", "there is no other user", "no headers of another user were given"];
/// One body has the answer and nothing else.
const NO_STREAM: [&str; 4] = ["sends no progress", "logged nothing", "logs nothing", "by a stream"];
const ONE_PAGE: &str = "no list has several pages";

#[test]
fn server_http1() {
    server("our server, HTTP/1.1", &[], &[], &[OPEN.as_slice(), &[ONE_PAGE]].concat());
}

#[test]
fn server_http1_json() {
    server(
        "our server, HTTP/1.1, JSON",
        &["--mode", "json", "--page-size", "5"],
        &[],
        &[OPEN.as_slice(), &NO_STREAM].concat(),
    );
}

#[test]
fn server_http1_sse() {
    server("our server, HTTP/1.1, streams", &["--mode", "sse", "--page-size", "7"], &[], &OPEN);
}

#[test]
fn server_http2() {
    let bytes = ["the bytes of HTTP/1.1", "HTTP/2 cannot carry", ONE_PAGE];
    server("our server, HTTP/2", &[], &["--http2"], &[&OPEN, bytes.as_slice()].concat());
}

#[test]
fn server_protected() {
    let issuer = free_address();
    let options = ["--protected", &format!("http://{issuer}")];
    server("our server, protected", &options, &["--issuer", &issuer], &[ONE_PAGE]);
}

#[test]
fn server_stdio() {
    let command = format!("'{}' --stdio --page-size 5", example("our-server").display());
    finds_nothing("our server, stdio", &["server", "--command", &command], FINE);
}

#[test]
fn client_http() {
    let command = format!("'{}'", example("our-client").display());
    finds_nothing("our client, HTTP", &["client", "--command", &command], FINE_OF_CLIENTS);
}

#[test]
fn client_stdio() {
    let command = format!("'{}'", example("our-client").display());
    let args = ["client", "--stdio", "--command", &command];
    finds_nothing("our client, stdio", &args, FINE_OF_CLIENTS);
}

/// What our client does not do.
const FINE_OF_CLIENTS: &[&str] = &[
    "the client sends no trace",
    "the client declares no extension",
    "the client does not declare extensions",
    "the client speaks no earlier revision",
];
