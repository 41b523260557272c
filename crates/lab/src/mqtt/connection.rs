//! A client's connection to the broker. It uses a third-party codec for MQTT 3.1.1 and 5, and
//! injects faults.

mod session_io;

use std::{io, rc::Rc, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::mpsc,
    time::Instant,
};

use super::{
    BrokerState,
    broker::{BrokerMessage, Coming, Out},
    faults::Fate,
    framing,
};
use session_io::{ClientRequest, Greeting, Speech};

const PATIENCE: Duration = Duration::from_secs(10);
const WINDOW: usize = 1000;

struct Guest<'a> {
    state: &'a Rc<BrokerState>,
    name: String,
    connection: u64,
    speech: Speech,
    client_id: String,
    will: Option<BrokerMessage>,
    next_read: Instant,
}

pub(super) async fn serve(mut stream: TcpStream, state: &Rc<BrokerState>) -> io::Result<()> {
    let mut held = Vec::new();
    let first = tokio::time::timeout(PATIENCE, packet(&mut stream, &mut held)).await;
    let Some(first) = first.map_err(io::Error::from)?? else {
        return Ok(());
    };
    let Some((speech, greeting)) = Speech::greeted(&first) else {
        return Ok(());
    };
    let client_id = match admitted(state, &greeting) {
        Ok(client_id) => client_id,
        Err(refusal) => {
            state.broker.borrow_mut().counts.refused += 1;
            return stream.write_all(&speech.refusal(refusal)).await;
        }
    };
    let (to, mut out) = mpsc::unbounded_channel();
    let Greeting {
        client,
        clean,
        is_brief,
        window,
        will,
        keep_alive,
        ..
    } = greeting;
    let name = if client.is_empty() {
        format!("lab-{}", state.broker.borrow().counts.connected)
    } else {
        client
    };
    let coming = Coming {
        clean,
        is_brief,
        window: window.map_or(WINDOW, usize::from),
        to,
    };
    let (connection, was_there) = state.broker.borrow_mut().connect(&name, coming);
    let receive_maximum = state.faults.receive_maximum;
    stream
        .write_all(&speech.welcome(was_there, receive_maximum))
        .await?;
    state.broker.borrow_mut().resume(&name);
    let mut guest = Guest {
        state,
        name,
        connection,
        speech,
        client_id,
        will,
        next_read: Instant::now(),
    };
    let ended = guest
        .stay(&mut stream, &mut held, &mut out, keep_alive)
        .await;
    guest.gone();
    ended
}

fn admitted(
    state: &BrokerState,
    greeting: &Greeting,
) -> Result<String, session_io::ConnectRefusal> {
    if state.faults.refuses() {
        return Err(session_io::ConnectRefusal::Busy);
    }
    if let Some(gate) = &state.gate {
        let client_id = gate.admits(greeting.username.as_deref().unwrap_or_default());
        return client_id.ok_or(session_io::ConnectRefusal::Password);
    }
    let Some((name, password)) = &state.faults.user else {
        return Ok(String::new());
    };
    let right = greeting.username.as_deref() == Some(name.as_str())
        && greeting.password.as_deref().unwrap_or_default() == password.as_bytes();
    right
        .then(String::new)
        .ok_or(session_io::ConnectRefusal::Password)
}

async fn packet(stream: &mut TcpStream, held: &mut Vec<u8>) -> io::Result<Option<Vec<u8>>> {
    loop {
        if let Some((whole, _)) = framing::whole(held)?
            && held.len() >= whole
        {
            let rest = held.split_off(whole);
            return Ok(Some(std::mem::replace(held, rest)));
        }
        if stream.read_buf(held).await? == 0 {
            return Ok(None);
        }
    }
}

impl Guest<'_> {
    async fn stay(
        &mut self,
        stream: &mut TcpStream,
        held: &mut Vec<u8>,
        out: &mut mpsc::UnboundedReceiver<Out>,
        keep_alive: Option<Duration>,
    ) -> io::Result<()> {
        let mut bytes = Vec::new();
        loop {
            while let Ok(next) = out.try_recv() {
                if !self.put(next, &mut bytes) {
                    return Ok(());
                }
            }
            if !bytes.is_empty() {
                stream.write_all(&bytes).await?;
                bytes.clear();
            }
            let patience = keep_alive.unwrap_or(Duration::from_secs(1 << 30));
            tokio::select! {
                next = out.recv() => match next {
                    Some(next) => if !self.put(next, &mut bytes) { return Ok(()) },
                    None => return Ok(()),
                },
                heard = self.read(stream, held) => {
                    let Some(packet) = heard? else { return Ok(()) };
                    if !self.heard(&packet, &mut bytes) {
                        return stream.write_all(&bytes).await;
                    }
                }
                () = tokio::time::sleep(patience) => return Ok(()),
            }
        }
    }

    async fn read(
        &self,
        stream: &mut TcpStream,
        held: &mut Vec<u8>,
    ) -> io::Result<Option<Vec<u8>>> {
        if self.state.faults.throttle.is_some() {
            tokio::time::sleep_until(self.next_read).await;
        }
        packet(stream, held).await
    }

    fn put(&self, out: Out, bytes: &mut Vec<u8>) -> bool {
        match out {
            Out::Publish {
                message,
                qos,
                retain,
                id,
                again,
            } => bytes.extend(self.speech.publish(&message, qos, retain, id, again)),
            Out::Release(id) => bytes.extend(self.speech.release(id)),
            Out::Close => return false,
        }
        true
    }

    fn heard(&mut self, packet: &[u8], bytes: &mut Vec<u8>) -> bool {
        let Some(heard) = self.speech.heard(packet) else {
            return false;
        };
        if let (ClientRequest::Publish { message, .. }, Some(gate)) = (&heard, &self.state.gate)
            && message.payload.len() > gate.largest()
        {
            return false;
        }
        let broker = &self.state.broker;
        match heard {
            ClientRequest::Publish {
                message,
                id,
                is_again,
            } => self.published(message, id, is_again, bytes),
            ClientRequest::Acknowledged(id) | ClientRequest::Complete(id) => {
                broker.borrow_mut().acknowledged(&self.name, id, false);
            }
            ClientRequest::Received(id) => broker.borrow_mut().acknowledged(&self.name, id, true),
            ClientRequest::Released(id) => {
                broker.borrow_mut().released(&self.name, id);
                bytes.extend(self.speech.complete(id));
            }
            ClientRequest::Subscribe { id, filters } => {
                bytes.extend(self.speech.subscribed(id, &filters));
                for (filter, qos) in filters {
                    broker.borrow_mut().subscribe(&self.name, &filter, qos);
                }
            }
            ClientRequest::Unsubscribe { id, filters } => {
                let mut broker = broker.borrow_mut();
                let had = filters.iter().map(|f| broker.unsubscribe(&self.name, f));
                let had: Vec<bool> = had.collect();
                bytes.extend(self.speech.unsubscribed(id, &had));
            }
            ClientRequest::Ping => bytes.extend([0xd0, 0]),
            ClientRequest::Disconnect { keeps_will } => {
                if !keeps_will {
                    self.will = None;
                }
                return false;
            }
        }
        true
    }

    fn published(&mut self, message: BrokerMessage, id: u16, is_again: bool, bytes: &mut Vec<u8>) {
        if let Some(per_second) = self.state.faults.throttle {
            let gap = Duration::from_secs(1) / u32::try_from(per_second).unwrap_or(u32::MAX);
            self.next_read = self.next_read.max(Instant::now()) + gap;
        }
        let mut broker = self.state.broker.borrow_mut();
        broker.counts.received += 1;
        broker.counts.received_again += u64::from(is_again);
        let is_new = match message.qos {
            mqtt_proto::QoS::Level0 => true,
            mqtt_proto::QoS::Level1 => {
                bytes.extend(self.speech.acknowledgement(id));
                true
            }
            mqtt_proto::QoS::Level2 => {
                bytes.extend(self.speech.receipt(id));
                broker.arrives(&self.name, id)
            }
        };
        drop(broker);
        let gate = self.state.gate.as_ref();
        let may = gate.is_none_or(|gate| gate.allows(&self.client_id, &message.topic));
        if is_new && may {
            self.passed_on(message);
        }
    }

    fn passed_on(&self, message: BrokerMessage) {
        let mut broker = self.state.broker.borrow_mut();
        broker.retain(&message);
        let held = broker.held(&self.name);
        let fate = self.state.faults.fate();
        match fate {
            Fate::Delivered => self.state.deliver(&mut broker, &message),
            Fate::Dropped => broker.counts.dropped += 1,
            Fate::Twice => {
                broker.counts.duplicated += 1;
                self.state.deliver(&mut broker, &message);
                self.state.deliver(&mut broker, &message);
            }
            Fate::BehindTheNext => {
                broker.hold(&self.name, message);
                if let Some(held) = held {
                    self.state.deliver(&mut broker, &held);
                }
                return;
            }
        }
        if let Some(held) = held {
            broker.counts.reordered += u64::from(fate != Fate::Dropped);
            self.state.deliver(&mut broker, &held);
        }
    }

    fn gone(&mut self) {
        let mut broker = self.state.broker.borrow_mut();
        if let Some(held) = broker.held(&self.name) {
            self.state.deliver(&mut broker, &held);
        }
        if let Some(will) = self.will.take() {
            broker.counts.wills += 1;
            broker.retain(&will);
            self.state.deliver(&mut broker, &will);
        }
        broker.disconnect(&self.name, self.connection);
    }
}
