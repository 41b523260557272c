//! Passes arbitrary bytes to the response decoder. The result must not depend on how the bytes are
//! split.

use codec::{
    Response, Want,
    content::{self, Unpacking},
    heads::Heads,
    reply::{Keep, MAX_BODY, Replies},
};

fn decode(bytes: &[u8], piece: usize, to_head: bool) -> (Option<bool>, Response) {
    let (mut replies, mut heads) = (Replies::default(), Heads::acted_upon());
    let mut ended = None;
    for part in bytes.chunks(piece.max(1)) {
        match replies.feed(part, &mut heads, to_head, Keep::Body) {
            Err(_) => return (None, Response::from_reply(&mut replies.reply, Want::ALL)),
            Ok(fed) if fed.done => {
                ended = Some(true);
                break;
            }
            Ok(_) => {}
        }
    }
    let ended = ended.or(Some(replies.closed()));
    (ended, Response::from_reply(&mut replies.reply, Want::ALL))
}

pub fn check(piece: u8, to_head: bool, bytes: &[u8]) {
    let (whole, one) = decode(bytes, bytes.len(), to_head);
    let (split, two) = decode(bytes, usize::from(piece) + 1, to_head);
    if whole == Some(true) && split == Some(true) {
        assert_eq!(one.status, two.status);
        assert_eq!(one.body, two.body);
        assert_eq!(one.headers, two.headers);
        assert_eq!(one.set_cookies(), two.set_cookies());
        assert_eq!(one.location(), two.location());
    }
    for reader in [Unpacking::Strict, Unpacking::Lenient] {
        let _ = content::decoded(&one, MAX_BODY, reader);
    }
}
