//! Reads arbitrary bytes as a streamed response of each format. The result must not depend on how
//! the bytes are split.

use codec::events::{EventReader, Format, JsonPath, Selectors};

fn read(format: &Format, bytes: &[u8], piece: usize) -> Vec<String> {
    let mut reader = EventReader::new(format.clone());
    let mut events = Vec::new();
    for part in bytes.chunks(piece.max(1)) {
        let on_event = |event: &codec::events::Event<'_>| {
            let mut text = format!("{:?} {:?} ", event.kind, event.usage);
            if let Some(content) = &event.content {
                content.text.append_to(&mut text);
            }
            events.push(text);
        };
        if let Err(limit) = reader.read(part, on_event) {
            events.push(format!("{limit:?}"));
            return events;
        }
    }
    let completion = reader.finish(|event| events.push(format!("{:?}", event.kind)));
    events.push(format!("{completion:?}"));
    events
}

pub fn check(piece: u8, bytes: &[u8]) {
    let selectors = Selectors {
        content: JsonPath::parse("$.a[1].b").ok(),
        end: Some(b"[DONE]".to_vec()),
        tokens: JsonPath::parse("$.n").ok(),
    };
    for format in [
        Format::Sse(Selectors::default()),
        Format::Sse(selectors.clone()),
        Format::Lines(selectors),
        Format::OpenAi,
        Format::Anthropic,
        Format::Ollama,
    ] {
        let whole = read(&format, bytes, bytes.len());
        assert_eq!(read(&format, bytes, usize::from(piece) + 1), whole);
    }
}
