//! Timers of connections of the module `k6/ws`.

use super::fixture::output_of;

/// Returns the output of a script that uses `k6/ws`. `body` is the body of its default function.
fn output_of_body(body: &str) -> Vec<String> {
    output_of(&format!(
        "import ws from 'k6/ws';\nimport {{ sleep }} from 'k6';\n\
         export default function () {{ let ticks = 0; {body} }}"
    ))
}

#[test]
fn timers_of_a_blocking_connection_end_with_it() {
    let output = output_of_body(
        "ws.connect('ws://a.test/', (socket) => {
            socket.setInterval(() => { ticks += 1; }, 10);
            socket.setTimeout(() => { console.log(ticks > 2); socket.close(1000); }, 100);
            socket.on('close', (code) => console.log('closed', code));
        });
        console.log('after');",
    );
    assert_eq!(output, ["true", "closed 1000", "after"]);
}

#[test]
fn slow_interval_does_not_keep_messages_from_arriving() {
    let output = output_of_body(
        "ws.connect('ws://a.test/', (socket) => {
            socket.setInterval(() => {
                ticks += 1;
                if (ticks === 1) socket.send('hi');
                if (ticks > 9) throw new Error('no message');
                sleep(0.02);
            }, 10);
            socket.on('message', (text) => { console.log(text, ticks); socket.close(); });
        });",
    );
    assert_eq!(output, ["hi 1"]);
}

#[test]
fn interval_keeps_its_times_and_skips_missed_ticks() {
    // Ticks at 10, 35 instead of 20 and 30, 40, 50 and 60 ms.
    let output = output_of_body(
        "ws.connect('ws://a.test/', (socket) => {
            socket.setInterval(() => { ticks += 1; if (ticks === 1) sleep(0.025); }, 10);
            socket.setTimeout(() => { console.log(ticks); socket.close(); }, 62);
        });",
    );
    assert_eq!(output, ["5"]);
}

#[test]
fn shortest_interval_is_a_millisecond() {
    let output = output_of_body(
        "ws.connect('ws://a.test/', (socket) => {
            socket.setInterval(() => { ticks += 1; }, 0.0001);
            socket.setTimeout(() => { console.log(ticks); socket.close(); }, 10.5);
        });",
    );
    assert_eq!(output, ["10"]);
}
