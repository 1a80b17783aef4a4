//! What holds for the public API as a whole.

mod lines;
mod sse;

use bytes::Bytes;

/// The stream in one piece, in single bytes, and cut once at every place.
fn cuts(stream: &[u8]) -> Vec<Vec<Bytes>> {
    let copy = Bytes::copy_from_slice;
    let mut ways = vec![vec![copy(stream)], stream.chunks(1).map(copy).collect()];
    for at in 0..=stream.len() {
        let (before, behind) = stream.split_at(at);
        ways.push(vec![copy(before), copy(behind)]);
    }
    for size in 2..8 {
        ways.push(stream.chunks(size).map(copy).collect());
    }
    ways
}
