//! A line that may arrive in pieces, shared by the two decoders.

use std::collections::VecDeque;

use bytes::{Buf as _, Bytes, BytesMut};

/// Chunks as they arrived, and the line that has begun in earlier ones.
///
/// A line within one chunk is a slice of it; only one that spans chunks is copied, once.
/// Every byte is looked at once, however the chunks are cut.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    chunks: VecDeque<Bytes>,
    begun: BytesMut,
}

impl Pending {
    pub(crate) fn push(&mut self, chunk: Bytes) {
        if !chunk.is_empty() {
            self.chunks.push_back(chunk);
        }
    }

    /// Takes the next line and the byte that ended it. `find_end` looks for that byte. `None` when
    /// more chunks are needed, or the line has grown over `limit` bytes: see [`Pending::len`].
    pub(crate) fn line(
        &mut self,
        limit: usize,
        find_end: impl Fn(&[u8]) -> Option<usize>,
    ) -> Option<(Bytes, u8)> {
        while let Some(chunk) = self.chunks.front_mut() {
            let Some(end) = find_end(chunk) else {
                if self.begun.len() <= limit {
                    self.begun.extend_from_slice(chunk);
                }
                self.chunks.pop_front();
                if self.begun.len() > limit {
                    return None;
                }
                continue;
            };
            let piece = chunk.split_to(end);
            let ended_by = chunk.get_u8();
            if chunk.is_empty() {
                self.chunks.pop_front();
            }
            if self.begun.is_empty() {
                return Some((piece, ended_by));
            }
            self.begun.extend_from_slice(&piece);
            return Some((std::mem::take(&mut self.begun).freeze(), ended_by));
        }
        None
    }

    /// Passes `byte` if it is the next one.
    pub(crate) fn skip(&mut self, byte: u8) {
        if let Some(chunk) = self.chunks.front_mut()
            && chunk.first() == Some(&byte)
        {
            chunk.advance(1);
            if chunk.is_empty() {
                self.chunks.pop_front();
            }
        }
    }

    /// Whether all that was pushed has been taken or belongs to the line that has begun.
    pub(crate) fn is_drained(&self) -> bool {
        self.chunks.is_empty()
    }

    /// Bytes held of the line that has begun.
    pub(crate) fn len(&self) -> usize {
        self.begun.len()
    }

    /// Takes what there is of the line that has begun.
    pub(crate) fn take(&mut self) -> Bytes {
        std::mem::take(&mut self.begun).freeze()
    }
}
