//! The client side: as little as keeps a server busy.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use crate::work::Work;

pub(crate) struct Load {
    address: SocketAddr,
    request: Vec<u8>,
    work: Work,
}

impl Load {
    pub(crate) fn new(address: SocketAddr, work: Work) -> Self {
        Self { address, request: work.request(), work }
    }

    /// Sends `requests` over `connections`, one at a time on each, and reads every answer to its end.
    pub(crate) fn run(&self, connections: usize, requests: usize) {
        std::thread::scope(|scope| {
            for _ in 0..connections {
                scope.spawn(|| self.connection(requests / connections, |_| ()));
            }
        });
    }

    /// Sends `requests` over one connection, one at a time, and tells how long each took.
    pub(crate) fn times(&self, requests: usize) -> Vec<Duration> {
        let mut times = Vec::with_capacity(requests);
        self.connection(requests, |time| times.push(time));
        times
    }

    fn connection(&self, requests: usize, mut timed: impl FnMut(Duration)) {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_nodelay(true).unwrap();
        let mut buffer = Vec::with_capacity(256 * 1024);
        for _ in 0..requests {
            let started = Instant::now();
            stream.write_all(&self.request).unwrap();
            buffer.clear();
            let mut answer = Answer::default();
            while !answer.is_whole(&buffer) {
                let start = buffer.len();
                buffer.resize(start + 64 * 1024, 0);
                let read = stream.read(&mut buffer[start..]).unwrap();
                assert_ne!(read, 0, "the server closed the connection");
                buffer.truncate(start + read);
            }
            timed(started.elapsed());
        }
        self.work.check(&buffer);
    }
}

/// Where the answer being read ends.
#[derive(Default)]
struct Answer {
    end: Option<usize>,
    chunked: bool,
}

impl Answer {
    fn is_whole(&mut self, bytes: &[u8]) -> bool {
        if self.end.is_none() && !self.chunked {
            let Some(head) = bytes.windows(4).position(|w| w == b"\r\n\r\n") else { return false };
            let text = std::str::from_utf8(&bytes[..head]).unwrap();
            assert!(text.starts_with("HTTP/1.1 200"), "{text}");
            let length = text.lines().find_map(|line| line.strip_prefix("content-length: "));
            match length {
                Some(length) => self.end = Some(head + 4 + length.parse::<usize>().unwrap()),
                None => self.chunked = true,
            }
        }
        match self.end {
            Some(end) => bytes.len() >= end,
            None => bytes.ends_with(b"0\r\n\r\n"),
        }
    }
}
