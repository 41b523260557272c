//! A WebSocket connection, as the JavaScript of the modules uses it.

use std::{future::poll_fn, rc::Rc, task::Poll};

use rquickjs::{
    ArrayBuffer, Class, Ctx, Function, Object, Persistent, Result, Value as Js,
    prelude::{Func, This},
};

use super::{
    super::{
        background::Completion,
        encoding::bytes_of,
        host::{HostFuture, HostSocket, SocketEvent},
        state::State,
    },
    session::SocketSession,
};
use crate::js::{
    edge::{Native, native_class},
    values::{text_of, text_to_js},
};

/// Error text for sending on a connection that the client has closed.
const CLOSE_SENT: &str = "websocket: close sent";

/// A session, together with the virtual user's state.
pub struct SocketHandle {
    session: Rc<SocketSession>,
    state: Rc<State>,
}

type HandleInstance<'js> = Class<'js, Native<SocketHandle>>;

native_class!(SocketHandle, "SocketHandle", add_methods);

impl SocketHandle {
    /// Creates the object of a session.
    pub fn create<'js>(
        ctx: &Ctx<'js>,
        state: &Rc<State>,
        session: &Rc<SocketSession>,
    ) -> Result<HandleInstance<'js>> {
        let handle = SocketHandle {
            session: Rc::clone(session),
            state: Rc::clone(state),
        };
        Class::instance(ctx.clone(), Native(handle))
    }
}

fn parts(this: &HandleInstance<'_>) -> (Rc<SocketSession>, Rc<State>) {
    let this = this.borrow();
    (Rc::clone(&this.0.session), Rc::clone(&this.0.state))
}

/// Adds the methods to the prototype.
fn add_methods<'js>(prototype: &Object<'js>) -> Result<()> {
    prototype.set("next", Func::from(next))?;
    prototype.set("listen", Func::from(listen))?;
    prototype.set("send", Func::from(send))?;
    prototype.set("flush", Func::from(flush))?;
    let ping = |this: This<HandleInstance<'js>>| parts(&this.0).0.ping().err();
    prototype.set("ping", Func::from(ping))?;
    let close = |this: This<HandleInstance<'js>>, code: f64, reason: String| {
        // A code outside of the range of 16 bits is clamped, which gives an invalid code.
        parts(&this.0).0.close(code as u16, &reason);
    };
    prototype.set("close", Func::from(close))?;
    let end = |this: This<HandleInstance<'js>>| parts(&this.0).0.end();
    prototype.set("end", Func::from(end))?;
    let unwritten = |this: This<HandleInstance<'js>>| {
        let socket = parts(&this.0).0.socket();
        socket.map_or(0.0, |socket| socket.unwritten() as f64)
    };
    prototype.set("unwritten", Func::from(unwritten))
}

/// Sends a text or binary message. Returns the reason if it was not sent.
fn send<'js>(
    ctx: Ctx<'js>,
    this: This<HandleInstance<'js>>,
    data: Js<'js>,
) -> Result<Option<String>> {
    let (session, _) = parts(&this.0);
    let Some(socket) = session.socket() else {
        return Ok(Some(CLOSE_SENT.to_owned()));
    };
    let sent = match data.as_string() {
        Some(text) => socket.send_text(&text_of(text)),
        None => socket.send_binary(&bytes_of(&ctx, &data)?),
    };
    Ok(sent.err())
}

/// Waits until all bytes are sent.
fn flush<'js>(ctx: Ctx<'js>, this: This<HandleInstance<'js>>) -> Result<()> {
    let (session, state) = parts(&this.0);
    match session.socket().filter(|socket| socket.unwritten() > 0) {
        Some(socket) => state.wait(&ctx, socket.flush()),
        None => Ok(()),
    }
}

/// Waits for an event, or for some milliseconds. Returns `null` when the time is over, and after
/// the end. A wait of 0 ms lets other tasks run once.
fn next<'js>(
    ctx: Ctx<'js>,
    this: This<HandleInstance<'js>>,
    wait_ms: Option<f64>,
) -> Result<Js<'js>> {
    let (session, state) = parts(&this.0);
    let Some(socket) = session.socket() else {
        return Ok(Js::new_null(ctx));
    };
    let mut event = socket.next();
    let wait_ns = wait_ms.map(|ms| (ms.max(0.0) * 1e6) as u64);
    let mut sleep = wait_ns.map(|ns| match ns {
        0 => Box::pin(tokio::task::yield_now()) as HostFuture<()>,
        ns => session.host().sleep(ns),
    });
    let first = poll_fn(|cx| match event.as_mut().poll(cx) {
        Poll::Ready(event) => Poll::Ready(Some(event)),
        Poll::Pending => match &mut sleep {
            Some(sleep) => sleep.as_mut().poll(cx).map(|()| None),
            None => Poll::Pending,
        },
    });
    match state.wait(&ctx, first)? {
        Some(event) => received(&ctx, &session, event),
        None => Ok(Js::new_null(ctx)),
    }
}

/// Calls a function with each event. The iteration lasts until the connection has ended.
fn listen<'js>(ctx: Ctx<'js>, this: This<HandleInstance<'js>>, callback: Function<'js>) {
    let (session, state) = parts(&this.0);
    if let Some(socket) = session.socket() {
        listen_once(&state, &session, socket, Persistent::save(&ctx, callback));
    }
}

fn listen_once(
    state: &Rc<State>,
    session: &Rc<SocketSession>,
    socket: Rc<dyn HostSocket>,
    callback: Persistent<Function<'static>>,
) {
    let (own, session) = (Rc::clone(state), Rc::clone(session));
    state.background.start(async move {
        let event = socket.next().await;
        let completion: Completion = Box::new(move |ctx| {
            let event = received(ctx, &session, event)?;
            if let Some(socket) = session.socket() {
                listen_once(&own, &session, socket, callback.clone());
            }
            callback.restore(ctx)?.call((event,))
        });
        completion
    });
}

/// Reports an event and returns it as an object.
fn received<'js>(ctx: &Ctx<'js>, session: &SocketSession, event: SocketEvent) -> Result<Js<'js>> {
    session.received(&event);
    let object = Object::new(ctx.clone())?;
    let kind = match event {
        SocketEvent::Text(text) => {
            object.set("data", text_to_js(ctx, &text)?)?;
            "message"
        }
        SocketEvent::Binary(bytes) => {
            object.set("data", ArrayBuffer::new(ctx.clone(), bytes)?)?;
            "binaryMessage"
        }
        SocketEvent::Ping => "ping",
        SocketEvent::Pong(_) => "pong",
        SocketEvent::Closed {
            code,
            reason,
            error,
        } => {
            object.set("code", code)?;
            object.set("reason", reason)?;
            object.set("error", error)?;
            "close"
        }
    };
    object.set("type", kind)?;
    Ok(object.into_value())
}
