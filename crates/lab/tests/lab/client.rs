use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

pub struct Answer {
    pub code: u16,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

pub struct Client {
    stream: BufReader<TcpStream>,
    headers: String,
}

impl Client {
    pub fn connect(to: SocketAddr) -> Self {
        let stream = TcpStream::connect(to).unwrap();
        stream.set_nodelay(true).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        Self {
            stream: BufReader::new(stream),
            headers: String::new(),
        }
    }

    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers += &format!("{name}: {value}\r\n");
        self
    }

    pub fn get(&mut self, path: &str) -> Answer {
        self.request("GET", path, "")
    }

    pub fn request(&mut self, method: &str, path: &str, body: &str) -> Answer {
        self.send(method, path, body);
        self.receive(method)
    }

    pub fn send(&mut self, method: &str, path: &str, body: &str) {
        self.send_head(method, path, body.len());
        self.send_body(body);
    }

    pub fn send_body(&mut self, body: &str) {
        self.stream.get_mut().write_all(body.as_bytes()).unwrap();
    }

    pub fn send_head(&mut self, method: &str, path: &str, length: usize) {
        let headers = &self.headers;
        let text = format!(
            "{method} {path} HTTP/1.1\r\nhost: lab.test\r\n{headers}content-length: {length}\r\n\r\n"
        );
        self.stream.get_mut().write_all(text.as_bytes()).unwrap();
    }

    pub fn send_raw(&mut self, bytes: &[u8]) {
        self.stream.get_mut().write_all(bytes).unwrap();
    }

    pub fn receive_all(&mut self) -> (Vec<u8>, std::io::Result<()>) {
        let mut bytes = Vec::new();
        let ended = self.stream.read_to_end(&mut bytes).map(drop);
        (bytes, ended)
    }

    pub fn is_silent_for(&mut self, time: Duration) -> bool {
        let stream = self.stream.get_ref();
        let before = stream.read_timeout().unwrap();
        stream.set_read_timeout(Some(time)).unwrap();
        let came = self.stream.read(&mut [0]);
        self.stream.get_ref().set_read_timeout(before).unwrap();
        came.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock)
    }

    pub fn receive(&mut self, method: &str) -> Answer {
        let status = self.line();
        let code = status.split(' ').nth(1).unwrap().parse().unwrap();
        let mut headers = Vec::new();
        loop {
            let line = self.line();
            let Some((name, value)) = line.split_once(':') else {
                break;
            };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let mut answer = Answer {
            code,
            headers,
            body: String::new(),
        };
        let length = answer
            .header("content-length")
            .map_or(0, |n| n.parse().unwrap());
        if method != "HEAD" {
            let mut body = vec![0; length];
            self.stream.read_exact(&mut body).unwrap();
            answer.body = String::from_utf8(body).unwrap();
        }
        answer
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stream.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    pub fn is_closed(&mut self) -> bool {
        !matches!(self.stream.read(&mut [0]), Ok(1))
    }
}

pub fn stats(of: SocketAddr) -> Value {
    Client::connect(of).get("/__lab/stats").json()
}
