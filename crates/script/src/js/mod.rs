//! JavaScript functions of a test, which run in an embedded engine (QuickJS).
//!
//! Each worker has an [`Instance`] of the script with its own top-level state. A virtual user has
//! one `context` object, which its functions share. Functions call a callback or return a promise.

mod call;
mod dialect;
pub(crate) mod edge;
pub(crate) mod failure;
mod fault_names;
mod files;
pub(crate) mod hashes;
mod http;
pub(crate) mod imports;
mod instance;
pub(crate) mod modules;
pub(crate) mod native;
mod plan;
pub(crate) mod rejections;
mod request;
mod response;
pub(crate) mod signatures;
pub(crate) mod state;
mod surface;
pub(crate) mod text;
pub(crate) mod typescript;
mod user;
pub(crate) mod values;

use std::{rc::Rc, sync::Arc};

use engine::script::{ScriptHost, Scripts};
use worker::{Worker, client::HttpClientConfig};

pub use dialect::{BODY_ERROR, NODE};
pub use fault_names::fault_name;
use instance::Instance;
pub use plan::{hooks, interest, writable_folder};
use state::Home;
pub use state::Settings;
pub use typescript::strip_types;

/// A script that has been loaded once, to find its errors before the run.
#[derive(Debug)]
pub struct JavaScript {
    settings: Arc<Settings>,
    functions: Vec<String>,
}

impl JavaScript {
    /// Loads a script and finds its functions.
    ///
    /// # Errors
    ///
    /// Returns the reason on one line, with file, line and column, if the script cannot be loaded.
    pub fn load(settings: Settings) -> Result<JavaScript, String> {
        let settings = Arc::new(settings);
        let instance = Instance::load(&settings, None)?;
        Ok(JavaScript {
            functions: instance.function_names(),
            settings,
        })
    }

    /// Returns the names of the functions that the script exports, in alphabetical order.
    #[must_use]
    pub fn functions(&self) -> &[String] {
        &self.functions
    }
}

impl Scripts for JavaScript {
    fn load(
        &self,
        worker: &Rc<Worker>,
        settings: &HttpClientConfig,
    ) -> Result<Rc<dyn ScriptHost>, String> {
        let home = Home {
            worker: Rc::clone(worker),
            settings: settings.clone(),
        };
        let instance = Instance::load(&self.settings, Some(home))?;
        Ok(Rc::new(instance::Host(instance)))
    }
}
