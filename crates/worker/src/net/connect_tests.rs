//! Tests of [`super`].

use std::{cell::Cell, net::Ipv4Addr, task::Context, task::Waker};

use super::*;

#[test]
fn concurrent_lookups_share_one_result() {
    let http = Http::default();
    let tls = super::super::tls::config(&http).expect("a TLS configuration");
    let clock = Clock::manual(Rc::new(Cell::new(0)));
    let connector = Connector::new(clock, &http, tls, Vec::new());
    let limit = Limit::default();
    let mut cx = Context::from_waker(Waker::noop());
    let semaphore = Semaphore::new(1);
    let Poll::Ready(Ok(first)) = std::pin::pin!(semaphore.acquire(&limit)).poll(&mut cx) else {
        panic!("the semaphore is free")
    };
    connector
        .lookups
        .borrow_mut()
        .insert("name".into(), semaphore);
    let mut second = std::pin::pin!(connector.resolve("name", &limit));
    assert!(second.as_mut().poll(&mut cx).is_pending());
    let here = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let found: Rc<[SocketAddr]> = Rc::from([here]);
    let found = Resolved::Addresses(found, 0);
    connector.names.borrow_mut().insert("name".into(), found);
    drop(first);
    let Poll::Ready(Ok(addresses)) = second.as_mut().poll(&mut cx) else {
        panic!("the name is known")
    };
    assert_eq!(addresses[..], [here]);
}

struct Forgetful(u64);

impl AddressRules for Forgetful {
    fn replacement(&self, _: &str, _: u16) -> Option<SocketAddr> {
        None
    }

    fn ttl_ns(&self) -> Option<u64> {
        Some(self.0)
    }

    fn choose(&self, _: &str, addresses: Vec<SocketAddr>) -> Vec<SocketAddr> {
        addresses
    }

    fn is_denied(&self, _: &str, _: SocketAddr) -> bool {
        false
    }
}

#[test]
fn results_of_lookups_are_used_for_their_time() {
    let config = crate::net::tls::config(&Http {
        verify_tls: false,
        ..Http::default()
    });
    let clock = Clock::manual(Rc::new(Cell::new(0)));
    let http = Http::default();
    let mut connector = Connector::new(
        clock,
        &http,
        config.expect("a TLS configuration"),
        Vec::new(),
    );
    let here: Rc<[SocketAddr]> = Rc::from([SocketAddr::from((Ipv4Addr::LOCALHOST, 0))]);
    let names = |connector: &Connector| {
        let found = Resolved::Addresses(Rc::clone(&here), connector.clock.now());
        connector.names.borrow_mut().insert("name".into(), found);
        connector.known("name").is_some()
    };
    assert!(names(&connector));
    connector.set_rules(Rc::new(Forgetful(0)));
    assert!(!names(&connector));
    connector.set_rules(Rc::new(Forgetful(u64::MAX)));
    assert!(names(&connector));
}
