//! Tests the lab as a command: its output, and its clean shutdown on signals or at the end of
//! standard input. The command is this test program, run with only the test `child`.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::{Child, ChildStderr, Command, Stdio};

use lab::LabOptions;
use rustix::process::{Pid, Signal, kill_process};

use crate::client::Client;

const NAME: &str = "LAB_TEST_CHILD_NAME";
const LOG: &str = "LAB_TEST_CHILD_LOG";
const UNTIL_STDIN_CLOSES: &str = "LAB_TEST_CHILD_UNTIL_STDIN_CLOSES";

/// Entry point of the child process, not a test. Does nothing unless `Running::start` has started
/// it.
#[test]
fn child() {
    let Some(log) = std::env::var_os(LOG) else {
        return;
    };
    let options = LabOptions {
        log: Some(log.into()),
        until_stdin_closes: std::env::var_os(UNTIL_STDIN_CLOSES).is_some(),
        ..LabOptions::default()
    };
    let name = std::env::var(NAME).unwrap();
    lab::run(lab::GENERAL, &name, options, std::io::stderr()).unwrap();
}

struct Running {
    child: Child,
    out: BufReader<ChildStderr>,
    address: SocketAddr,
    log: std::path::PathBuf,
}

impl Running {
    fn start(name: &str, test: &str, until_stdin_closes: bool) -> Self {
        let file = format!("lab-{name}-{test}-{}.jsonl", std::process::id());
        let log = std::env::temp_dir().join(file);
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--exact", "command::child", "--nocapture"])
            .env(NAME, name)
            .env(LOG, &log);
        if until_stdin_closes {
            command.env(UNTIL_STDIN_CLOSES, "1");
        }
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut out = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        let address = line.trim_end().strip_prefix("listening on http://");
        let address = address.and_then(|address| address.parse().ok());
        let address = address.unwrap_or_else(|| panic!("the first line is {line:?}"));
        line.clear();
        out.read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        Self {
            child,
            out,
            address,
            log,
        }
    }

    fn assert_ends(mut self, lines: usize) {
        assert!(self.child.wait().unwrap().success());
        let mut rest = String::new();
        self.out.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "", "nothing is printed after `ready`");
        assert_eq!(
            std::fs::read_to_string(&self.log).unwrap().lines().count(),
            lines
        );
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_file(&self.log);
    }
}

fn ends_by_signal(name: &str, test: &str, signal: Signal, lines: usize) {
    let lab = Running::start(name, test, false);
    let mut client = Client::connect(lab.address);
    assert_eq!(client.get("/api/sum").code, 200);
    kill_process(Pid::from_child(&lab.child), signal).unwrap();
    lab.assert_ends(lines);
    assert!(client.is_closed());
}

#[test]
fn lab_ends_by_sigterm() {
    ends_by_signal("sum", "sigterm", Signal::TERM, 1);
}

/// Checks that the log has a line for the start and one for the request. The log is flushed
/// although another thread writes it.
#[test]
fn own_loop_lab_ends_by_sigterm() {
    ends_by_signal("truth", "sigterm", Signal::TERM, 2);
}

#[test]
fn lab_ends_by_sigint() {
    ends_by_signal("sum", "sigint", Signal::INT, 1);
}

#[test]
fn lab_ends_when_standard_input_closes() {
    let mut lab = Running::start("sum", "stdin", true);
    assert_eq!(Client::connect(lab.address).get("/api/sum?a=1").code, 200);
    drop(lab.child.stdin.take());
    lab.assert_ends(1);
}

#[test]
fn own_loop_lab_ends_when_standard_input_closes() {
    let mut lab = Running::start("truth", "stdin", true);
    assert_eq!(Client::connect(lab.address).get("/").code, 200);
    drop(lab.child.stdin.take());
    lab.assert_ends(2);
}

#[test]
fn lab_ends_by_signal_with_open_standard_input() {
    let lab = Running::start("sum", "both", true);
    kill_process(Pid::from_child(&lab.child), Signal::TERM).unwrap();
    lab.assert_ends(0);
}
