//! Which addresses connections use: the options `hosts`, `dns` and `blacklistIPs`.

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    net::SocketAddr,
    rc::Rc,
    sync::Arc,
};

use k6::options::resolve::{Dns, DnsPolicy, DnsSelect};
use plan::rng::mix;
use worker::{Worker, net::connect::AddressRules};

use crate::shared::Shared;

/// The addresses that the connections of a worker use.
pub struct Addresses {
    shared: Arc<Shared>,
    /// Seed of the next random number that chooses among addresses.
    random: Cell<u64>,
    /// How often addresses of a host were chosen in turn. Workers begin with different ones.
    turns: RefCell<HashMap<String, usize>>,
    worker: usize,
    /// Why connections to a host were refused most recently.
    denials: RefCell<HashMap<String, String>>,
}

impl Addresses {
    /// Returns the rules of a worker. `None` if no option needs them.
    pub fn new(shared: &Arc<Shared>, worker: &Worker) -> Option<Rc<Addresses>> {
        let options = &shared.options;
        let has_rules =
            options.hosts.is_some() || options.dns.is_some() || options.blacklist_ips.is_some();
        has_rules.then(|| {
            Rc::new(Addresses {
                shared: Arc::clone(shared),
                random: Cell::new(mix(worker.seed ^ mix(worker.index as u64))),
                turns: RefCell::default(),
                worker: worker.index,
                denials: RefCell::default(),
            })
        })
    }

    /// Returns why the latest connection to a host was refused. `None` if none was.
    pub fn denial(&self, host: &str) -> Option<String> {
        self.denials.borrow().get(host).cloned()
    }

    fn select(&self, host: &str, dns: &Dns, addresses: &[SocketAddr]) -> Option<SocketAddr> {
        let index = match dns.select {
            DnsSelect::First => 0,
            DnsSelect::RoundRobin => {
                let mut turns = self.turns.borrow_mut();
                let turn = turns.entry(host.to_owned()).or_insert(self.worker);
                *turn = turn.wrapping_add(1);
                turn.wrapping_sub(1)
            }
            DnsSelect::Random => {
                self.random.set(self.random.get().wrapping_add(1));
                usize::try_from(mix(self.random.get()) >> 33).unwrap_or(0)
            }
        };
        addresses.get(index.checked_rem(addresses.len())?).copied()
    }
}

/// Returns the addresses of the kinds that a policy wants.
fn filtered(policy: DnsPolicy, addresses: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let (v4, v6): (Vec<_>, Vec<_>) = addresses.iter().partition(|address| address.is_ipv4());
    match policy {
        DnsPolicy::Any => addresses,
        DnsPolicy::OnlyIpv4 => v4,
        DnsPolicy::OnlyIpv6 => v6,
        DnsPolicy::PreferIpv4 if v4.is_empty() => v6,
        DnsPolicy::PreferIpv4 => v4,
        DnsPolicy::PreferIpv6 if v6.is_empty() => v4,
        DnsPolicy::PreferIpv6 => v6,
    }
}

impl AddressRules for Addresses {
    fn replacement(&self, host: &str, port: u16) -> Option<SocketAddr> {
        let found = self.shared.options.hosts.as_ref()?.find(host, port)?;
        Some((found.address, found.port.unwrap_or(port)).into())
    }

    fn ttl_ns(&self) -> Option<u64> {
        let dns = self.shared.options.dns.clone().unwrap_or_default();
        dns.ttl.map(k6::duration::DurationNs::non_negative)
    }

    fn choose(&self, host: &str, addresses: Vec<SocketAddr>) -> Vec<SocketAddr> {
        match &self.shared.options.dns {
            Some(dns) => {
                let fitting = filtered(dns.policy, addresses);
                let selected = self.select(host, dns, &fitting);
                selected.into_iter().collect()
            }
            None => addresses,
        }
    }

    fn is_denied(&self, host: &str, address: SocketAddr) -> bool {
        let Some(ranges) = &self.shared.options.blacklist_ips else {
            return false;
        };
        let ip = address.ip();
        let range = ranges.0.iter().find(|range| range.contains(ip));
        if let Some(range) = range {
            let text = format!("IP ({ip}) is in a blacklisted range ({range})");
            self.denials.borrow_mut().insert(host.to_owned(), text);
        }
        range.is_some()
    }
}
