//! Sends text messages and reads their echoes on many connections, on one thread. Prints the number
//! of echoes.

use std::{
    cell::Cell,
    rc::Rc,
    time::{Duration, Instant},
};

use fastwebsockets::{Frame, Payload, Role, WebSocket};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::LocalSet,
};

async fn connect(address: &str, path: &str) -> WebSocket<TcpStream> {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let head = format!(
        "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
        Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut response = Vec::new();
    while !response.ends_with(b"\r\n\r\n") {
        response.push(stream.read_u8().await.unwrap());
    }
    assert!(response.starts_with(b"HTTP/1.1 101"));
    let mut websocket = WebSocket::after_handshake(stream, Role::Client);
    websocket.set_auto_close(true);
    websocket.set_auto_pong(true);
    websocket
}

async fn echo(mut websocket: WebSocket<TcpStream>, text: String, end: Instant, count: Rc<Cell<u64>>) {
    while Instant::now() < end {
        let frame = Frame::text(Payload::Borrowed(text.as_bytes()));
        websocket.write_frame(frame).await.unwrap();
        websocket.read_frame().await.unwrap();
        count.set(count.get() + 1);
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let (address, path) = (&arguments[1], &arguments[2]);
    let connections: usize = arguments[3].parse().unwrap();
    let seconds: u64 = arguments[4].parse().unwrap();
    let text = "x".repeat(arguments[5].parse().unwrap());
    let count = Rc::new(Cell::new(0));
    let end = Instant::now() + Duration::from_secs(seconds);
    let local = LocalSet::new();
    for _ in 0..connections {
        let websocket = connect(address, path).await;
        local.spawn_local(echo(websocket, text.clone(), end, Rc::clone(&count)));
    }
    local.await;
    println!("echoes {}", count.get());
}
