//! Usage texts of wrk and wrk2, with options in the original order.

use super::Persona;

const WRK: &[(&str, &str)] = &[
    (
        "-c, --connections <N>",
        "Open connections, all threads together",
    ),
    ("-d, --duration    <T>", "Duration of the test"),
    (
        "-t, --threads     <N>",
        "Threads that share the connections",
    ),
    ("", ""),
    ("-s, --script      <S>", "Lua script to run"),
    (
        "-H, --header      <H>",
        "A header for each request, \"Name: value\"",
    ),
    ("    --latency         ", "Show percentiles of latency"),
    ("    --timeout     <T>", "Timeout for an answer"),
    ("-v, --version         ", "Show the version"),
];

const WRK2: &[(&str, &str)] = &[
    (
        "-c, --connections <N>",
        "Open connections, all threads together",
    ),
    ("-d, --duration    <T>", "Duration of the test"),
    (
        "-t, --threads     <N>",
        "Threads that share the connections",
    ),
    ("", ""),
    ("-s, --script      <S>", "Lua script to run"),
    (
        "-H, --header      <H>",
        "A header for each request, \"Name: value\"",
    ),
    ("-L  --latency         ", "Show percentiles of latency"),
    (
        "-U  --u_latency       ",
        "Show percentiles of uncorrected latency too",
    ),
    ("    --timeout     <T>", "Timeout for an answer"),
    (
        "-B, --batch_latency   ",
        "For pipelined requests, time whole",
    ),
    ("", "batches instead of each answer"),
    ("-v, --version         ", "Show the version"),
    (
        "-R, --rate        <T>",
        "Requests per second, all connections",
    ),
    ("", "together; required"),
];

pub(super) fn text(persona: Persona) -> String {
    let options = match persona {
        Persona::Wrk => WRK,
        Persona::Wrk2 => WRK2,
    };
    let mut text = "Usage: wrk <options> <url>\n  Options:\n".to_owned();
    for (option, help) in options {
        let line = format!("    {option:<22} {help}");
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text.push_str("\n  Loadline's own:\n");
    if persona == Persona::Wrk {
        text.push_str("    -R, --rate        <N>  Requests per second, as in wrk2\n");
    }
    text.push_str("    -D, --dist        <S>  With a rate: fixed (even) or exp (random times)\n");
    text.push_str("        --json        <F>  Write exact figures to a file\n");
    text.push_str("\n  Numbers may have a suffix: k, M, G (2k is 2000)\n  Times may have a unit: s, m, h (seconds by default)\n");
    text
}

pub(super) fn version(persona: Persona) -> String {
    let of = match persona {
        Persona::Wrk => "4.1.0",
        Persona::Wrk2 => "4.0.0",
    };
    format!(
        "wrk {of} [epoll] as implemented by Loadline {}\n",
        env!("CARGO_PKG_VERSION")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(text: &str) -> Vec<&str> {
        text.split(|c: char| c.is_whitespace() || c == ',')
            .filter(|word| word.starts_with('-') && word.len() > 1)
            .collect()
    }

    #[test]
    fn options_keep_the_original_order() {
        let wrk = "-c --connections -d --duration -t --threads -s --script -H --header --latency --timeout -v --version \
                   -R --rate -D --dist --json";
        assert_eq!(options(&text(Persona::Wrk)).join(" "), wrk);
        let wrk2 = "-c --connections -d --duration -t --threads -s --script -H --header -L --latency -U --u_latency --timeout \
                    -B --batch_latency -v --version -R --rate -D --dist --json";
        assert_eq!(options(&text(Persona::Wrk2)).join(" "), wrk2);
    }
}
