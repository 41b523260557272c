//! The lab `chat`: a server for WebSocket and Socket.IO that echoes messages and broadcasts them to
//! rooms. It has delays and faults per connection, and its own counts and log. The crate `codec`
//! reads and writes frames and packets, and its tests check it against other implementations.

mod behaviour;
mod connection;
mod ledger;
mod outbox;
mod rooms;
mod sessions;
mod socketio;
mod upgrade;

use crate::own_server::LabState;
use crate::random::seed_or_fresh;
use crate::timer::Timer;
use crate::{Bound, LabEntry, LabError, LabKind, LabOptions, own_server, plain_token};
use behaviour::Behaviour;
use ledger::ChatLedger;
use rooms::Rooms;
use sessions::Sessions;

const NAME: &str = "chat";

pub(crate) const LAB: LabEntry = LabEntry {
    name: NAME,
    help: "WebSocket and Socket.IO server: /echo, /rooms/NAME, /socket.io/, /slow, /refuse/STATUS, /wrong-accept, /proxy200; deflate=on, and as defaults of every URL's query: delay, drop, duplicate, reorder=SHARE, close-after=N code=N, ping=TIME, read=BYTES",
    extra: behaviour::OPTIONS,
    kind: LabKind::OwnLoop(bind),
    token: plain_token,
};

struct ChatState {
    /// Whether the lab accepts the compression that clients offer.
    deflate: bool,
    /// Behaviour of connections whose URL sets no options.
    behaviour: Behaviour,
    seed: u64,
    rooms: Rooms,
    ledger: ChatLedger,
    sessions: Sessions,
    timer: Timer,
}

impl LabState for ChatState {
    fn flush(&self) {
        self.ledger.flush();
    }

    fn finish(&self) -> Result<(), LabError> {
        self.ledger.finish()
    }
}

fn bind(options: &LabOptions) -> Result<Bound, LabError> {
    let deflate = options.read(NAME, "deflate", "off", |text| match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err("use on or off".to_owned()),
    })?;
    let mut behaviour = Behaviour::default();
    for (name, value) in &options.extra {
        if name != "deflate" {
            let set = behaviour.set(name, value);
            set.map_err(|advice| options.refuse(NAME, name, advice))?;
        }
    }
    let seed = seed_or_fresh(options.seed);
    let state = ChatState {
        deflate,
        behaviour,
        seed,
        rooms: Rooms::default(),
        ledger: ChatLedger::new(options.log.as_deref(), seed)?,
        sessions: Sessions::default(),
        timer: Timer::start()?,
    };
    own_server::bind(options, "http", state, connection::serve)
}
