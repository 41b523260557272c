//! Live view in a browser (`--ui`), served by a separate thread. Without clients, nothing is
//! computed, and the run never waits for clients. After the run, sending the end takes at most a
//! second.

mod csv;
mod events;
pub(crate) mod guard;
mod log;
mod server;
mod state;
mod steer;

use std::{
    fs::File,
    io::{self, Read},
    net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener},
    sync::Arc,
    thread::JoinHandle,
};

use log::Log;
use measure::Interval;
use record::Run;
use state::LatestState;
pub(crate) use steer::Steering;
use worker::{OutputLine, clock::Zero, stop::StopHandle};

use crate::{
    exports::Exports,
    http_server::{self, HttpServer, bind, local},
    messages::SharedMessageSink,
};

/// The live views that the user requested.
#[derive(Debug, Clone, Copy, Default)]
pub struct LiveOptions {
    /// Port of the live view. 0 selects any free port.
    pub view: Option<u16>,
    /// Address of the read-only view, if it was requested.
    pub share: Option<SocketAddr>,
}

/// Reads `LOADLINE_EXPORT`, `LOADLINE_UI`, `LOADLINE_UI_PORT` and `LOADLINE_UI_SHARE`, for front
/// ends that have only the flags of the original tool.
///
/// # Errors
///
/// Fails with a one-line error if a value is invalid or a file cannot be written.
pub fn options_from_env() -> Result<(Exports, LiveOptions), String> {
    let set = |name| std::env::var(name).ok().filter(|text| !text.is_empty());
    let exports = Exports::from_environment()?;
    exports.can_be_written()?;
    let port = match set("LOADLINE_UI_PORT") {
        None => 0,
        Some(text) => text.parse().map_err(|_| {
            format!("LOADLINE_UI_PORT '{text}' is not a valid port: use a number up to 65535")
        })?,
    };
    let view = set("LOADLINE_UI").filter(|text| text != "0").map(|_| port);
    let share = set("LOADLINE_UI_SHARE").filter(|text| text != "0");
    let share = share.map(|text| match text.as_str() {
        "1" => Ok(SHARED),
        text => share_address(text).map_err(|reason| format!("LOADLINE_UI_SHARE: {reason}")),
    });
    let options = LiveOptions {
        view,
        share: share.transpose()?,
    };
    Ok((exports, options))
}

/// Default address of the read-only view: this machine, any free port.
pub const SHARED: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// Reads the address of the read-only view.
///
/// # Errors
///
/// Fails with a one-line error if the text is not an IP address with a port.
pub fn share_address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        format!(
            "`{text}` is not an address: use an IP address and a port, for example 0.0.0.0:8090"
        )
    })
}

/// The ports that are opened before the run.
#[derive(Default)]
pub(crate) struct Bound {
    view: Option<LiveView>,
    share: Option<LiveView>,
}

struct LiveView {
    listener: TcpListener,
    address: SocketAddr,
    /// Token in the URL. Each view has a different token.
    token: String,
}

impl LiveView {
    fn bind(flag: &str, address: SocketAddr) -> Result<LiveView, String> {
        let listener = bind(flag, address)?;
        Ok(LiveView {
            address: local(&listener)?,
            token: token()
                .map_err(|reason| format!("{flag}: cannot create random numbers: {reason}"))?,
            listener,
        })
    }

    fn address(&self) -> String {
        let host = match self.address.ip() {
            ip if ip.is_unspecified() => "THIS-MACHINE".to_owned(),
            IpAddr::V4(ip) => ip.to_string(),
            IpAddr::V6(ip) => format!("[{ip}]"),
        };
        format!("http://{host}:{}/{}/", self.address.port(), self.token)
    }
}

impl Bound {
    /// Opens the ports.
    ///
    /// # Errors
    ///
    /// Fails with a one-line error if a port is not available.
    pub fn bind(options: LiveOptions) -> Result<Bound, String> {
        let view = |port| LiveView::bind("--ui", SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        let share = |address| LiveView::bind("--ui-share", address);
        Ok(Bound {
            view: options.view.map(view).transpose()?,
            share: options.share.map(share).transpose()?,
        })
    }

    /// Returns the URL of the live view.
    pub fn view(&self) -> Option<String> {
        self.view.as_ref().map(LiveView::address)
    }

    /// Prints the addresses and starts to serve. A failure only causes a warning, and the run
    /// continues.
    pub fn serve(
        self,
        zero: Zero,
        steering: Steering,
        stop: &StopHandle,
        sink: &SharedMessageSink,
    ) -> Live {
        let newest = Arc::new(LatestState::with(Log::from(zero), steering));
        let servers = self.servers(&newest, stop, sink);
        let mut thread = None;
        if !servers.is_empty() {
            let state = Arc::clone(&newest);
            let ended = move || {
                let state = Arc::clone(&state);
                async move { state.latest.ended().await }
            };
            thread = http_server::serve("the live view", servers, ended, sink)
                .map_err(|reason| {
                    sink.warning(&format_args!(
                        "cannot start the live view's thread: {reason}"
                    ))
                })
                .ok();
        }
        Live { newest, thread }
    }

    fn servers(
        self,
        newest: &Arc<LatestState>,
        stop: &StopHandle,
        sink: &SharedMessageSink,
    ) -> Vec<HttpServer> {
        let mut servers = Vec::new();
        if let Some(view) = self.view {
            sink.say(&format_args!("live view: {}", view.address()));
            let routes = server::view(
                Arc::clone(newest),
                stop.clone(),
                &view.token,
                view.address.port(),
            );
            servers.push(HttpServer {
                listener: view.listener,
                routes,
            });
        }
        if let Some(share) = self.share {
            sink.say(&format_args!("read-only view: {}", share.address()));
            let routes = server::read_only(Arc::clone(newest), &share.token, share.address);
            servers.push(HttpServer {
                listener: share.listener,
                routes,
            });
        }
        servers
    }
}

pub(crate) struct Live {
    newest: Arc<LatestState>,
    thread: Option<JoinHandle<()>>,
}

impl Live {
    /// Publishes the state of a run that is about to start.
    pub fn started(&self, run: &Run) {
        if self.thread.is_some() {
            self.newest.started(run);
        }
    }

    /// Publishes a complete interval.
    pub fn interval(&self, interval: &Arc<Interval>, run: &Run) {
        if self.thread.is_some() {
            self.newest.interval(interval, run);
        }
    }

    /// Logs a line that the test printed. The line must not contain secrets.
    pub fn line(&self, line: &OutputLine) {
        if self.thread.is_some() {
            self.newest.log().line(line);
        }
    }

    /// Wraps a message sink so that its messages also go to the live view's log.
    pub fn overheard(&self, sink: &SharedMessageSink) -> SharedMessageSink {
        if self.thread.is_some() {
            self.newest.log().overhear(sink)
        } else {
            sink.clone()
        }
    }

    /// Sends the end of the run to all clients. Takes at most a second.
    pub fn end(self, run: &Run) {
        if let Some(thread) = self.thread {
            self.newest.over(run);
            let _ = thread.join();
        }
    }
}

/// Returns 128 random bits as hex digits.
fn token() -> io::Result<String> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
