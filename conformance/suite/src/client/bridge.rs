//! `mcp-conformance bridge`: the server that a client under test starts, where it speaks in lines.

use std::path::Path;
use std::time::Duration;

use clap::Args;
use tokio::io::{AsyncWriteExt as _, copy, stderr, stdin, stdout};
use tokio::net::TcpStream;
use tokio::time::sleep;

/// How the process behaves besides.
#[derive(Args, Debug)]
pub(crate) struct Manners {
    /// Fills its standard error before it reads anything, and again meanwhile.
    #[arg(long)]
    noisy: bool,
    /// Has something to do for a second after the end of its input, and tells the playing server when it is done.
    #[arg(long)]
    busy: bool,
    /// Ends only when the playing server does.
    #[arg(long)]
    stubborn: bool,
    /// The code it ends with.
    #[arg(long, default_value_t = 0)]
    exit: u8,
    /// Ends by a signal.
    #[arg(long)]
    abort: bool,
}

/// The method of the line that tells that a busy process has come to its end.
pub(super) const BYE: &str = "bridge/bye";
/// How long a busy process takes for that.
const BUSY: Duration = Duration::from_secs(1);

/// The command that a client is given, quoted as one argument. A stubborn process has a parent that is no better.
pub(super) fn target(program: &Path, address: &str, options: &str) -> String {
    let bridge = format!("{} bridge {address} {options}", quoted(&program.to_string_lossy()));
    if options.contains("--stubborn") {
        return quoted(&format!("trap '' TERM INT HUP; {bridge}; true"));
    }
    quoted(&format!("exec {bridge}"))
}

/// A text as one word of a shell command.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Connects the program's standard streams with the playing server at `address`, until either ends. Gives its
/// exit code.
///
/// # Errors
/// When there is no such server.
pub(crate) async fn bridge(address: &str, manners: &Manners) -> std::io::Result<u8> {
    let (mut from, mut to) = TcpStream::connect(address).await?.into_split();
    let (mut input, mut output) = (stdin(), stdout());
    if manners.noisy {
        make_noise().await;
    }
    let up = async {
        let _ = copy(&mut input, &mut to).await;
        if manners.stubborn {
            std::future::pending::<()>().await;
        }
        if manners.busy {
            sleep(BUSY).await;
            let bye = format!("{{\"method\":\"{BYE}\"}}\n");
            let _ = to.write_all(bye.as_bytes()).await;
        }
        let _ = to.shutdown().await;
    };
    let down = async {
        let _ = copy(&mut from, &mut output).await;
        let _ = output.flush().await;
    };
    let noise = async {
        if manners.noisy {
            make_noise().await;
        }
        std::future::pending::<()>().await;
    };
    tokio::pin!(up, down);
    tokio::select! {
        // The client has nothing more to say; what is left to be answered may still come.
        () = &mut up => down.await,
        () = &mut down => {}
        () = noise => {}
    }
    if manners.abort {
        std::process::abort();
    }
    Ok(manners.exit)
}

/// Alarming words, bytes that are no text, and more than any pipe holds.
async fn make_noise() {
    let mut stderr = stderr();
    let _ = stderr.write_all(b"ERROR: fatal\n\xff\xfe\x00\x1b[31mpanic\n").await;
    let _ = stderr.write_all(&b"noise\n".repeat(10 << 20 >> 3)).await;
    let _ = stderr.flush().await;
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// What a shell makes of a text: a client is started by one, and starts its server by another.
    fn said(script: &str) -> String {
        let ran = Command::new("sh").args(["-c", script]).output().unwrap();
        String::from_utf8(ran.stdout).unwrap()
    }

    #[cfg(unix)]
    #[test]
    fn targets_are_one_word_wherever_the_suite_is_installed() {
        for program in ["/a/b", "/a b/it's", "/$HOME/`x`/\"q\"", "/ä\\n/*"] {
            for options in ["", "--stubborn", "--busy"] {
                let target = target(Path::new(program), "127.0.0.1:1", options);
                let script = said(&format!("printf %s {target}"));
                let words = script
                    .replace("exec ", "printf '%s|' ")
                    .replace("trap '' TERM INT HUP; ", "printf '%s|' ");
                let expected = [program, "bridge", "127.0.0.1:1", options].join("|");
                assert_eq!(said(&words).trim_end_matches('|'), expected.trim_end_matches('|'));
            }
        }
    }
}
