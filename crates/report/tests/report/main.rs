#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod campaign;
mod conclude;
mod custom_metrics;
mod damage;
mod delivered;
mod export;
mod groups;
mod lost;
mod page;
mod parts;
mod plan;
mod record;
mod screen;
mod secrets;
mod series;
mod server;
mod soak;
mod stage_sections;
mod story;
mod support;
mod tell;
mod trust;
mod worlds;
