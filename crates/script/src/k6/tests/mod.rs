//! Tests of scripts with a host whose responses the test defines.

mod fibers;
mod fixture;
mod html;
mod libraries;
mod modules;
mod requests;
mod websocket_timers;
mod websockets;
