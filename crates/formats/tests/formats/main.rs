mod campaign;
mod detect;
mod flows;
mod mocks;
mod mqtt;
mod native;
mod support;
mod url;
