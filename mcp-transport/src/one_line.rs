//! JSON without line ends, for frames that a line end would close.

use memchr::memchr2;

/// Runs `write` and turns the line ends in what it appended into spaces. In JSON they can only be
/// white space between tokens: inside strings they are escaped.
pub(crate) fn one_line<T>(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>) -> T) -> T {
    let start = out.len();
    let written = write(out);
    let mut rest = out.get_mut(start..).unwrap_or_default();
    while let Some(at) = memchr2(b'\n', b'\r', rest) {
        let (ended, behind) = rest.split_at_mut(at + 1);
        if let Some(end) = ended.last_mut() {
            *end = b' ';
        }
        rest = behind;
    }
    written
}
