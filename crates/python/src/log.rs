//! Writes messages to standard error, because standard output belongs to Locust.

use std::{fmt::Display, io::Write, sync::Arc};

use session::{MessageSink, SharedMessageSink};

pub fn sink() -> SharedMessageSink {
    Arc::new(PythonLog)
}

struct PythonLog;

impl MessageSink for PythonLog {
    fn say(&self, line: &dyn Display) {
        let _ = writeln!(std::io::stderr().lock(), "loadline: {line}");
    }

    fn warning(&self, line: &dyn Display) {
        self.say(&format_args!("warning: {line}"));
    }

    fn error(&self, line: &dyn Display) {
        self.say(line);
    }

    fn out(&self, text: &str) {
        self.say(&text);
    }

    fn document(&self, text: &str) {
        self.say(&text);
    }

    fn last_words(&self, line: &dyn Display) {
        self.say(line);
    }
}
