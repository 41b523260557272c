//! Cache of recent response heads. The heads of a server usually differ only in their date, so a
//! comparison replaces parsing.

use measure::outcome::ProtocolFault;

use super::head::{self, ResponseHead};

/// Response heads cached by one worker.
#[derive(Debug, Default)]
pub struct Heads {
    known: Vec<KnownHead>,
    next: usize,
    unknown: u32,
    acts: bool,
    last_body: u64,
    last_head: usize,
}

#[derive(Debug)]
struct KnownHead {
    bytes: Vec<u8>,
    date: std::ops::Range<usize>,
    head: ResponseHead,
}

const KNOWN: usize = 4;
/// Number of consecutive unknown heads after which only one head in 32 is cached.
const IN_VAIN: u32 = 32;
const DATE: usize = 29;

impl Heads {
    /// Creates a cache that also parses the headers that a client acts on: cookies, redirects and
    /// encodings.
    #[must_use]
    pub fn acted_upon() -> Heads {
        Heads {
            acts: true,
            ..Heads::default()
        }
    }

    /// Parses the head at the start of these bytes. Returns `None` if the head is incomplete.
    #[inline]
    pub(crate) fn read(
        &mut self,
        bytes: &[u8],
        to_head: bool,
    ) -> Result<Option<ResponseHead>, ProtocolFault> {
        if !to_head && let Some(known) = self.known.iter().find(|known| known.is_head_of(bytes)) {
            self.unknown = 0;
            return Ok(Some(known.head.clone()));
        }
        let head = head::read(bytes, to_head, self.acts)?;
        if let Some(head) = &head
            && !to_head
            && !head.interim
        {
            self.unknown += 1;
            if self.unknown <= IN_VAIN || self.unknown.is_multiple_of(IN_VAIN) {
                self.remember(&bytes[..head.length], head);
            }
        }
        Ok(head)
    }

    #[inline]
    pub(crate) fn seen(&mut self, head: usize, body: u64) {
        (self.last_head, self.last_body) = (head, body);
    }

    #[cold]
    fn remember(&mut self, bytes: &[u8], head: &ResponseHead) {
        let known = KnownHead {
            date: date_in(bytes),
            bytes: bytes.to_vec(),
            head: head.clone(),
        };
        if self.known.len() < KNOWN {
            self.known.push(known);
        } else {
            self.known[self.next] = known;
            self.next = (self.next + 1) % KNOWN;
        }
    }

    /// Suggests a small first read if the head is followed by a long body that will not be copied.
    #[must_use]
    pub fn first_read(&self) -> Option<usize> {
        (self.last_body >= DISCARD).then_some(self.last_head + 64)
    }
}

/// Minimum number of remaining body bytes for which a system call that discards them is worthwhile.
pub(crate) const DISCARD: u64 = 16 << 10;

impl KnownHead {
    #[inline]
    fn is_head_of(&self, bytes: &[u8]) -> bool {
        let length = self.bytes.len();
        if bytes.len() < length {
            return false;
        }
        let (date, bytes) = (self.date.clone(), &bytes[..length]);
        // The date changes every second, so compare the bytes before and after it.
        bytes[date.end..] == self.bytes[date.end..]
            && bytes[..date.start] == self.bytes[..date.start]
            && (bytes[date.clone()] == self.bytes[date.clone()]
                || !bytes[date].iter().any(|b| matches!(b, b'\r' | b'\n')))
    }
}

/// Returns the range of the `Date` value in a head. If there is none, returns an empty range at the
/// end.
fn date_in(head: &[u8]) -> std::ops::Range<usize> {
    let mut at = 0;
    for line in head.split_inclusive(|b| *b == b'\n') {
        if line.len() > 6 + DATE && line[..6].eq_ignore_ascii_case(b"date: ") {
            return at + 6..at + 6 + DATE;
        }
        at += line.len();
    }
    head.len()..head.len()
}

#[cfg(test)]
pub(crate) mod dated {
    pub const MONDAY: &str = "Mon, 01 Jan 2024 00:00:00 GMT";
    pub const TUESDAY: &str = "Tue, 02 Jan 2024 00:00:00 GMT";

    pub fn answer(date: &str, body: &str) -> Vec<u8> {
        let length = body.len();
        format!("HTTP/1.1 200 OK\r\nDate: {date}\r\nContent-Length: {length}\r\n\r\n{body}")
            .into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::{
        dated::{MONDAY, TUESDAY, answer},
        *,
    };

    #[test]
    fn cached_head_matches_except_for_date() {
        let mut heads = Heads::default();
        let status = |heads: &mut Heads, bytes: &[u8]| {
            let read = heads.read(bytes, false);
            read.map(|head| head.map(|head| head.status))
        };
        assert_eq!(status(&mut heads, &answer(MONDAY, "x")), Ok(Some(200)));
        assert_eq!(status(&mut heads, &answer(TUESDAY, "x")), Ok(Some(200)));
        assert_eq!(heads.known.len(), 1);
        assert_eq!(status(&mut heads, &answer(MONDAY, "x")[..40]), Ok(None));
        assert_eq!(status(&mut heads, &answer(MONDAY, "xy")), Ok(Some(200)));
        assert_eq!(heads.known.len(), 2);
        let mut odd = answer(MONDAY, "x");
        odd[23..27].copy_from_slice(b"\r\n\r\n");
        let length = heads.read(&odd, false).map(|head| head.map(|h| h.length));
        assert_eq!(length, Ok(Some(27)));
    }

    #[test]
    fn differing_heads_are_rarely_cached() {
        let mut heads = Heads::default();
        let tagged = |tag: u32| format!("HTTP/1.1 204 No\r\nETag: {tag}\r\n\r\n").into_bytes();
        for tag in 0..IN_VAIN + 1 {
            heads.read(&tagged(tag), false).expect("a head");
        }
        let remembers =
            |heads: &Heads, tag| heads.known.iter().any(|known| known.bytes == tagged(tag));
        assert!(remembers(&heads, IN_VAIN - 1) && !remembers(&heads, IN_VAIN));
        heads.read(&tagged(IN_VAIN - 1), false).expect("a head");
        heads.read(&tagged(1000), false).expect("a head");
        assert!(remembers(&heads, 1000));
    }

    #[test]
    fn cached_head_keeps_its_meaning() {
        let mut heads = Heads::acted_upon();
        let wire = format!(
            "HTTP/1.1 302 Found\r\nDate: {MONDAY}\r\nSet-Cookie: a=1\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n"
        );
        for date in [MONDAY, TUESDAY] {
            let wire = wire.replace(MONDAY, date);
            let head = heads
                .read(wire.as_bytes(), false)
                .expect("HTTP")
                .expect("whole");
            let notable = head.notable.expect("headers to act upon");
            assert_eq!(notable.set_cookies, ["a=1"]);
            assert_eq!(notable.location.as_deref(), Some("/x"));
        }
        assert_eq!(heads.known.len(), 1);
        let head = Heads::default().read(wire.as_bytes(), false).expect("HTTP");
        assert_eq!(head.expect("whole").notable, None);
    }
}
