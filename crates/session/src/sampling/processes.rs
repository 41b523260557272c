//! Samples processes and control groups from /proc: CPU, memory, threads, descriptors, context
//! switches.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use plan::server::{MetricLocation, MetricSource};
use record::server::{Descriptor, MetricReading};

use super::Sampler;

/// Number of kernel ticks per second, which Linux always reports as 100 in user space.
const TICKS_PER_SECOND: f64 = 100.0;
const PAGE: f64 = 4096.0;
/// Number of samples after which the processes on a port are searched for again.
const SEARCH_SAMPLES: u32 = 10;

#[derive(Debug, Default)]
struct Cores {
    before: Option<(f64, u64)>,
}

impl Cores {
    fn share(&mut self, seconds: f64) -> f64 {
        let now = worker::clock::monotonic_ns();
        let before = self.before.replace((seconds, now));
        let grown = before.map(|(before, at)| (seconds - before) * 1e9 / (now - at).max(1) as f64);
        grown.filter(|cores| *cores >= 0.0).unwrap_or(f64::NAN)
    }
}

/// Sums up the context switches of all threads, because the kernel drops the counts of threads that
/// have ended.
#[derive(Debug, Default)]
struct Switches {
    by_thread: BTreeMap<(u32, u32), f64>,
    total: f64,
}

impl Switches {
    /// Adds the current counts of these threads (process, thread). Returns the total.
    fn add(&mut self, threads: BTreeMap<(u32, u32), f64>) -> f64 {
        for (thread, count) in &threads {
            let before = self.by_thread.get(thread).copied().unwrap_or(0.0);
            // The thread ID was reused, so its count restarted at 0.
            self.total += if *count < before {
                *count
            } else {
                count - before
            };
        }
        self.by_thread = threads;
        self.total
    }
}

fn switches(pid: u32) -> BTreeMap<(u32, u32), f64> {
    let threads = fs::read_dir(format!("/proc/{pid}/task"));
    let threads = threads.into_iter().flatten().flatten();
    let count = |tid: u32| {
        let status = fs::read_to_string(format!("/proc/{pid}/task/{tid}/status")).ok()?;
        let counts = status
            .lines()
            .filter(|line| line.contains("ctxt_switches:"))
            .filter_map(|line| line.split(':').nth(1)?.trim().parse::<f64>().ok());
        Some(((pid, tid), counts.sum()))
    };
    threads
        .filter_map(|entry| count(entry.file_name().to_str()?.parse().ok()?))
        .collect()
}

/// A process with a descriptor of a socket that listens on the port.
struct Listener {
    pid: u32,
    descriptor: PathBuf,
    socket: String,
}

impl Listener {
    /// Returns whether the process still has the socket. The process may have ended, and another
    /// process may have its ID.
    fn is_there(&self) -> bool {
        fs::read_link(&self.descriptor).is_ok_and(|link| Path::new(&self.socket) == link)
    }
}

pub(super) struct Processes {
    source: MetricSource,
    cores: Cores,
    switches: Switches,
    /// Listeners that the last search found on the port, and how many samples have used them.
    listeners: Option<(Vec<Listener>, u32)>,
}

impl Processes {
    pub fn new(source: MetricSource) -> Processes {
        Processes {
            source,
            cores: Cores::default(),
            switches: Switches::default(),
            listeners: None,
        }
    }

    /// Returns the processes that listen on a port. A search reads the sockets of the machine and
    /// the descriptors of every process, which takes seconds on a busy machine, so several samples
    /// use its result.
    fn listeners(&mut self, port: u16) -> Result<Vec<u32>, String> {
        if let Some((listeners, samples)) = &mut self.listeners
            && *samples < SEARCH_SAMPLES
            && listeners.iter().all(Listener::is_there)
        {
            *samples += 1;
            return Ok(listeners.iter().map(|one| one.pid).collect());
        }
        let found = by_port(port)?;
        let pids = found.iter().map(|one| one.pid).collect();
        self.listeners = (!found.is_empty()).then_some((found, 1));
        Ok(pids)
    }

    fn pids(&mut self) -> Result<Vec<u32>, String> {
        let found = match self.source.place.clone() {
            MetricLocation::Pid(pid) => vec![pid],
            MetricLocation::Process(name) => by_name(&name),
            MetricLocation::Port(port) => self.listeners(port)?,
            _ => Vec::new(),
        };
        if found.is_empty() {
            return Err(match &self.source.place {
                MetricLocation::Port(port) => {
                    format!("no readable process listens on port {port}")
                }
                MetricLocation::Process(name) => format!("there is no process named {name}"),
                _ => "there is no such process".to_owned(),
            });
        }
        Ok(found)
    }
}

impl Sampler for Processes {
    fn source(&self) -> &str {
        &self.source.name
    }

    fn metrics(&self) -> Vec<Descriptor> {
        descriptors()
    }

    fn look(&mut self) -> Result<Vec<MetricReading>, String> {
        let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
        let mut is_there = false;
        let mut threads = BTreeMap::new();
        for pid in self.pids()? {
            let Some(figures) = figures(pid) else {
                continue;
            };
            is_there = true;
            threads.extend(switches(pid));
            for (name, value) in figures {
                *sums.entry(name).or_default() += value;
            }
        }
        if !is_there {
            return Err("there is no such process".to_owned());
        }
        sums.insert("context-switches", self.switches.add(threads));
        if let Some(cpu) = sums.get_mut("cpu") {
            *cpu = self.cores.share(*cpu);
        }
        let reading = |of: Descriptor| {
            let value = sums.get(of.metric.as_str()).copied().unwrap_or(f64::NAN);
            MetricReading { of, value }
        };
        Ok(descriptors().into_iter().map(reading).collect())
    }
}

fn descriptors() -> Vec<Descriptor> {
    vec![
        Descriptor::gauge("cpu", ""),
        Descriptor::gauge("memory", "B"),
        Descriptor::gauge("threads", ""),
        Descriptor::gauge("descriptors", ""),
        Descriptor::counter("context-switches", ""),
        Descriptor::gauge("processes", ""),
    ]
}

fn figures(pid: u32) -> Option<Vec<(&'static str, f64)>> {
    let read = |name: &str| fs::read_to_string(format!("/proc/{pid}/{name}")).ok();
    let stat = read("stat")?;
    let after = stat.rsplit_once(')')?.1;
    let fields: Vec<&str> = after.split_whitespace().collect();
    let number = |place: usize| fields.get(place)?.parse::<f64>().ok();
    let descriptors = fs::read_dir(format!("/proc/{pid}/fd"));
    let descriptors = descriptors.map_or(f64::NAN, |all| all.count() as f64);
    Some(vec![
        ("cpu", (number(11)? + number(12)?) / TICKS_PER_SECOND),
        ("memory", number(21)? * PAGE),
        ("threads", number(17)?),
        ("descriptors", descriptors),
        ("processes", 1.0),
    ])
}

fn by_name(name: &str) -> Vec<u32> {
    let own = std::process::id();
    let has = |pid: &u32| {
        let comm = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        if comm.trim_end() == name {
            return true;
        }
        // The kernel keeps only 15 bytes of a name, and for scripts only the interpreter's name.
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let mut words = line.split(|byte| *byte == 0).map(String::from_utf8_lossy);
        words
            .next()
            .is_some_and(|word| word.rsplit('/').next() == Some(name))
    };
    all_pids().filter(|pid| *pid != own).filter(has).collect()
}

fn all_pids() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Returns one listener for each process that listens on a port.
fn by_port(port: u16) -> Result<Vec<Listener>, String> {
    let mut sockets = Vec::new();
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
        let text = fs::read_to_string(table).unwrap_or_default();
        sockets.extend(text.lines().skip(1).filter_map(|line| listener(line, port)));
    }
    if sockets.is_empty() {
        return Err(format!("no process listens on port {port}"));
    }
    let names: Vec<String> = sockets
        .iter()
        .map(|inode| format!("socket:[{inode}]"))
        .collect();
    let of_process = |pid: u32| {
        let open = fs::read_dir(format!("/proc/{pid}/fd"));
        open.into_iter().flatten().flatten().find_map(|entry| {
            let link = fs::read_link(entry.path()).ok()?;
            let socket = names.iter().find(|name| Path::new(name) == link)?;
            Some(Listener {
                pid,
                descriptor: entry.path(),
                socket: socket.clone(),
            })
        })
    };
    Ok(all_pids().filter_map(of_process).collect())
}

fn listener(line: &str, port: u16) -> Option<u64> {
    const LISTENING: &str = "0A";
    let fields: Vec<&str> = line.split_whitespace().collect();
    let own = fields.get(1)?.rsplit_once(':')?.1;
    let is_it = u16::from_str_radix(own, 16).ok()? == port && *fields.get(3)? == LISTENING;
    is_it.then(|| fields.get(9)?.parse().ok()).flatten()
}

pub(super) struct Cgroup {
    source: MetricSource,
    folder: String,
    cores: Cores,
    throttled: Cores,
}

impl Cgroup {
    pub fn new(source: MetricSource, folder: String) -> Cgroup {
        Cgroup {
            source,
            folder,
            cores: Cores::default(),
            throttled: Cores::default(),
        }
    }
}

impl Sampler for Cgroup {
    fn source(&self) -> &str {
        &self.source.name
    }

    fn metrics(&self) -> Vec<Descriptor> {
        cgroup_descriptors()
    }

    fn look(&mut self) -> Result<Vec<MetricReading>, String> {
        let path = Path::new(&self.folder);
        let read = |name: &str| fs::read_to_string(path.join(name));
        let cpu = read("cpu.stat")
            .map_err(|reason| format!("{}: {reason}", path.join("cpu.stat").display()))?;
        let of_cpu = |name: &str| {
            let line = cpu
                .lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
            line.and_then(|text| text.trim().parse::<f64>().ok())
                .unwrap_or(f64::NAN)
        };
        let level = |name: &str| {
            let text = read(name).ok();
            text.and_then(|text| text.trim().parse::<f64>().ok())
                .unwrap_or(f64::NAN)
        };
        let values = [
            self.cores.share(of_cpu("usage_usec") / 1e6),
            self.throttled.share(of_cpu("throttled_usec") / 1e6),
            level("memory.current"),
            level("pids.current"),
        ];
        let readings = cgroup_descriptors().into_iter().zip(values);
        Ok(readings
            .map(|(of, value)| MetricReading { of, value })
            .collect())
    }
}

fn cgroup_descriptors() -> Vec<Descriptor> {
    vec![
        Descriptor::gauge("cpu", ""),
        Descriptor::gauge("throttled", ""),
        Descriptor::gauge("memory", "B"),
        Descriptor::gauge("threads", ""),
    ]
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    fn look(text: &str) -> Result<Vec<MetricReading>, String> {
        Processes::new(plan::server::parse(text).unwrap()).look()
    }

    #[test]
    fn this_process_is_found_by_its_number_and_by_its_port() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        for text in [
            format!("x=pid:{}", std::process::id()),
            format!("x=port:{port}"),
        ] {
            let readings = look(&text).unwrap();
            let value = |name: &str| {
                readings
                    .iter()
                    .find(|one| one.of.metric == name)
                    .unwrap()
                    .value
            };
            assert!(value("memory") > 1e6);
            assert!(value("threads") >= 1.0);
            assert!(value("descriptors") >= 3.0);
            assert_eq!(value("processes"), 1.0);
        }
        drop(listener);
        assert!(look("x=process:no-such-process-here").is_err());
    }

    #[test]
    fn closed_listener_is_searched_again() {
        let first = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = first.local_addr().unwrap().port();
        let source = plan::server::parse(&format!("x=port:{port}")).unwrap();
        let mut processes = Processes::new(source);
        processes.look().unwrap();
        let listeners = processes.listeners.as_ref().unwrap();
        assert!(listeners.0.iter().all(Listener::is_there));
        drop(first);
        let reason = processes.look().unwrap_err();
        assert_eq!(reason, format!("no process listens on port {port}"));
    }

    #[test]
    fn a_line_of_the_kernels_table_of_sockets() {
        let line = "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 12345 1 0 100 0 0 10 0";
        assert_eq!(super::listener(line, 8080), Some(12345));
        assert_eq!(super::listener(line, 8081), None);
        assert_eq!(super::listener(&line.replace(" 0A ", " 01 "), 8080), None);
    }

    #[test]
    fn context_switches_are_those_of_all_threads_and_never_fall() {
        let threads = |counts: &[(u32, f64)]| -> BTreeMap<(u32, u32), f64> {
            let counts = counts.iter();
            counts.map(|(tid, count)| ((1, *tid), *count)).collect()
        };
        let mut all = Switches::default();
        assert_eq!(all.add(threads(&[(1, 5.0), (2, 100.0)])) as u64, 105);
        assert_eq!(all.add(threads(&[(1, 7.0), (3, 40.0)])) as u64, 147);
        assert_eq!(all.add(threads(&[(1, 7.0), (3, 2.0)])) as u64, 149);
    }

    #[test]
    fn a_thread_that_waits_often_counts_for_its_process() {
        let pid = std::process::id();
        let before: f64 = switches(pid).values().sum();
        let (to_thread, from_here) = std::sync::mpsc::sync_channel::<()>(0);
        let (to_here, from_thread) = std::sync::mpsc::sync_channel::<()>(0);
        let thread = std::thread::spawn(move || {
            while from_here.recv().is_ok() {
                to_here.send(()).unwrap();
            }
            switches(pid).values().sum::<f64>()
        });
        for _ in 0..300 {
            to_thread.send(()).unwrap();
            from_thread.recv().unwrap();
        }
        drop(to_thread);
        assert!(thread.join().unwrap() - before >= 100.0);
    }
}
