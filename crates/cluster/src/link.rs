//! Backends that start nodes and connect to them. The local backend starts processes.

use std::{
    io::{Read, Write},
    os::unix::process::CommandExt,
    process::{Child, Command, Stdio},
};

pub struct Link {
    pub name: String,
    pub out: Box<dyn Write + Send>,
    pub input: Box<dyn Read + Send>,
}

pub trait Backend: Send {
    /// Starts all nodes, or none if an error occurs. `None` means all available nodes, or the
    /// default number.
    fn place(&mut self, nodes: Option<u64>) -> Result<Vec<Link>, String>;

    /// Returns why a node ended, if known. The text follows "node 1".
    fn why_gone(&mut self, node: u64) -> Option<String>;

    fn is_here(&self) -> bool;

    /// Ends a node that does not respond, if its process runs on this machine.
    fn end(&mut self, _node: u64) {}
}

const NODES: u64 = 2;
pub const COMMAND: &str = "node";

#[derive(Default)]
pub struct Local {
    children: Vec<Child>,
    environment: Vec<(String, String)>,
}

impl Backend for Local {
    fn place(&mut self, nodes: Option<u64>) -> Result<Vec<Link>, String> {
        let program = std::env::current_exe()
            .map_err(|error| format!("cannot find the path of this program: {error}"))?;
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

    fn end(&mut self, node: u64) {
        let child = usize::try_from(node)
            .ok()
            .and_then(|place| self.children.get_mut(place));
        if let Some(child) = child {
            // A failure means that the process has ended.
            let _ = child.kill();
        }
    }
}

impl Local {
    /// Creates a backend that starts nodes with additional environment variables.
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
        // Only the conductor receives signals from the terminal.
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
        // Nodes end when their streams close. All nodes share this time limit.
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
