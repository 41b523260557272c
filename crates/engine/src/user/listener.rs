//! Opening of a listener's connection with the steps of a virtual user.

use worker::client::websocket::WebSocket;

use super::{Env, IterationStart, User, UserIo};

/// Runs the steps that open the connection of a listener. Returns the connection, or `None` if a
/// step failed.
pub(crate) async fn open_listener(
    env: &Env,
    io: &UserIo,
    start: IterationStart,
) -> Option<WebSocket> {
    let listen = env.program.listen.as_ref()?;
    let mut user = User::new(env, io, start);
    let result = {
        let mut ops = std::pin::pin!(user.run_ops(&listen.ops, 0, listen.ops.len()));
        std::future::poll_fn(|cx| io.sockets.poll_steps(ops.as_mut(), cx)).await
    };
    let socket = result.ok().and_then(|()| io.sockets.take(""));
    io.sockets.close_all();
    socket
}
