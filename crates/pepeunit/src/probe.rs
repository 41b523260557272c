//! Sends one message before the load, over a blocking connection.

use std::{
    io::{Read, Write},
    net::{TcpStream, ToSocketAddrs},
    time::Duration,
};

use mqtt::{Connect, NextPacket, Packet, Publish, Qos, Reason, Template, Version, connect, packet};

const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) struct BrokerAddress<'a> {
    pub host: &'a str,
    pub port: u16,
    pub token: Option<&'a str>,
}

pub(crate) fn publish(
    broker: &BrokerAddress<'_>,
    topic: &str,
    payload: &[u8],
) -> Result<(), String> {
    let at = format!("broker {}:{}", broker.host, broker.port);
    let mut stream = connected(broker).map_err(|cause| format!("{at}: {cause}"))?;
    let client_id = format!("loadline-probe-{}", std::process::id());
    let mut out = Vec::new();
    let hello = Connect {
        client_id: &client_id,
        clean: true,
        keep_alive: 30,
        username: broker.token,
        password: broker.token.map(|_| &[][..]),
        will: None,
        properties: &[],
    };
    hello
        .put(&mut out, Version::V311)
        .map_err(|e| e.to_string())?;
    let broken = |error: std::io::Error| format!("{at}: {error}");
    stream.write_all(&out).map_err(broken)?;
    let mut held = Vec::new();
    match heard(&mut stream, &mut held)? {
        BrokerReply::In => {}
        BrokerReply::Refused(reason) => {
            return Err(format!("{at} refused a unit's connection: {reason}"));
        }
        _ => return Err(format!("{at} does not answer an MQTT 3.1.1 CONNECT")),
    }
    out.clear();
    let message = Publish {
        topic,
        qos: Qos::AtMostOnce,
        retain: false,
        properties: &[],
    };
    let template = Template::new(Version::V311, &message).map_err(|e| e.to_string())?;
    template.put(&mut out, 0, false, payload);
    connect::put_ping(&mut out);
    let hung_up = || {
        format!(
            "{at} closed the connection after a message of {} bytes: it may limit the size, or not allow publishing to {topic}",
            payload.len()
        )
    };
    stream.write_all(&out).map_err(|_| hung_up())?;
    match heard(&mut stream, &mut held) {
        Ok(BrokerReply::Alive) => {}
        _ => return Err(hung_up()),
    }
    out.clear();
    let _ = connect::put_disconnect(&mut out, Version::V311, Reason::SUCCESS, &[]);
    let _ = stream.write_all(&out);
    Ok(())
}

fn connected(broker: &BrokerAddress<'_>) -> Result<TcpStream, String> {
    let addresses = (broker.host, broker.port).to_socket_addrs();
    let mut cause = "the host name has no address".to_owned();
    for address in addresses.map_err(|_| "the host name cannot be resolved".to_owned())? {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(stream) => {
                stream
                    .set_read_timeout(Some(PATIENCE))
                    .map_err(|e| e.to_string())?;
                return Ok(stream);
            }
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
                cause = "connection refused".to_owned();
            }
            Err(error) => cause = error.to_string(),
        }
    }
    Err(cause)
}

enum BrokerReply {
    In,
    Refused(Reason),
    Alive,
    Other,
}

fn heard(stream: &mut TcpStream, held: &mut Vec<u8>) -> Result<BrokerReply, String> {
    let mut piece = [0; 1024];
    loop {
        match packet::next(Version::V311, held, 1 << 20).map_err(|e| e.to_string())? {
            NextPacket::Packet(packet, used) => {
                let heard = match packet {
                    Packet::Connack(of) if of.reason.is_refusal() => {
                        BrokerReply::Refused(of.reason)
                    }
                    Packet::Connack(_) => BrokerReply::In,
                    Packet::Pingresp => BrokerReply::Alive,
                    _ => BrokerReply::Other,
                };
                held.drain(..used);
                return Ok(heard);
            }
            NextPacket::Partial(_) => match stream.read(&mut piece).map_err(|e| e.to_string())? {
                0 => return Ok(BrokerReply::Other),
                n => held.extend_from_slice(&piece[..n]),
            },
        }
    }
}
