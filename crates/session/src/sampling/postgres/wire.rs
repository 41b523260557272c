//! Blocking PostgreSQL connection with time limits: login, queries, and rows of text.

use std::{
    io::{ErrorKind, Read, Write},
    net::TcpStream,
    os::unix::net::UnixStream,
    time::Duration,
};

use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use plan::server::postgres::{Database, Encryption, Listener};
use postgres_protocol::{
    authentication::{
        md5_hash,
        sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256},
    },
    message::{
        backend::{DataRowBody, ErrorResponseBody, Header, Message},
        frontend,
    },
};
use tokio_rustls::rustls::{ClientConnection, StreamOwned, pki_types::ServerName};

use crate::bounded::{self, Bounded, Deadline, io_error_text};

const LONGEST: i32 = 1 << 20;
const MOST_BYTES: usize = 4 << 20;
const ROW_BYTES: usize = 64;
const NAME: &str = "loadline";

trait Stream: Read + Write + Send {}
impl<T: Read + Write + Send> Stream for T {}

/// Text of each column. `None` is null.
pub(super) type TextRow = Vec<Option<String>>;

pub(super) struct Connection {
    stream: Box<dyn Stream>,
    came: BytesMut,
    patience: Duration,
    deadline: Deadline,
}

impl Connection {
    /// Connects and logs in. The time limit also applies to each later query.
    pub fn open(database: &Database, patience: Duration) -> Result<Connection, String> {
        let deadline = Deadline::default();
        deadline.set(patience);
        let mut connection = Connection {
            stream: stream(database, &deadline)?,
            came: BytesMut::new(),
            patience,
            deadline,
        };
        connection.log_in(database)?;
        Ok(connection)
    }

    /// Runs several statements and returns the rows of each.
    pub fn ask(&mut self, statements: &str) -> Result<Vec<Vec<TextRow>>, String> {
        self.begin();
        self.send(|out| frontend::query(statements, out))?;
        let (mut all, mut rows) = (Vec::new(), Vec::new());
        let mut bytes = 0;
        loop {
            match self.next()? {
                Message::DataRow(body) => {
                    // Count a minimum size per row, because rows without text take memory too.
                    bytes += body.buffer().len() + ROW_BYTES;
                    if bytes > MOST_BYTES {
                        return Err(format!(
                            "the response is larger than the limit of {} MB",
                            MOST_BYTES >> 20
                        ));
                    }
                    rows.push(row(&body)?);
                }
                Message::CommandComplete(_) => all.push(std::mem::take(&mut rows)),
                Message::ErrorResponse(body) => return Err(refusal(&body)),
                Message::ReadyForQuery(_) => return Ok(all),
                _ => {}
            }
        }
    }

    fn begin(&mut self) {
        self.deadline.set(self.patience);
    }

    fn log_in(&mut self, database: &Database) -> Result<(), String> {
        let parameters = [
            ("user", database.user.as_str()),
            ("database", database.name.as_str()),
            ("application_name", NAME),
            ("client_encoding", "UTF8"),
        ];
        self.send(|out| frontend::startup_message(parameters, out))?;
        let password = || {
            let given = database.password.as_deref();
            given
                .ok_or("the server requires a password: use postgres://USER:PASSWORD@HOST/DATABASE")
        };
        let mut scram = None;
        loop {
            match self.next()? {
                Message::AuthenticationCleartextPassword => {
                    let given = password()?;
                    self.send(|out| frontend::password_message(given.as_bytes(), out))?;
                }
                Message::AuthenticationMd5Password(body) => {
                    let user = database.user.as_bytes();
                    let hash = md5_hash(user, password()?.as_bytes(), body.salt());
                    self.send(|out| frontend::password_message(hash.as_bytes(), out))?;
                }
                Message::AuthenticationSasl(body) => {
                    let offers = body.mechanisms().any(|one| Ok(one == SCRAM_SHA_256));
                    if !offers.map_err(|reason| io_error_text(&reason))? {
                        return Err(
                            "the server requires a login method that is not supported".to_owned()
                        );
                    }
                    let binding = ChannelBinding::unsupported();
                    let begun = ScramSha256::new(password()?.as_bytes(), binding);
                    self.send(|out| {
                        frontend::sasl_initial_response(SCRAM_SHA_256, begun.message(), out)
                    })?;
                    scram = Some(begun);
                }
                Message::AuthenticationSaslContinue(body) => {
                    let scram = scram.as_mut().ok_or(STRANGE)?;
                    scram
                        .update(body.data())
                        .map_err(|reason| io_error_text(&reason))?;
                    let message = scram.message().to_vec();
                    self.send(|out| frontend::sasl_response(&message, out))?;
                }
                Message::AuthenticationSaslFinal(body) => {
                    let scram = scram.as_mut().ok_or(STRANGE)?;
                    scram
                        .finish(body.data())
                        .map_err(|reason| io_error_text(&reason))?;
                }
                Message::ErrorResponse(body) => return Err(refusal(&body)),
                Message::ReadyForQuery(_) => return Ok(()),
                Message::AuthenticationOk
                | Message::ParameterStatus(_)
                | Message::BackendKeyData(_)
                | Message::NoticeResponse(_) => {}
                _ => {
                    return Err(
                        "the server requires a login method that is not supported".to_owned()
                    );
                }
            }
        }
    }

    fn send(
        &mut self,
        message: impl FnOnce(&mut BytesMut) -> std::io::Result<()>,
    ) -> Result<(), String> {
        let mut out = BytesMut::new();
        let written = message(&mut out)
            .and_then(|()| self.stream.write_all(&out))
            .and_then(|()| self.stream.flush());
        written.map_err(|reason| io_error_text(&reason))
    }

    fn next(&mut self) -> Result<Message, String> {
        let mut piece = [0; 8192];
        loop {
            // A message states its length, but do not reserve memory before the data arrives.
            let head = Header::parse(&self.came).map_err(|_| STRANGE)?;
            if head.is_some_and(|head| head.len() > LONGEST) {
                return Err(STRANGE.to_owned());
            }
            if let Some(message) = Message::parse(&mut self.came).map_err(|_| STRANGE)? {
                return Ok(message);
            }
            self.deadline
                .left()
                .map_err(|reason| io_error_text(&reason))?;
            match self.stream.read(&mut piece) {
                Ok(0) => return Err("the server closed the connection".to_owned()),
                Ok(n) => self.came.extend_from_slice(&piece[..n]),
                Err(reason) => return Err(io_error_text(&reason)),
            }
        }
    }
}

const STRANGE: &str = "the response is not from a PostgreSQL server";

fn stream(database: &Database, deadline: &Deadline) -> Result<Box<dyn Stream>, String> {
    let (host, port) = match &database.at {
        Listener::Socket(path) => {
            let failed = |reason| format!("{path}: {}", io_error_text(&reason));
            let stream = UnixStream::connect(path).map_err(failed)?;
            return Ok(Box::new(Bounded::new(stream, deadline)));
        }
        Listener::Tcp(host, port) => (host.as_str(), port),
    };
    let tcp = bounded::connect(host, *port, deadline);
    let tcp = tcp.map_err(|reason| format!("{host}:{port}: {reason}"))?;
    if database.tls == Encryption::Disable {
        return Ok(Box::new(tcp));
    }
    encrypted(tcp, host, database.tls)
}

/// Requests TLS, and uses it if the server agrees.
fn encrypted(
    mut tcp: Bounded<TcpStream>,
    host: &str,
    how: Encryption,
) -> Result<Box<dyn Stream>, String> {
    let mut out = BytesMut::new();
    frontend::ssl_request(&mut out);
    let mut answer = [0];
    tcp.write_all(&out)
        .and_then(|()| tcp.read_exact(&mut answer))
        .map_err(|reason| match reason.kind() {
            ErrorKind::UnexpectedEof => STRANGE.to_owned(),
            _ => io_error_text(&reason),
        })?;
    match answer[0] {
        b'S' => {}
        b'N' if how == Encryption::Prefer => return Ok(Box::new(tcp)),
        b'N' => return Err("the server does not support TLS: use sslmode=disable".to_owned()),
        _ => return Err(STRANGE.to_owned()),
    }
    let mut http = plan::Http {
        verify_tls: how == Encryption::VerifyFull,
        ..plan::Http::default()
    };
    // Omit ALPN, because this protocol is not HTTP.
    http.tls.no_alpn = true;
    let config = worker::net::tls::config(&http)?;
    let name = ServerName::try_from(host.to_owned()).map_err(|reason| reason.to_string())?;
    let connection = ClientConnection::new(config, name).map_err(|reason| reason.to_string())?;
    Ok(Box::new(StreamOwned::new(connection, tcp)))
}

fn row(body: &DataRowBody) -> Result<TextRow, String> {
    let ranges = body.ranges().map(|range| {
        Ok(range.and_then(|range| {
            let text = body.buffer().get(range)?;
            Some(String::from_utf8_lossy(text).into_owned())
        }))
    });
    ranges.collect().map_err(|_| STRANGE.to_owned())
}

fn refusal(body: &ErrorResponseBody) -> String {
    let message = body.fields().find_map(|field| {
        let is_message = field.type_() == b'M';
        Ok(is_message.then(|| String::from_utf8_lossy(field.value_bytes()).into_owned()))
    });
    match message {
        Ok(Some(text)) => format!("the server reports: {text}"),
        _ => STRANGE.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use proptest::prelude::*;

    use super::*;

    struct Canned {
        says: Vec<u8>,
        at: usize,
        piece: usize,
    }

    impl Read for Canned {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let rest = &self.says[self.at..];
            let n = rest.len().min(into.len()).min(self.piece);
            into[..n].copy_from_slice(&rest[..n]);
            self.at += n;
            Ok(n)
        }
    }

    impl Write for Canned {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn connection(says: Vec<u8>, piece: usize) -> Connection {
        Connection {
            stream: Box::new(Canned { says, at: 0, piece }),
            came: BytesMut::new(),
            patience: Duration::from_secs(3600),
            deadline: Deadline::default(),
        }
    }

    fn message(tag: u8, body: &[u8]) -> Vec<u8> {
        let length = i32::try_from(body.len() + 4).unwrap();
        [&[tag], &length.to_be_bytes()[..], body].concat()
    }

    fn data_row(row: &TextRow) -> Vec<u8> {
        let mut body = i16::try_from(row.len()).unwrap().to_be_bytes().to_vec();
        for cell in row {
            match cell {
                None => body.extend((-1_i32).to_be_bytes()),
                Some(text) => {
                    body.extend(i32::try_from(text.len()).unwrap().to_be_bytes());
                    body.extend(text.as_bytes());
                }
            }
        }
        message(b'D', &body)
    }

    fn answer(statements: &[Vec<TextRow>]) -> Vec<u8> {
        let mut says = Vec::new();
        for rows in statements {
            rows.iter().for_each(|row| says.extend(data_row(row)));
            says.extend(message(b'C', b"SELECT\0"));
        }
        says.extend(message(b'Z', b"I"));
        says
    }

    fn statements() -> impl Strategy<Value = Vec<Vec<TextRow>>> {
        let cell = proptest::option::of(".{0,20}");
        let row = proptest::collection::vec(cell, 0..6);
        proptest::collection::vec(proptest::collection::vec(row, 0..6), 0..4)
    }

    fn log_in(says: Vec<u8>, piece: usize) -> Result<(), String> {
        let database = Database::of_url("postgres://me:secret@h/shop").unwrap();
        let mut connection = connection(says, piece);
        connection.begin();
        connection.log_in(&database)
    }

    proptest! {
    #[test]
    fn rows_come_as_they_were_sent(all in statements(), piece in 1_usize..40) {
    let read = connection(answer(&all), piece).ask("select").unwrap();
    prop_assert_eq!(read, all);
    }

    #[test]
    fn truncated_answer_is_an_error(all in statements(), cut in 0.0_f64..1.0) {
    let mut says = answer(&all);
    says.truncate((says.len() as f64 * cut) as usize);
    prop_assert!(connection(says, 7).ask("select").is_err());
    }

    #[test]
    fn no_bytes_are_too_strange(says in proptest::collection::vec(any::<u8>(), 0..200), piece in 1_usize..40) {
    let _ = connection(says.clone(), piece).ask("select");
    prop_assert!(log_in(says, piece).is_err());
    }

    #[test]
    fn no_message_is_too_strange(
    all in proptest::collection::vec((any::<u8>(), proptest::collection::vec(any::<u8>(), 0..40)), 0..8),
    tags in proptest::collection::vec(proptest::sample::select(b"DCTEZRSKN".to_vec()), 8),
    ) {
    let tagged = all.iter().zip(&tags).map(|((_, body), tag)| message(*tag, body));
    let says: Vec<u8> = tagged.flatten().collect();
    let _ = connection(says.clone(), 9).ask("select");
    let _ = log_in(says, 9);
    }

    #[test]
    fn a_byte_may_be_wrong(all in statements(), at in any::<proptest::sample::Index>(), byte in any::<u8>()) {
    let mut says = answer(&all);
    let at = at.index(says.len());
    says[at] = byte;
    let sent: usize = all.iter().map(Vec::len).sum();
    if let Ok(read) = connection(says, 11).ask("select") {
    prop_assert!(read.iter().map(Vec::len).sum::<usize>() <= sent);
    }
    }
    }

    #[test]
    fn rows_without_end_are_refused() {
        let long = vec![Some("x".repeat(1000))];
        let says = data_row(&long).repeat(5000);
        let reason = connection(says, 8192).ask("select").unwrap_err();
        assert!(
            reason.starts_with("the response is larger than the limit of 4 MB"),
            "{reason}"
        );
    }

    #[test]
    fn whoever_claims_a_huge_message_is_not_waited_for() {
        let says = [&[b'D'][..], &i32::MAX.to_be_bytes()].concat();
        assert_eq!(connection(says, 5).ask("select").unwrap_err(), STRANGE);
    }

    #[test]
    fn a_log_in_ends_when_the_server_is_ready() {
        let says = [message(b'R', &[0, 0, 0, 0]), message(b'Z', b"I")].concat();
        assert_eq!(log_in(says, 3), Ok(()));
        let says = message(b'E', b"Mnot you\0\0");
        assert_eq!(log_in(says, 3).unwrap_err(), "the server reports: not you");
    }
}
