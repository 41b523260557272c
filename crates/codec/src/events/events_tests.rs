use proptest::prelude::*;

use super::*;

/// Reads a stream in parts, and returns descriptions of its events.
fn describe(format: &Format, parts: &[&[u8]]) -> Vec<String> {
    let mut reader = EventReader::new(format.clone());
    let mut described = Vec::new();
    let mut describe = |event: &Event<'_>| {
        let mut line = format!("{:?}", event.kind);
        if let Some(Content { kind, text }) = &event.content {
            line.push_str(&format!(" {kind:?} "));
            text.append_to(&mut line);
        }
        if let Some(Usage { input, output }) = event.usage {
            line.push_str(&format!(" {input:?} {output:?}"));
        }
        described.push(line);
    };
    for part in parts {
        if let Err(limit) = reader.read(part, &mut describe) {
            described.push(format!("{limit:?}"));
            return described;
        }
    }
    let completion = reader.finish(&mut describe);
    described.push(format!("{completion:?}"));
    described
}

/// Checks that every way to split the stream gives these events.
fn expect(format: &Format, stream: &[u8], events: &[&str]) {
    assert_eq!(describe(format, &[stream]), events);
    for at in 0..=stream.len() {
        let (first, second) = stream.split_at(at);
        assert_eq!(describe(format, &[first, second]), events, "split at {at}");
    }
    let bytes: Vec<&[u8]> = stream.chunks(1).collect();
    assert_eq!(describe(format, &bytes), events);
}

fn sse() -> Format {
    Format::Sse(Selectors::default())
}

/// Reads a stream in parts, and returns the name, data and identifier of each event.
fn sse_events(parts: &[&[u8]]) -> Vec<[String; 3]> {
    let mut parser = SseParser::default();
    let mut events = Vec::new();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    for part in parts {
        let on_event = |event: SseEvent<'_>| {
            events.push([text(event.name), text(event.data), text(event.id)]);
        };
        parser.read(part, on_event).unwrap();
    }
    events
}

#[test]
fn sse_follows_the_grammar() {
    for (stream, expected) in [
        ("data: a\n\n", &[["", "a", ""]][..]),
        (
            "data:a\r\rdata: b\r\n\r\ndata:  c\n\r\n",
            &[["", "a", ""], ["", "b", ""], ["", " c", ""]],
        ),
        ("\u{feff}data: a\n\n", &[["", "a", ""]]),
        ("data: a\n\u{feff}data: b\n\n", &[["", "a", ""]]),
        (": ping\n\n:\n\ndata: a\n\n", &[["", "a", ""]]),
        ("data: a\ndata\ndata: b\n\n", &[["", "a\n\nb", ""]]),
        ("data\n\n", &[["", "", ""]]),
        ("event: x\n\ndata: a\n\n", &[["", "a", ""]]),
        (
            "event: x\nevent: y\ndata: a\n\ndata: b\n\n",
            &[["y", "a", ""], ["", "b", ""]],
        ),
        (
            "id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n",
            &[["", "a", "1"], ["", "b", "1"], ["", "c", ""]],
        ),
        (
            "id: 1\ndata: a\n\nid: 2\0\ndata: b\n\n",
            &[["", "a", "1"], ["", "b", "1"]],
        ),
        ("Data: x\n data: y\ndatax: z\n\n", &[]),
        ("data: a\n\ndata: incomplete\n", &[["", "a", ""]]),
        ("data: ä€😀\n\n", &[["", "ä€😀", ""]]),
    ] {
        let bytes = stream.as_bytes();
        assert_eq!(sse_events(&[bytes]), expected, "{stream:?}");
        for at in 0..=bytes.len() {
            let parts = [&bytes[..at], &bytes[at..]];
            assert_eq!(sse_events(&parts), expected, "{stream:?} at {at}");
        }
        assert_eq!(
            sse_events(&bytes.chunks(1).collect::<Vec<_>>()),
            expected,
            "{stream:?}"
        );
    }
}

#[test]
fn retry_must_be_a_number() {
    let mut parser = SseParser::default();
    let mut retry = |bytes: &[u8]| {
        parser.read(bytes, |_| {}).unwrap();
        parser.retry_ms()
    };
    assert_eq!(retry(b"retry: 1s\n"), None);
    assert_eq!(retry(b"retry: 1500\n"), Some(1500));
    assert_eq!(retry(b"retry: -1\nretry:\n"), Some(1500));
}

#[test]
fn lines_and_events_are_bounded() {
    let line = vec![b'x'; MAX_LINE + 1];
    let data = [&b"data:"[..], &line[..MAX_LINE - 5], b"\n"].concat();
    for (format, stream, limit) in [
        (sse(), line.clone(), "Line"),
        (sse(), data.repeat(5), "Event"),
        (Format::Lines(Selectors::default()), line, "Line"),
    ] {
        assert_eq!(describe(&format, &[&stream]), [limit]);
        assert_eq!(
            describe(&format, &stream.chunks(1000).collect::<Vec<_>>()),
            [limit]
        );
    }
    assert_eq!(describe(&sse(), &[&data.repeat(4)]), ["Complete"]);
}

#[test]
fn openai_chat_is_read() {
    let stream = concat!(
        ": OPENROUTER PROCESSING\n\n",
        r#"data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""}}],"usage":null}"#,
        "\n\n",
        r#"data: {"choices":[{"delta":{"reasoning_content":"hm"}}]}"#,
        "\n\n",
        r#"data: {"choices":[{"delta":{"content":"Hi \u00e9\n"}},{"delta":{"content":"b"}}]}"#,
        "\n\n",
        r#"data: {"choices":[{"delta":{"tool_calls":[{"id":"1"}],"content":null}}]}"#,
        "\n\n",
        r#"data: {"choices":[{"delta":{},"finish_reason":"length"}]}"#,
        "\n\n",
        r#"data: {"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":7}}"#,
        "\n\n",
        "data: [DONE]\n\n",
    );
    expect(
        &Format::OpenAi,
        stream.as_bytes(),
        &[
            "Metadata",
            "Content Reasoning hm",
            "Content Answer Hi é\n",
            r#"Content ToolCall [{"id":"1"}]"#,
            "Metadata",
            "Metadata Some(5) Some(7)",
            "End",
            "Complete",
        ],
    );
}

#[test]
fn openai_completions_and_failures_are_read() {
    let text = r#"data: {"choices":[{"text":"a","index":0}],"error":null}"#;
    let ends = |rest: &str, events: &[&str]| {
        let stream = format!("{text}\n\n{rest}\n\n");
        expect(
            &Format::OpenAi,
            stream.as_bytes(),
            &[&["Content Answer a"], events].concat(),
        );
    };
    ends("", &["NoEndMark"]);
    ends("data: [DONE]", &["End", "Complete"]);
    ends(
        r#"data: {"error":{"message":"overloaded"}}"#,
        &["Error", "Error"],
    );
    ends(
        "data: oops\n\ndata: [DONE]",
        &["Malformed", "End", "Malformed"],
    );
    ends(r#"data: {"choices":[}"#, &["Malformed", "Malformed"]);
}

#[test]
fn anthropic_is_read() {
    let event =
        |kind: &str, rest: &str| format!("event: {kind}\ndata: {{\"type\":\"{kind}\"{rest}}}\n\n");
    let delta = |delta: &str| {
        event(
            "content_block_delta",
            &format!(r#","index":0,"delta":{delta}"#),
        )
    };
    let stream = [
        event(
            "message_start",
            r#","message":{"usage":{"input_tokens":9,"output_tokens":1}}"#,
        ),
        event(
            "content_block_start",
            r#","content_block":{"type":"text","text":""}"#,
        ),
        event("ping", ""),
        delta(r#"{"type":"thinking_delta","thinking":"hm"}"#),
        delta(r#"{"type":"signature_delta","signature":"x"}"#),
        delta(r#"{"type":"text_delta","text":"Hi"}"#),
        delta(r#"{"type":"input_json_delta","partial_json":"{\"a\""}"#),
        event(
            "message_delta",
            r#","delta":{"stop_reason":"end_turn","text":"no"},"usage":{"output_tokens":15}"#,
        ),
        event("message_stop", ""),
    ];
    expect(
        &Format::Anthropic,
        stream.concat().as_bytes(),
        &[
            "Metadata Some(9) Some(1)",
            "Metadata",
            "Ping",
            "Content Reasoning hm",
            "Metadata",
            "Content Answer Hi",
            "Content ToolCall {\"a\"",
            "Metadata None Some(15)",
            "End",
            "Complete",
        ],
    );
    let failed = event("error", r#","error":{"type":"overloaded_error"}"#);
    expect(&Format::Anthropic, failed.as_bytes(), &["Error", "Error"]);
    assert_eq!(
        describe(&Format::Anthropic, &[stream[..8].concat().as_bytes()])
            .pop()
            .unwrap(),
        "NoEndMark"
    );
}

#[test]
fn ollama_is_read() {
    let stream = concat!(
        r#"{"model":"m","response":"Hi","done":false}"#,
        "\n",
        r#"{"message":{"role":"assistant","content":"","thinking":"hm"},"done":false}"#,
        "\r\n\n",
        r#"{"message":{"content":" you"},"done":false}"#,
        "\n",
        r#"{"response":"","done":true,"prompt_eval_count":4,"eval_count":2}"#,
    );
    let events = [
        "Content Answer Hi",
        "Content Reasoning hm",
        "Content Answer  you",
    ];
    let end = ["End Some(4) Some(2)", "Complete"];
    expect(
        &Format::Ollama,
        stream.as_bytes(),
        &[&events[..], &end].concat(),
    );
    expect(
        &Format::Ollama,
        b"{\"error\":\"no model\"}\n",
        &["Error", "Error"],
    );
    expect(
        &Format::Ollama,
        b"{\"response\":\"a\",\"done\":false}\n{\"resp",
        &["Content Answer a", "Malformed", "Malformed"],
    );
    expect(
        &Format::Ollama,
        b"{\"response\":\"a\",\"done\":true}",
        &["End Answer a", "Complete"],
    );
}

#[test]
fn general_formats_use_selectors() {
    let selectors = Selectors {
        content: Some(JsonPath::parse("$.out[1].text").unwrap()),
        end: Some(b"END".to_vec()),
        tokens: Some(JsonPath::parse("$.usage.out").unwrap()),
    };
    let lines = concat!(
        r#"{"out":[{"text":"no"},{"text":"a"}]}"#,
        "\n",
        r#"{"out":[{},{"text":{"n":1}}],"usage":{"out":3}}"#,
        "\n",
        r#"{"out":[{},{"text":[]}]}"#,
        "\n",
        r#"{"out":[{},{"text":null}]}"#,
        "\n",
        "END\n",
    );
    let events = [
        "Content Answer a",
        r#"Content Answer {"n":1} None Some(3)"#,
        "Metadata",
        "Metadata",
        "End",
        "Complete",
    ];
    expect(&Format::Lines(selectors.clone()), lines.as_bytes(), &events);
    let stream: String = lines
        .lines()
        .map(|line| format!("data: {line}\n\n"))
        .collect();
    expect(&Format::Sse(selectors.clone()), stream.as_bytes(), &events);
    expect(
        &Format::Lines(selectors),
        b"what\n",
        &["Malformed", "Malformed"],
    );
    expect(
        &sse(),
        b"data: any\n\ndata:\n\n",
        &["Content Answer any", "Metadata", "Complete"],
    );
}

#[test]
fn paths_are_parsed() {
    for text in ["$", "$.a", "$.a-b_c[0].d", "$[12]"] {
        assert!(JsonPath::parse(text).is_ok(), "{text}");
    }
    for text in [
        "", "a", "$.", "$..a", "$[", "$[x]", "$[-1]", "$.a b", "$a", "$[*]",
    ] {
        assert_eq!(JsonPath::parse(text), Err(PathError), "{text}");
    }
}

/// Returns whether the cursor accepts a text as JSON.
fn is_json(text: &str) -> bool {
    let mut json = json::Json::new(text.as_bytes());
    json.skip().and_then(|()| json.finish()).is_ok()
}

#[test]
fn cursor_accepts_exactly_json() {
    for text in [
        "0",
        "-0.5e+3",
        "10",
        "\"\"",
        "\"\\u00e9\\\"\"",
        " [ ] ",
        "{}",
        "[1,[2,{\"a\":null}]]",
        "true",
    ] {
        assert!(is_json(text), "{text}");
    }
    for text in [
        "",
        "01",
        "-",
        "1.",
        ".5",
        "1e",
        "\"",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\n\"",
        "[",
        "[1,]",
        "[1 2]",
        "{\"a\"}",
        "{a:1}",
        "{\"a\":1,}",
        "tru",
        "nul",
        "1 2",
        "}",
        "+1",
    ] {
        assert!(!is_json(text), "{text}");
    }
    assert!(is_json(&format!("{}{}", "[".repeat(128), "]".repeat(128))));
    assert!(!is_json(&format!("{}{}", "[".repeat(129), "]".repeat(129))));
}

#[test]
fn escapes_are_decoded() {
    let decoded = |text: &str| {
        let mut out = String::new();
        Text::Escaped(text.as_bytes()).append_to(&mut out);
        out
    };
    assert_eq!(
        decoded(r#"\ud83d\ude00 \"\\\/\b\f\n\r\t"#),
        "😀 \"\\/\u{8}\u{c}\n\r\t"
    );
    assert_eq!(
        decoded(r"\ud83d \ud83d\u0041 \ude00"),
        "\u{fffd} \u{fffd}A \u{fffd}"
    );
}

fn stream() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just("data: ".to_owned()),
        Just("\n".to_owned()),
        Just("\r".to_owned()),
        Just("\r\n".to_owned()),
        Just("\n\n".to_owned()),
        Just("\u{feff}".to_owned()),
        Just(":".to_owned()),
        Just("event: content_block_delta\n".to_owned()),
        Just(r#"{"choices":[{"delta":{"content":"é\n"}}]}"#.to_owned()),
        Just(r#"{"response":"x","done":true}"#.to_owned()),
        Just("[DONE]".to_owned()),
        "[a-z{}\"\\\\]{0,6}",
    ];
    proptest::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat().into_bytes())
}

proptest! {
    #[test]
    fn any_split_gives_the_same_events(
        stream in prop_oneof![stream(), proptest::collection::vec(any::<u8>(), 0..200)],
        lengths in proptest::collection::vec(1_usize..20, 1..10),
    ) {
        let formats = [
            sse(),
            Format::Lines(Selectors::default()),
            Format::OpenAi,
            Format::Anthropic,
            Format::Ollama,
        ];
        let (mut parts, mut rest) = (Vec::new(), &stream[..]);
        for length in lengths.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (part, after) = rest.split_at(rest.len().min(*length));
            parts.push(part);
            rest = after;
        }
        for format in formats {
            prop_assert_eq!(describe(&format, &parts), describe(&format, &[&stream]));
        }
    }

    #[test]
    fn strings_are_restored(text: String) {
        let json = serde_json::to_string(&text).unwrap();
        let mut decoded = String::new();
        JsonPath::parse("$").unwrap().text(json.as_bytes()).unwrap()
            .unwrap_or(Text::Plain(b"")).append_to(&mut decoded);
        prop_assert_eq!(decoded, text);
    }

    #[test]
    fn cursor_agrees_with_a_full_parser(text in r#"[\[\]{}",:0-9a-z.\\ -]{0,24}"#) {
        let parsed = serde_json::from_str::<serde::de::IgnoredAny>(&text);
        prop_assert_eq!(is_json(&text), parsed.is_ok());
    }
}
