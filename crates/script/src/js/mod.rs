//! JavaScript: functions of a test in an embedded engine (QuickJS).
//!
//! Each worker has an [`Instance`] of the script with its own top-level state. A virtual user has
//! one `context` object, which its functions share. Functions call back or return a promise.

mod call;
mod edge;
mod failure;
mod files;
mod instance;
mod modules;
mod native;
mod plan;
mod request;
mod response;
mod state;
mod surface;
mod text;
mod user;
mod values;

use std::{rc::Rc, sync::Arc};

use engine::script::{ScriptHost, Scripts};
use worker::Worker;

use instance::Instance;
pub use plan::{hooks, interest};
pub use state::Settings;

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
    /// Says on one line, with file, line and column, why the script cannot be loaded.
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
    fn load(&self, worker: &Rc<Worker>) -> Result<Rc<dyn ScriptHost>, String> {
        let instance = Instance::load(&self.settings, Some(Rc::clone(worker)))?;
        Ok(Rc::new(instance::Host(instance)))
    }
}
