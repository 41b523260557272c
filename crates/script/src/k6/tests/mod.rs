//! Tests of scripts with a host whose answers are written in the test.

mod fibers;
mod fixture;
mod html;
mod libraries;
mod modules;
mod requests;
mod websocket_timers;
mod websockets;
