//! Options of emqtt-bench that are accepted but have no effect. Each of them prints a note.

#[derive(Clone, Copy, PartialEq, Eq)]
enum OptionValue {
    Needed,
    Switch,
}

struct Harmless {
    names: &'static [&'static str],
    value: OptionValue,
    note: &'static str,
}

const DROPPED: [Harmless; 10] = [
    Harmless {
        names: &["--qoe", "-Q"],
        value: OptionValue::Switch,
        note: "every connect, subscribe and publish is always timed",
    },
    Harmless {
        names: &["--qoelog"],
        value: OptionValue::Needed,
        note: "no such file is written: the times are in the record",
    },
    Harmless {
        names: &["--lowmem", "-l"],
        value: OptionValue::Switch,
        note: "idle connections never hold buffers",
    },
    Harmless {
        names: &["--shortids"],
        value: OptionValue::Switch,
        note: "use --prefix TEXT to set the start of client identifiers",
    },
    Harmless {
        names: &["--num-retry-connect", "--reconnect"],
        value: OptionValue::Needed,
        note: "a lost connection is always retried and counted",
    },
    Harmless {
        names: &["--retry-interval"],
        value: OptionValue::Needed,
        note: "messages are sent again only after a reconnect",
    },
    Harmless {
        names: &["--wait-before-publishing", "-w"],
        value: OptionValue::Switch,
        note: "publishing always starts after all clients have connected",
    },
    Harmless {
        names: &["--min-random-wait", "--max-random-wait"],
        value: OptionValue::Needed,
        note: "messages are always spread evenly",
    },
    Harmless {
        names: &["--payload-hdrs"],
        value: OptionValue::Needed,
        note: "payloads of 28 bytes or more carry Loadline's message header instead",
    },
    Harmless {
        names: &["--keep-connected", "--log_to"],
        value: OptionValue::Needed,
        note: "it has no effect here",
    },
];

/// Switches that emqtt-bench accepts with `true` or `false`.
const SWITCHES: [&[&str]; 2] = [&["-S", "--ssl"], &["-r", "--retain"]];

pub(crate) fn taken(arguments: &[String]) -> (Vec<String>, Vec<String>) {
    let (mut rest, mut notes) = (Vec::new(), Vec::new());
    let mut arguments = arguments.iter().peekable();
    while let Some(argument) = arguments.next() {
        let (name, own) = match argument.split_once('=') {
            Some((name, value)) if name.starts_with('-') => (name, Some(value)),
            _ => (argument.as_str(), None),
        };
        let is_truth = |text: &String| matches!(text.as_str(), "true" | "false");
        if let Some(of) = DROPPED.iter().find(|of| of.names.contains(&name)) {
            match of.value {
                _ if own.is_some() => {}
                OptionValue::Needed => drop(arguments.next()),
                OptionValue::Switch => drop(arguments.next_if(|text| is_truth(text))),
            }
            notes.push(format!("{name} of emqtt-bench has no effect: {}", of.note));
        } else if SWITCHES.iter().any(|names| names.contains(&name)) {
            let own = own.map(str::to_owned);
            let value = own.or_else(|| arguments.next_if(|text| is_truth(text)).cloned());
            if value.as_deref() != Some("false") {
                rest.push(name.to_owned());
            }
        } else if matches!(name, "-V" | "--version") {
            let own = own.map(str::to_owned);
            let value = own.or_else(|| arguments.next().cloned());
            rest.push(name.to_owned());
            if value.as_deref() == Some("3") {
                notes.push("-V 3: MQTT 3.1.1 is used, not 3.1".to_owned());
                rest.push("4".to_owned());
            } else {
                rest.extend(value);
            }
        } else {
            rest.push(argument.clone());
        }
    }
    (rest, notes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn without_harmless(line: &str) -> (String, usize) {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let (rest, notes) = taken(&words);
        (rest.join(" "), notes.len())
    }

    #[test]
    fn options_that_change_nothing_are_dropped_with_their_values() {
        let line =
            "pub -w -t a --payload-hdrs cnt64,ts --lowmem true --reconnect 3 -c 5 --log_to=null";
        assert_eq!(without_harmless(line), ("pub -t a -c 5".to_owned(), 5));
    }

    #[test]
    fn switches_take_emqtt_benchs_values() {
        assert_eq!(
            without_harmless("pub -S true -r false -q 1").0,
            "pub -S -q 1"
        );
        assert_eq!(
            without_harmless("pub -S -r true -t true").0,
            "pub -S -r -t true"
        );
        assert_eq!(without_harmless("pub --ssl=false -t a").0, "pub -t a");
    }

    #[test]
    fn mqtt_3_1_is_3_1_1() {
        assert_eq!(without_harmless("pub -V 3"), ("pub -V 4".to_owned(), 1));
        assert_eq!(without_harmless("pub -V 5"), ("pub -V 5".to_owned(), 0));
    }
}
