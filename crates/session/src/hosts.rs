//! Decides which hosts a run may send requests to, and formats the first line of output, which
//! names them. The engine enforces the decision.

use std::{
    net::{IpAddr, ToSocketAddrs, UdpSocket},
    sync::mpsc,
    time::Duration,
};

use plan::{Plan, Problem, Route};
use worker::client::hosts::{self, Allow, canonical};

const FIXED: &str = "LOADLINE_ALLOW_HOSTS";
const LOOKUP: Duration = Duration::from_secs(2);

/// The rule for hosts in addition to those in the test.
#[derive(Debug, Clone)]
pub enum Hosts {
    /// Only these hosts are allowed, from flags and from the plan.
    Native(Vec<String>),
    /// For front ends: requests to hosts that appear during the run are allowed, as in the original
    /// tool, and reported. If the list is fixed, they are refused.
    AsOriginalTool,
}

impl Hosts {
    /// Returns the rule in the form that the engine uses.
    ///
    /// # Errors
    ///
    /// Fails with a line for each host that is invalid or not on the fixed list.
    pub fn allow(&self, plan: &Plan) -> Result<Allow, Vec<Problem>> {
        match self {
            Hosts::Native(flags) => native(flags, plan),
            Hosts::AsOriginalTool => checked(plan, Vec::new(), true),
        }
    }
}

fn native(flags: &[String], plan: &Plan) -> Result<Allow, Vec<Problem>> {
    let mut all = Vec::new();
    for (what, list) in [("--allow-host", flags), ("allow-hosts", &plan.allow_hosts)] {
        for text in list {
            let host = canonical(text).ok_or_else(|| {
                let line =
                    format!("{what} `{text}`: use only the host, without scheme, port or path");
                vec![Problem::anywhere(line)]
            })?;
            all.push(host);
        }
    }
    checked(plan, all, false)
}

fn checked(plan: &Plan, hosts: Vec<String>, others_too: bool) -> Result<Allow, Vec<Problem>> {
    let allow = Allow {
        hosts,
        only: fixed()?,
        others_too,
    };
    let problems = hosts::Hosts::problems(plan, &allow);
    if problems.is_empty() {
        Ok(allow)
    } else {
        Err(problems)
    }
}

/// Returns the fixed list of hosts. `None` if the variable is empty or unset.
fn fixed() -> Result<Option<Vec<String>>, Vec<Problem>> {
    let text = match std::env::var(FIXED) {
        Ok(text) => text,
        Err(std::env::VarError::NotPresent) => return Ok(None),
        Err(error) => return Err(vec![Problem::anywhere(format!("{FIXED}: {error}"))]),
    };
    let names = text.split([',', ' ']).filter(|name| !name.is_empty());
    let hosts = names.map(|name| {
        canonical(name).ok_or_else(|| {
            let line = format!(
                "{FIXED}: `{name}` is not a valid host: use host names, separated by commas"
            );
            vec![Problem::anywhere(line)]
        })
    });
    let hosts = hosts.collect::<Result<Vec<_>, _>>()?;
    Ok(Some(hosts).filter(|hosts| !hosts.is_empty()))
}

/// Formats the hosts of the test. For the first host, adds its address and whether it is this
/// machine.
#[must_use]
pub fn first_line(plan: &Plan) -> Option<String> {
    let named = hosts::Hosts::new(plan, &Allow::default());
    let (first, others) = named.known().split_first()?;
    let route = &plan.http.route;
    if let Some(path) = &route.unix {
        let all = named.known().join(", ");
        return Some(format!(
            "load is sent to the socket {path} (on this machine), for {all}"
        ));
    }
    let port = hosts::Hosts::target_port(plan);
    let mut line = match port.and_then(|port| route.addresses(first, port)) {
        Some(given) => format!("load goes to {}", given_place(first, given)),
        None => format!("load goes to {}", place(first)),
    };
    if !others.is_empty() {
        let others: Vec<String> = others.iter().map(|host| other(host, route)).collect();
        line.push_str(&format!(", and to {}", others.join(", ")));
    }
    Some(line)
}

fn given_place(host: &str, addresses: &[IpAddr]) -> String {
    let all: Vec<String> = addresses
        .iter()
        .map(|address| format!("{address}, {}", network_of(*address)))
        .collect();
    format!("{host} (as given: {})", all.join("; "))
}

fn other(host: &str, route: &Route) -> String {
    let mut given = route.resolve.iter().rev();
    let named = given.find(|one| one.host.as_deref().is_none_or(|name| name == host));
    match named {
        Some(one) => format!("{} at port {}", given_place(host, &one.addresses), one.port),
        None => host.to_owned(),
    }
}

fn place(host: &str) -> String {
    let address = host.split('%').next().unwrap_or(host);
    if let Ok(address) = address.parse::<IpAddr>() {
        return format!("{host} ({})", network_of(address));
    }
    match address_of(host) {
        Some(address) => format!("{host} ({address}, {})", network_of(address)),
        None => format!("{host} (address not found yet)"),
    }
}

fn network_of(address: IpAddr) -> &'static str {
    // The kernel binds a socket only to addresses of this machine.
    if address.is_loopback() || UdpSocket::bind((address, 0)).is_ok() {
        "this machine"
    } else {
        "another machine"
    }
}

/// Returns the first address of a name. `None` if the name is not resolved in time.
fn address_of(host: &str) -> Option<IpAddr> {
    let (sender, receiver) = mpsc::channel();
    let host = host.to_owned();
    std::thread::spawn(move || {
        let found = (host.as_str(), 0).to_socket_addrs().ok();
        let first = found.and_then(|mut addresses| addresses.next());
        let _ = sender.send(first.map(|address| address.ip()));
    });
    receiver.recv_timeout(LOOKUP).ok().flatten()
}
