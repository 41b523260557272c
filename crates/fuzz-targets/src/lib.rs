//! What the fuzz targets check of an input. The fuzzer runs it on inputs that it invents, the tests
//! run it on all known ones.

#![forbid(unsafe_code)]

pub mod artillery_yaml;
pub mod chunk;
pub mod import;
pub mod init_sources;
pub mod mqtt_packets;
pub mod response_codec;
