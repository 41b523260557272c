//! Streams and connections that end before the response: resets, GOAWAY, cancellation and loss.

use super::*;

#[test]
fn resets_end_streams_by_their_code() {
    let mut client = Client::connected(&[]);
    for _ in 0..4 {
        client.get();
    }
    assert_eq!(client.receive(&rst(1, 0x7)), ["1 Refused"]);
    assert_eq!(client.receive(&rst(3, 0x2)), ["3 Reset(ErrorCode(2))"]);
    client.receive(&headers(5, 0, OK));
    assert_eq!(
        client.receive(&rst(5, 0)),
        ["5 Reset(ErrorCode(0))"],
        "an incomplete response"
    );
    client.receive(&headers(7, END_STREAM, OK));
    assert!(
        client.receive(&rst(7, 0)).is_empty(),
        "after a complete response"
    );
    let counters = client.connection.counters();
    let resets = &counters.resets_received.0;
    assert!(resets.contains(&(ErrorCode::NO_ERROR.into(), 2)));
    assert_eq!(resets.iter().map(|(_, n)| n).sum::<u64>(), 4);
    assert!(Outcome::Refused.may_resend() && !Outcome::Reset(ErrorCode::CANCEL).may_resend());
}

#[test]
fn goaway_separates_unprocessed_streams() {
    let mut client = Client::connected(&[]);
    for _ in 0..3 {
        client.get();
    }
    let events = client.receive(&goaway(3, 0, &[b'x'; 300]));
    assert_eq!(events[0].len(), "goaway NO_ERROR 3 ".len() + 200);
    assert_eq!(events[1..], ["5 NotProcessed(ErrorCode(0))"]);
    assert!(!client.connection.accepts_requests());
    assert_eq!(client.try_send(Body::None), Err(SendError::NotAccepting));
    assert_eq!(
        client.receive(&headers(1, END_STREAM, OK)),
        ["1 head 200", "1 Answered"]
    );
    let events = client.receive(&goaway(1, 0xb, b""));
    assert_eq!(events[1..], ["3 NotProcessed(ErrorCode(11))"]);
    assert!(client.connection.is_closed());
}

#[test]
fn goaway_with_error_ends_all_streams() {
    let mut client = Client::connected(&[]);
    client.get();
    client.get();
    let events = client.receive(&goaway(1, 0xb, b"calm"));
    let ends = ["1 GoAway(ErrorCode(11))", "3 NotProcessed(ErrorCode(11))"];
    assert_eq!(events[0], "goaway ENHANCE_YOUR_CALM 1 calm");
    assert_eq!(events[1..], ends);
}

#[test]
fn lost_connection_ends_all_streams() {
    let mut client = Client::connected(&[]);
    client.get();
    client.get();
    client.connection.lose();
    assert_eq!(
        client.receive(&[]),
        ["1 ConnectionLost", "3 ConnectionLost"]
    );
    assert!(client.connection.is_closed() && client.receive(b"more").is_empty());
}

#[test]
fn cancelled_stream_is_reset_and_its_frames_are_ignored() {
    let mut client = Client::connected(&[]);
    let first = client.get();
    client.sent();
    client.connection.cancel(first);
    client.connection.cancel(first);
    assert_eq!(client.sent_code(0x3), Some(ErrorCode::CANCEL));
    let resets = &client.connection.counters().resets_sent.0;
    assert_eq!(resets, &[(ErrorCode::CANCEL.into(), 1)]);
    // The block inserts a field into the table, and the next response refers to it.
    let late = [
        headers(1, 0, &[0x88, 0x40, 1, b'a', 1, b'b']),
        frame(0, END_STREAM, 1, b"late"),
    ];
    assert!(client.receive(&late.concat()).is_empty());
    client.get();
    assert_eq!(
        client.receive(&headers(3, END_STREAM, &[0x88, 0xbe])),
        ["3 head 200 a=b", "3 Answered"]
    );
}
