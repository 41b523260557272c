//! Checks that are used as fuzz targets. Tests run them on all known inputs.

#![forbid(unsafe_code)]

pub mod artillery_yaml;
pub mod chunk;
pub mod h2_connection;
pub mod hpack;
pub mod import;
pub mod init_jmeter;
pub mod init_postman;
pub mod init_sources;
pub mod k6_options;
pub mod mqtt_packets;
pub mod response_codec;
pub mod script_source;
pub mod socketio_packets;
pub mod stream_events;
pub mod websocket_frames;
