//! Arguments of the command. Options that emqtt-bench also has have the same names.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// `loadline mqtt`.
#[derive(Debug, Parser)]
#[command(
    name = "loadline mqtt",
    about = "Load an MQTT server; without a command: the Pepeunit load test (loadline mqtt pepeunit --help)",
    disable_help_flag = true
)]
pub struct MqttCommand {
    /// Action of the clients
    #[command(subcommand)]
    pub what: MqttSubcommand,
}

/// Actions of the clients.
#[derive(Debug, Subcommand)]
pub enum MqttSubcommand {
    /// Connect and stay connected
    Conn(Common),
    /// Connect and publish
    Pub(Pub),
    /// Connect and subscribe
    Sub(Sub),
}

/// Options of all three commands.
#[derive(Debug, Args)]
pub struct Common {
    /// Server. Clients use several servers in turn; separate them with commas
    #[arg(short = 'h', long, default_value = "localhost", value_delimiter = ',')]
    pub(super) host: Vec<String>,
    /// Port of the server [1883, with -S 8883]
    #[arg(short = 'p', long)]
    pub(super) port: Option<u16>,
    /// MQTT version: 4 (3.1.1) or 5
    #[arg(short = 'V', long, default_value = "5", value_parser = ["4", "5"])]
    pub(super) version: String,
    /// Number of clients
    #[arg(short = 'c', long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(super) count: u32,
    /// Connects per second; 0 means that --interval sets the pace
    #[arg(short = 'R', long, default_value_t = 0)]
    pub(super) connrate: u32,
    /// Milliseconds between two connects
    #[arg(short = 'i', long, default_value_t = 10)]
    pub(super) interval: u32,
    /// Local addresses to connect from, used in turn; separate them with commas
    #[arg(long, value_delimiter = ',')]
    pub(super) ifaddr: Vec<std::net::IpAddr>,
    /// Prefix of client identifiers
    #[arg(long)]
    pub(super) prefix: Option<String>,
    /// Number of the first client
    #[arg(short = 'n', long, default_value_t = 0)]
    pub(super) startnumber: u64,
    /// User name; %i and %rand_N are expanded
    #[arg(short = 'u', long)]
    pub(super) username: Option<String>,
    /// Password
    #[arg(short = 'P', long)]
    pub(super) password: Option<String>,
    /// CSV file with the clients' identities: any of the columns username, password and client_id
    #[arg(long, conflicts_with_all = ["username", "password"])]
    pub(super) credentials: Option<PathBuf>,
    /// Keep-alive in seconds
    #[arg(short = 'k', long, default_value_t = 300)]
    pub(super) keepalive: u16,
    /// Start new sessions
    #[arg(short = 'C', long, default_value = "true", action = clap::ArgAction::Set)]
    pub(super) clean: bool,
    /// Seconds that sessions outlive their connections (MQTT 5)
    #[arg(short = 'x', long = "session-expiry", default_value_t = 0)]
    pub(super) session_expiry: u32,
    /// TLS
    #[arg(short = 'S', long)]
    pub(super) ssl: bool,
    /// Do not verify certificates
    #[arg(long)]
    pub(super) insecure: bool,
    /// Trust these authorities instead of the machine's (PEM)
    #[arg(
        long,
        visible_alias = "cacert",
        requires = "ssl",
        conflicts_with = "insecure"
    )]
    pub(super) cacertfile: Option<PathBuf>,
    /// Client certificate (PEM)
    #[arg(long, visible_alias = "cert", requires_all = ["ssl", "keyfile"])]
    pub(super) certfile: Option<PathBuf>,
    /// Key of the client certificate (PEM)
    #[arg(long, visible_alias = "key", requires = "certfile")]
    pub(super) keyfile: Option<PathBuf>,
    /// Topic of the will
    #[arg(long)]
    pub(super) will_topic: Option<String>,
    /// Payload of the will
    #[arg(long, default_value = "", requires = "will_topic")]
    pub(super) will_payload: String,
    /// Quality of service of the will
    #[arg(long, default_value_t = 0, requires = "will_topic", value_parser = clap::value_parser!(u8).range(0..=2))]
    pub(super) will_qos: u8,
    /// Retain the will
    #[arg(long, requires = "will_topic")]
    pub(super) will_retain: bool,
    /// Delay between the end of a connection and its will, in seconds (MQTT 5)
    #[arg(long, default_value_t = 0, requires = "will_topic")]
    pub(super) will_delay: u32,
    /// Duration of the load, after the connects
    #[arg(long)]
    pub(super) duration: Option<String>,
    /// Time to wait for responses and deliveries after the load
    #[arg(long, default_value = "10s")]
    pub(super) drain: String,
    /// Maximum delay of a message, so that several messages share one wake-up; 0 disables it
    /// [default: 100us]
    #[arg(long)]
    pub pacing_slack: Option<String>,
    /// Threads
    #[arg(long)]
    pub workers: Option<usize>,
    /// Criterion that must hold, for example 'p99 of "DELIVERY" < 50ms'
    #[arg(long)]
    pub(super) check: Vec<String>,
    /// Write the summary as JSON to this file
    #[arg(long)]
    pub json: Option<PathBuf>,
    /// Folder for records
    #[arg(long)]
    pub runs: Option<PathBuf>,
    /// Seed for all random numbers
    #[arg(long)]
    pub seed: Option<u64>,
    /// Print this help
    #[arg(long, action = clap::ArgAction::Help)]
    pub(super) help: Option<bool>,
}

/// `pub`.
#[derive(Debug, Args)]
pub struct Pub {
    /// Options of all three commands.
    #[command(flatten)]
    pub common: Common,
    /// Milliseconds between two messages of a client; 0 means as fast as possible
    #[arg(short = 'I', long = "interval_of_msg", default_value_t = 1000)]
    pub(super) every_ms: u32,
    /// Topic; %i, %c, %u and %rand_N are expanded
    #[arg(short = 't', long)]
    pub(super) topic: String,
    /// Size of a payload in bytes; from 28 on, it starts with a header that receivers use to count
    /// messages
    #[arg(short = 's', long, default_value_t = 256)]
    pub(super) size: u32,
    /// Payload, instead of --size; %i, %c, %u and %rand_N are expanded; template://FILE reads it
    /// from a file
    #[arg(short = 'm', long, conflicts_with = "size")]
    pub(super) message: Option<String>,
    /// Quality of service
    #[arg(short = 'q', long, default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=2))]
    pub(super) qos: u8,
    /// Retain messages
    #[arg(short = 'r', long)]
    pub(super) retain: bool,
    /// Number of messages of all clients together, instead of --duration
    #[arg(short = 'L', long, default_value_t = 0)]
    pub(super) limit: u64,
    /// Maximum number of unacknowledged messages of a client; 0 means as many as there are
    /// identifiers
    #[arg(short = 'F', long, default_value_t = 1)]
    pub(super) inflight: u16,
    /// User property as NAME=VALUE; repeatable (MQTT 5)
    #[arg(long)]
    pub(super) user_property: Vec<String>,
    /// Content type of the payload (MQTT 5)
    #[arg(long)]
    pub(super) content_type: Option<String>,
    /// Expiry of a message, in seconds (MQTT 5)
    #[arg(long)]
    pub(super) message_expiry: Option<u32>,
    /// Instead of -I: the rate of all clients together, such as 500/s:10s, or a ramp, such as
    /// 100/s..500/s:10s; may be repeated
    #[arg(long, conflicts_with_all = ["every_ms", "limit", "duration"])]
    pub(super) phase: Vec<String>,
    /// Number of additional clients that subscribe, so that every delivery is counted and timed
    #[arg(long, default_value_t = 0)]
    pub(super) subscribers: u32,
    /// Topic filter of --subscribers [default: the topic, with + for placeholders]
    #[arg(long, requires = "subscribers")]
    pub(super) filter: Option<String>,
    /// QoS level of --subscribers [default: as --qos]
    #[arg(long, requires = "subscribers", value_parser = clap::value_parser!(u8).range(0..=2))]
    pub(super) subscribe_qos: Option<u8>,
}

/// `sub`.
#[derive(Debug, Args)]
pub struct Sub {
    /// Options of all three commands.
    #[command(flatten)]
    pub common: Common,
    /// Topic filter, or several; %i, %c, %u and %rand_N are expanded
    #[arg(short = 't', long, required = true)]
    pub(super) topic: Vec<String>,
    /// Quality of service
    #[arg(short = 'q', long, default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=2))]
    pub(super) qos: u8,
}
