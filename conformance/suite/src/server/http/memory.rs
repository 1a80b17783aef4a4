//! What a server on this machine uses, where `/proc` tells it.

use std::fs;

use crate::server::Endpoint;

/// The most bytes that the process which listens at `endpoint` has held so far.
pub(super) fn peak(endpoint: &Endpoint) -> Option<usize> {
    let port = endpoint.is_loopback().then(|| endpoint.port().parse::<u16>().ok())??;
    let sockets = format!("socket:[{}]", listening(port)?);
    let processes = fs::read_dir("/proc").ok()?.flatten();
    let process = processes.map(|entry| entry.path()).find(|process| {
        let files = fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
        let mut targets = files.flat_map(|file| fs::read_link(file.path()));
        targets.any(|target| target.as_os_str() == &*sockets)
    })?;
    let status = fs::read_to_string(process.join("status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib = line.split_whitespace().next()?.parse::<usize>().ok()?;
    Some(kib * 1024)
}

/// The inode of the socket that listens on a port.
fn listening(port: u16) -> Option<String> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(fs::read_to_string);
    let (port, mut found) = (format!(":{port:04X}"), None);
    for table in tables.into_iter().flatten() {
        found = found.or_else(|| table.lines().find_map(|line| inode(line, &port)));
    }
    found
}

/// The inode in a line of the table, if it listens on `port`.
fn inode(line: &str, port: &str) -> Option<String> {
    const LISTENING: &str = "0A";
    let mut fields = line.split_whitespace().skip(1);
    let (local, _, state) = (fields.next()?, fields.next()?, fields.next()?);
    let is_it = local.ends_with(port) && state == LISTENING;
    is_it.then(|| fields.nth(5).map(str::to_owned)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_table() {
        let line = "  4: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  0        0 4711 1 0 100 0 0 10 0";
        assert_eq!(inode(line, ":1F90").as_deref(), Some("4711"));
        assert_eq!(inode(line, ":1F91"), None);
        assert_eq!(inode(&line.replace(" 0A ", " 01 "), ":1F90"), None);
        assert_eq!(inode("  sl  local_address", ":1F90"), None);
    }
}
