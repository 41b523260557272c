//! Flow control: uploads wait for window space, and windows grow after data was received.

use super::*;

fn data_of(sent: &[Sent], stream: u32) -> Vec<u8> {
    let frames = sent
        .iter()
        .filter(|sent| sent.kind == 0 && sent.stream == stream);
    frames.flat_map(|sent| sent.payload.clone()).collect()
}

#[test]
fn upload_continues_with_window_updates() {
    for shared in [false, true] {
        let mut client = Client::connected(&[(4, 10)]);
        let body: Rc<[u8]> = (0..25).collect();
        let upload = if shared {
            Body::Shared(&body)
        } else {
            Body::Bytes(&body)
        };
        client.try_send(upload).unwrap();
        let mut data = data_of(&client.sent(), 1);
        assert_eq!(data.len(), 10);
        assert_eq!(client.connection.blocked_uploads(), 1);
        client.receive(&window_update(1, 5));
        data.extend(data_of(&client.sent(), 1));
        assert_eq!(data.len(), 15);
        client.receive(&settings(&[(4, 30)]));
        let sent = client.sent();
        data.extend(data_of(&sent, 1));
        assert_eq!(data, *body);
        let last = sent.iter().rfind(|sent| sent.kind == 0).unwrap();
        assert_eq!(last.flags, END_STREAM);
        let connection = &client.connection;
        assert_eq!(
            (
                connection.blocked_uploads(),
                connection.counters().uploads_blocked
            ),
            (0, 2)
        );
    }
}

#[test]
fn uploads_share_the_connection_window_in_turns() {
    let mut client = Client::connected(&[(4, 1 << 20)]);
    let body = vec![b'x'; 60_000];
    client.try_send(Body::Bytes(&body)).unwrap();
    client.try_send(Body::Bytes(&body)).unwrap();
    let mut sent = client.sent();
    assert!(
        client.connection.blocked_uploads() == 0,
        "the output is full, not the window"
    );
    sent.extend(client.sent());
    let length = |sent: &[Sent], stream| data_of(sent, stream).len();
    assert_eq!(length(&sent, 1) + length(&sent, 3), 65_535);
    assert_eq!(client.connection.blocked_uploads(), 1);
    client.receive(&window_update(0, 100_000));
    sent.extend(client.sent());
    assert_eq!((length(&sent, 1), length(&sent, 3)), (60_000, 60_000));
    assert_eq!(client.connection.blocked_uploads(), 0);
}

#[test]
fn reduced_initial_window_can_be_negative() {
    let mut client = Client::connected(&[(4, 10)]);
    client.try_send(Body::Bytes(&[1; 20])).unwrap();
    client.sent();
    client.receive(&settings(&[(4, 4)]));
    client.receive(&window_update(1, 6));
    assert!(data_of(&client.sent(), 1).is_empty());
    client.receive(&window_update(1, 3));
    assert_eq!(data_of(&client.sent(), 1).len(), 3);
}

#[test]
fn early_response_drops_the_upload() {
    let mut client = Client::connected(&[(4, 10)]);
    client.try_send(Body::Bytes(&[1; 20])).unwrap();
    client.sent();
    assert_eq!(
        client.receive(&headers(1, END_STREAM, OK)),
        ["1 head 200", "1 Answered"]
    );
    assert_eq!(client.sent_code(0x3), Some(ErrorCode::NO_ERROR));
    assert_eq!(client.connection.blocked_uploads(), 0);
}

#[test]
fn received_data_is_returned_to_the_windows() {
    let config = Config {
        window: 100_000,
        ..Config::default()
    };
    let mut client = Client::new(&config);
    client.get();
    client.receive(&[settings(&[]), headers(1, 0, OK)].concat());
    client.sent();
    let mut returned = 0;
    for _ in 0..100 {
        client.receive(&frame(0, 0, 1, &[b'x'; 10_000]));
        for sent in client.sent() {
            assert_eq!(sent.kind, 0x8);
            if sent.stream == 0 {
                returned += u32::from_be_bytes(*sent.payload.first_chunk().unwrap());
            }
        }
    }
    assert!((900_000..=1_000_000).contains(&returned), "{returned}");
}

#[test]
fn connection_window_is_enforced() {
    let config = Config {
        window: 65_535,
        ..Config::default()
    };
    let mut client = Client::new(&config);
    client.get();
    client.receive(&[settings(&[]), headers(1, 0, OK)].concat());
    client.connection.receive.available = 9_999;
    let events = client.receive(&frame(0, 0, 1, &[0; 10_000]));
    assert_eq!(events[0], "broken WindowExceeded");
}
