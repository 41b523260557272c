//! How nodes come to be, and a stream of bytes to and from each: what a backend does. The one here starts processes of this machine.

use std::{
    io::{Read, Write},
    os::unix::process::CommandExt,
    process::{Child, Command, Stdio},
};

/// A node that can be spoken to.
pub struct Link {
    /// Where it is, as far as the backend knows.
    pub name: String,
    /// What is said to it.
    pub out: Box<dyn Write + Send>,
    /// What it says.
    pub input: Box<dyn Read + Send>,
}

/// Who has nodes.
pub trait Backend: Send {
    /// Starts so many nodes, all of them or none; without a number, as many as there are places for, or as usual.
    ///
    /// # Errors
    /// One line of what keeps them from being there.
    fn place(&mut self, nodes: Option<u64>) -> Result<Vec<Link>, String>;

    /// What is known of why a node is gone, in words to stand behind "node 1".
    fn why_gone(&mut self, node: u64) -> Option<String>;

    /// Whether nodes are on this machine: then nobody else has to look after it.
    fn is_here(&self) -> bool;
}

/// So many processes, if nobody says otherwise.
const NODES: u64 = 2;
/// The command that makes a process a node.
pub const COMMAND: &str = "node";

/// Processes of this machine.
#[derive(Default)]
pub struct Local {
    children: Vec<Child>,
    environment: Vec<(String, String)>,
}

impl Backend for Local {
    fn place(&mut self, nodes: Option<u64>) -> Result<Vec<Link>, String> {
        let program = std::env::current_exe()
            .map_err(|error| format!("cannot find the program's own file: {error}"))?;
        (0..nodes.unwrap_or(NODES))
            .map(|number| self.start(&program, number))
            .collect()
    }

    fn why_gone(&mut self, node: u64) -> Option<String> {
        let child = self.children.get_mut(usize::try_from(node).ok()?)?;
        let status = child.try_wait().ok()??;
        Some(format!("its process ended ({status})"))
    }

    fn is_here(&self) -> bool {
        true
    }
}

impl Local {
    /// With variables beside those that this process has.
    #[must_use]
    pub fn with(environment: Vec<(String, String)>) -> Local {
        Local {
            children: Vec::new(),
            environment,
        }
    }

    fn start(&mut self, program: &std::path::Path, number: u64) -> Result<Link, String> {
        let mut command = Command::new(program);
        command
            .arg(COMMAND)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        // A signal from the terminal reaches it through its conductor.
        command.process_group(0);
        let mut child = command
            .spawn()
            .map_err(|error| format!("cannot start node {number}: {error}"))?;
        let streams = child.stdin.take().zip(child.stdout.take());
        let name = format!("process {}", child.id());
        self.children.push(child);
        let (out, input) = streams.ok_or("a process without streams")?;
        Ok(Link {
            name,
            out: Box::new(out),
            input: Box::new(input),
        })
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        // Their streams are closed by now, which ends them; a frozen one is not waited for. All share one limit.
        for _ in 0..60 {
            let is_up = |child: &mut Child| matches!(child.try_wait(), Ok(None));
            self.children.retain_mut(is_up);
            if self.children.is_empty() {
                return;
            }
            std::thread::park_timeout(std::time::Duration::from_millis(50));
        }
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
