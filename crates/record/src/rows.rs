//! One row per interval for the whole run. All rows except the newest are packed.

use std::{cmp::Ordering, collections::BTreeMap};

use measure::{
    TimeSpan,
    interval::{Gauge, Http2Counts, RunPart, SocketIoCounts, WebSocketCounts},
    slot::{Counters, KeyCounts},
    stream::StreamCounts,
};

use crate::{IntervalRow, number_table::NumberTable};

const CHUNK: u64 = 64;

#[derive(Debug, Clone, Default)]
pub struct Rows {
    packed: BTreeMap<u64, NumberTable>,
    open_chunk: u64,
    open: Vec<IntervalRow>,
    pub due: u64,
    pub started: u64,
    pub skipped: u64,
    pub opened: u64,
    /// HTTP/2 counts. Rows contain only the levels.
    pub http2: Http2Counts,
    /// WebSocket counts. Rows contain only the number of open connections.
    pub websocket: WebSocketCounts,
    /// Socket.IO counts. Rows contain only the number of open sessions.
    pub socketio: SocketIoCounts,
    /// Index of the last interval so far.
    last_index: Option<u64>,
    pub exited: u64,
    pub end_ns: u64,
    pub last_end_ns: u64,
    /// Number of finished requests that carried a trace context.
    pub traced: u64,
}

impl Rows {
    pub fn add(&mut self, mut row: IntervalRow) {
        self.due += row.run.due;
        self.started += row.run.started;
        self.skipped += row.run.skipped;
        self.exited += row.run.exited;
        self.opened += row.run.opened;
        self.traced += row.run.traced;
        self.http2.add(&row.run.http2);
        row.run.http2 = row.run.http2.levels();
        self.add_connections(&row);
        row.run.websocket = row.run.websocket.level();
        row.run.socketio = row.run.socketio.level();
        self.end_ns = self.end_ns.max(row.span.to_ns);
        self.last_end_ns = self.last_end_ns.max(row.run.last_end_ns);
        self.open_chunk(row.index / CHUNK);
        match self
            .open
            .binary_search_by_key(&row.index, |known| known.index)
        {
            Ok(place) => self.open[place].add(&row),
            Err(place) => self.open.insert(place, row),
        }
    }

    /// Adds the counts of connections. The number of open connections at the end comes from the
    /// last interval of each process. The rows of the processes follow one another.
    fn add_connections(&mut self, row: &IntervalRow) {
        let before = (self.websocket.open, self.socketio.open);
        self.websocket.add(&row.run.websocket);
        self.socketio.add(&row.run.socketio);
        match self.last_index.cmp(&Some(row.index)) {
            Ordering::Less => self.last_index = Some(row.index),
            Ordering::Equal => {
                self.websocket.open += before.0;
                self.socketio.open += before.1;
            }
            Ordering::Greater => (self.websocket.open, self.socketio.open) = before,
        }
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.iter().count()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = IntervalRow> + '_ {
        let first = self.packed.range(..self.open_chunk);
        let last = self.packed.range(self.open_chunk..);
        let rows = |(_, table): (&u64, &NumberTable)| unpack(table);
        first
            .flat_map(rows)
            .chain(self.open.iter().cloned())
            .chain(last.flat_map(rows))
    }

    #[must_use]
    pub fn last(&self) -> Option<IntervalRow> {
        self.newest(1).pop()
    }

    #[must_use]
    pub fn newest(&self, n: usize) -> Vec<IntervalRow> {
        let mut rows: Vec<IntervalRow> = Vec::new();
        let mut chunks: Vec<u64> = self.packed.keys().copied().collect();
        chunks.push(self.open_chunk);
        chunks.sort_unstable();
        while let Some(chunk) = chunks.pop().filter(|_| rows.len() < n) {
            let mut before = if chunk == self.open_chunk {
                self.open.clone()
            } else {
                self.packed.get(&chunk).map(unpack).unwrap_or_default()
            };
            before.append(&mut rows);
            rows = before;
        }
        rows.split_off(rows.len().saturating_sub(n))
    }

    fn open_chunk(&mut self, chunk: u64) {
        if chunk == self.open_chunk {
            return;
        }
        if !self.open.is_empty() {
            let packed = NumberTable::pack(self.open.iter().map(numbers));
            self.packed.insert(self.open_chunk, packed);
        }
        self.open_chunk = chunk;
        self.open = self
            .packed
            .remove(&chunk)
            .map(|table| unpack(&table))
            .unwrap_or_default();
    }
}

fn unpack(table: &NumberTable) -> Vec<IntervalRow> {
    table.rows().map(|numbers| row(&numbers)).collect()
}

fn numbers(row: &IntervalRow) -> Vec<u64> {
    let IntervalRow {
        index,
        span,
        phase,
        all,
        failed_by_status,
        run,
        steal_ns,
        throttled_ns,
        host_ns,
        lateness_p99_ns,
        stall_p99_ns,
    } = row;
    let mut numbers = vec![
        *index,
        span.from_ns,
        span.to_ns.wrapping_sub(span.from_ns),
        u64::from(*phase),
    ];
    push_counters(&mut numbers, all);
    numbers.extend(failed_by_status);
    push_run(&mut numbers, run);
    push_list(&mut numbers, steal_ns);
    let known = |ns: &Option<u64>| ns.map_or(0, |ns| ns.saturating_add(1));
    numbers.extend([
        *throttled_ns,
        *host_ns,
        known(lateness_p99_ns),
        known(stall_p99_ns),
    ]);
    numbers
}

fn push_counters(numbers: &mut Vec<u64>, counters: &Counters) {
    let Counters {
        issued,
        ok,
        failed,
        unanswered,
        paced,
        redirects,
        codes: _,
        failures: _,
        faults: _,
        bytes_out,
        bytes_in,
        stream,
        good: _,
    } = counters;
    numbers.extend([issued, ok, failed, paced, redirects, bytes_out, bytes_in]);
    numbers.extend(unanswered);
    numbers.extend(stream.numbers());
}

fn push_run(numbers: &mut Vec<u64>, run: &RunPart) {
    let RunPart {
        due,
        started,
        skipped,
        exited,
        in_flight,
        users,
        opened,
        connections,
        http2,
        websocket,
        socketio,
        cpu_ns,
        spin_ns,
        waiting_ns,
        stall_ns,
        lines_lost,
        last_end_ns,
        traced,
    } = run;
    numbers.extend([due, started, skipped, exited, opened, connections]);
    numbers.extend([&http2.stream_limit, &websocket.open, &socketio.open]);
    numbers.extend([stall_ns, lines_lost, last_end_ns, traced]);
    for gauge in [in_flight, users, &http2.connections, &http2.streams] {
        numbers.extend([gauge.samples, gauge.sum, gauge.max, gauge.last]);
    }
    for list in [cpu_ns, spin_ns, waiting_ns] {
        push_list(numbers, list);
    }
}

fn push_list(numbers: &mut Vec<u64>, list: &[u64]) {
    numbers.push(list.len() as u64);
    numbers.extend(list);
}

fn row(numbers: &[u64]) -> IntervalRow {
    let mut rest = Reader(numbers.iter());
    let index = rest.next();
    let from = rest.next();
    IntervalRow {
        index,
        span: TimeSpan {
            from_ns: from,
            to_ns: from.wrapping_add(rest.next()),
        },
        phase: rest.next() as u32,
        all: rest.counters(),
        failed_by_status: rest.array(),
        run: rest.run(),
        steal_ns: rest.list(),
        throttled_ns: rest.next(),
        host_ns: rest.next(),
        lateness_p99_ns: rest.next().checked_sub(1),
        stall_p99_ns: rest.next().checked_sub(1),
    }
}

struct Reader<'a>(std::slice::Iter<'a, u64>);

impl Reader<'_> {
    fn next(&mut self) -> u64 {
        self.0.next().copied().unwrap_or(0)
    }

    fn array<const N: usize>(&mut self) -> [u64; N] {
        std::array::from_fn(|_| self.next())
    }

    fn list(&mut self) -> Vec<u64> {
        let length = self.next();
        (0..length).map(|_| self.next()).collect()
    }

    fn gauge(&mut self) -> Gauge {
        let [samples, sum, max, last] = self.array();
        Gauge {
            samples,
            sum,
            max,
            last,
        }
    }

    fn counters(&mut self) -> Counters {
        let [issued, ok, failed, paced, redirects, bytes_out, bytes_in] = self.array();
        Counters {
            issued,
            ok,
            failed,
            unanswered: self.array(),
            stream: StreamCounts::from_numbers(self.array()),
            good: KeyCounts::default(),
            paced,
            redirects,
            codes: KeyCounts::default(),
            failures: KeyCounts::default(),
            faults: KeyCounts::default(),
            bytes_out,
            bytes_in,
        }
    }

    fn run(&mut self) -> RunPart {
        let [due, started, skipped, exited, opened, connections] = self.array();
        let [stream_limit, open_websockets, open_sessions] = self.array();
        let [stall_ns, lines_lost, last_end_ns, traced] = self.array();
        let [in_flight, users, connections_over_http2, streams] =
            std::array::from_fn(|_| self.gauge());
        RunPart {
            due,
            started,
            skipped,
            exited,
            in_flight,
            users,
            opened,
            connections,
            http2: Http2Counts {
                connections: connections_over_http2,
                streams,
                stream_limit,
                ..Http2Counts::default()
            },
            websocket: WebSocketCounts {
                open: open_websockets,
                ..WebSocketCounts::default()
            },
            socketio: SocketIoCounts {
                open: open_sessions,
                ..SocketIoCounts::default()
            },
            cpu_ns: self.list(),
            spin_ns: self.list(),
            waiting_ns: self.list(),
            stall_ns,
            lines_lost,
            last_end_ns,
            traced,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn filled(index: u64, n: u64) -> IntervalRow {
        let workers = || vec![0, 0];
        let mut empty = IntervalRow {
            steal_ns: workers(),
            ..IntervalRow::default()
        };
        empty.run.cpu_ns = workers();
        empty.run.spin_ns = workers();
        empty.run.waiting_ns = workers();
        let mut filled = numbers(&empty);
        let zeros = filled
            .iter_mut()
            .enumerate()
            .filter(|(_, number)| **number == 0);
        zeros.for_each(|(place, number)| *number = place as u64 * n + 1);
        filled[0] = index;
        super::row(&filled)
    }

    #[test]
    fn row_is_read_as_it_was_packed() {
        let row = filled(7, 3);
        assert_eq!(super::row(&numbers(&row)), row);
        assert_eq!((row.run.cpu_ns.len(), row.steal_ns.len()), (2, 2));
        assert!(row.span.from_ns > 0 && row.stall_p99_ns > row.lateness_p99_ns);
    }

    proptest! {
        #[test]
        fn rows_of_all_processes_are_summed_in_order(
            indices in prop::collection::vec((0..400u64, 1..1_000u64), 1..200),
        ) {
            let (mut rows, mut expected) = (Rows::default(), BTreeMap::<u64, IntervalRow>::new());
            for (index, n) in indices {
                let row = filled(index, n);
                match expected.get_mut(&index) {
                    Some(known) => known.add(&row),
                    None => { expected.insert(index, row.clone()); }
                }
                rows.add(row);
            }
            let expected: Vec<IntervalRow> = expected.into_values().collect();
            let read: Vec<IntervalRow> = rows.iter().collect();
            prop_assert_eq!(&read, &expected);
            prop_assert_eq!(rows.last(), expected.last().cloned());
            let first_newest = expected.len().saturating_sub(90);
            prop_assert_eq!(rows.newest(90), expected[first_newest..].to_vec());
            prop_assert_eq!(rows.due, expected.iter().map(|row| row.run.due).sum::<u64>());
        }
    }
}
