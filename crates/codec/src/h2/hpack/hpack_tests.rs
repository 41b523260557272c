use proptest::prelude::*;

use super::*;
use crate::h2::fields::{Field, Fields};
use encoder::{CompiledField, Indexing};

const LIST: Limits = Limits { list: 256 << 10 };

fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

fn decode(decoder: &mut Decoder, block: &[u8]) -> Result<Vec<String>, HpackError> {
    let mut fields = Fields::default();
    decoder.decode(block, LIST, &mut fields)?;
    Ok(lines(&fields))
}

fn lines(fields: &Fields) -> Vec<String> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let line = |field: Field<'_>| format!("{}: {}", text(field.name), text(field.value));
    fields.iter().map(line).collect()
}

#[test]
fn single_fields_of_appendix_c_are_decoded() {
    for (block, line, size) in [
        (
            "400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572",
            "custom-key: custom-header",
            55,
        ),
        (
            "040c 2f73 616d 706c 652f 7061 7468",
            ":path: /sample/path",
            0,
        ),
        (
            "1008 7061 7373 776f 7264 0673 6563 7265 74",
            "password: secret",
            0,
        ),
        ("82", ":method: GET", 0),
    ] {
        let mut decoder = Decoder::default();
        assert_eq!(decode(&mut decoder, &unhex(block)).unwrap(), [line]);
        assert_eq!(decoder.table_size(), size);
    }
}

const REQUESTS: [&[&str]; 3] = [
    &[
        ":method: GET",
        ":scheme: http",
        ":path: /",
        ":authority: www.example.com",
    ],
    &[
        ":method: GET",
        ":scheme: http",
        ":path: /",
        ":authority: www.example.com",
        "cache-control: no-cache",
    ],
    &[
        ":method: GET",
        ":scheme: https",
        ":path: /index.html",
        ":authority: www.example.com",
        "custom-key: custom-value",
    ],
];

#[test]
fn requests_of_appendix_c_are_decoded() {
    let plain = [
        "8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
        "8286 84be 5808 6e6f 2d63 6163 6865",
        "8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65",
    ];
    let huffman = [
        "8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff",
        "8286 84be 5886 a8eb 1064 9cbf",
        "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf",
    ];
    for blocks in [plain, huffman] {
        let mut decoder = Decoder::default();
        for ((block, fields), size) in blocks.iter().zip(REQUESTS).zip([57, 110, 164]) {
            assert_eq!(decode(&mut decoder, &unhex(block)).unwrap(), fields);
            assert_eq!(decoder.table_size(), size);
        }
    }
}

/// A table size update to 256, which the examples require.
const SIZE_256: &str = "3fe1 01";

#[test]
fn responses_of_appendix_c_are_decoded_with_eviction() {
    let plain = [
        "4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a
         3133 3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
        "4803 3330 37c1 c0bf",
        "88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04
         677a 6970 7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49
         553b 206d 6178 2d61 6765 3d33 3630 303b 2076 6572 7369 6f6e 3d31",
    ];
    let huffman = [
        "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e
         919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3",
        "4883 640e ffc1 c0bf",
        "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7
         821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed
         4ee5 b106 3d50 07",
    ];
    let date = |second: u32| format!("date: Mon, 21 Oct 2013 20:13:{second} GMT");
    let location = "location: https://www.example.com".to_owned();
    let private = "cache-control: private".to_owned();
    let cookie = "set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1".to_owned();
    let gzip = "content-encoding: gzip".to_owned();
    let expected = [
        vec![
            ":status: 302".to_owned(),
            private.clone(),
            date(21),
            location.clone(),
        ],
        vec![
            ":status: 307".to_owned(),
            private.clone(),
            date(21),
            location.clone(),
        ],
        vec![
            ":status: 200".to_owned(),
            private,
            date(22),
            location,
            gzip,
            cookie,
        ],
    ];
    for blocks in [plain, huffman] {
        let mut decoder = Decoder::default();
        decode(&mut decoder, &unhex(SIZE_256)).unwrap();
        for ((block, fields), size) in blocks.iter().zip(&expected).zip([222, 222, 215]) {
            assert_eq!(&decode(&mut decoder, &unhex(block)).unwrap(), fields);
            assert_eq!(decoder.table_size(), size);
        }
    }
}

#[test]
fn invalid_blocks_are_refused() {
    let error = |block: &str| decode(&mut Decoder::default(), &unhex(block)).unwrap_err();
    assert_eq!(error("80"), HpackError::Index, "index 0");
    assert_eq!(error("be"), HpackError::Index, "an empty dynamic table");
    assert_eq!(
        error("7f 00 01 61"),
        HpackError::Index,
        "the name of a literal"
    );
    assert_eq!(error("40"), HpackError::Truncated);
    assert_eq!(error("40 05 61"), HpackError::Truncated);
    assert_eq!(error("ff ff ff ff ff 0f"), HpackError::Integer);
    assert_eq!(
        error("40 01 61 ff ff ff ff ff 0f"),
        HpackError::Integer,
        "a length"
    );
    assert_eq!(error("40 81 00 01 61"), HpackError::Huffman);
    assert_eq!(error("3f e2 1f"), HpackError::SizeUpdate, "4097");
    assert_eq!(error("82 20"), HpackError::SizeUpdate, "after a field");
    assert_eq!(
        decode(&mut Decoder::default(), &unhex("20 3f e1 1f 82"))
            .unwrap()
            .len(),
        1
    );
}

#[test]
fn bomb_of_indexed_fields_is_refused_while_decoding() {
    let mut block = vec![0x40, 0x01, b'a', 0x7f, 0x80 + 0x01, 0x1e];
    let value = 127 + 1 + (0x1e << 7);
    block.extend(std::iter::repeat_n(b'x', value));
    block.extend(std::iter::repeat_n(0xbe, 16 << 10));
    let mut fields = Fields::default();
    let result = Decoder::default().decode(&block, LIST, &mut fields);
    assert_eq!(result, Err(HpackError::ListTooLarge));
    assert!(fields.byte_len() <= LIST.list);
}

#[test]
fn large_literal_is_refused_before_it_is_stored() {
    let limits = Limits { list: 100 };
    let decode = |block: &[u8]| Decoder::default().decode(block, limits, &mut Fields::default());
    let mut huffman = Vec::new();
    huffman::encode(&[b'a'; 68], &mut huffman);
    let block =
        |value: &[u8], flag: u8| [&[0x40, 1, b'n', flag | value.len() as u8], value].concat();
    assert_eq!(
        decode(&block(&huffman, 0x80)),
        Err(HpackError::ListTooLarge)
    );
    assert_eq!(
        decode(&block(&[b'a'; 68], 0)),
        Err(HpackError::ListTooLarge)
    );
    assert_eq!(decode(&block(&[b'a'; 67], 0)), Ok(()));
}

#[test]
fn oversized_entry_empties_the_table() {
    let mut decoder = Decoder::default();
    decode(&mut decoder, &unhex("20 3f 13 40 01 61 01 62")).unwrap();
    assert_eq!(decoder.table_size(), 34);
    decode(
        &mut decoder,
        &[&[0x40, 1, b'a', 30][..], &[b'x'; 30]].concat(),
    )
    .unwrap();
    assert_eq!(decoder.table_size(), 0);
}

/// Encodes constant fields one after another, and returns the block.
fn encode(encoder: &mut Encoder, fields: &[CompiledField]) -> Vec<u8> {
    let mut out = Vec::new();
    encoder.begin(&mut out);
    for field in fields {
        encoder.field(field, &|_| b"", &mut out);
    }
    out
}

#[test]
fn later_uses_of_constants_are_short() {
    let mut numbers = FieldNumbers::default();
    let mut compile = |name: &str, value: &str| {
        CompiledField::constant(&mut numbers, name.as_bytes(), value.as_bytes())
    };
    let fields = [
        compile(":method", "GET"),
        compile(":authority", "www.example.com"),
        compile("custom-key", "custom-value"),
    ];
    let mut encoder = Encoder::new(Indexing::Dynamic);
    let first = encode(&mut encoder, &fields);
    assert_eq!(
        first,
        unhex(
            "82 418c f1e3 c2e5 f23a 6ba0 ab90 f4ff 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf"
        )
    );
    assert_eq!(encode(&mut encoder, &fields), [0x82, 0xbf, 0xbe]);
    let mut literal = Encoder::new(Indexing::Literal);
    let first = encode(&mut literal, &fields);
    assert_eq!(encode(&mut literal, &fields), first);
}

#[test]
fn secrets_are_never_indexed() {
    let mut numbers = FieldNumbers::default();
    let mut first_byte = |name: &str, value: &str| {
        let mut encoder = Encoder::new(Indexing::Dynamic);
        let (name, value) = (name.as_bytes(), value.as_bytes());
        let mut out = Vec::new();
        let constant = CompiledField::constant(&mut numbers, name, value);
        encoder.field(&constant, &|_| b"", &mut out);
        let mut rendered = Vec::new();
        let hole = CompiledField::hole(&mut numbers, name, 0);
        encoder.field(&hole, &|_| value, &mut rendered);
        let mut literal = Vec::new();
        encoder.literal(name, value, &mut literal);
        [out[0], rendered[0], literal[0]]
    };
    assert_eq!(
        first_byte("authorization", "Bearer 0123456789abcdef"),
        [0x1f, 0x1f, 0x1f]
    );
    assert_eq!(first_byte("cookie", "short"), [0x1f, 0x1f, 0x1f]);
    assert_eq!(
        first_byte("cookie", "a=0123456789abcdef01"),
        [0x60, 0x0f, 0x0f]
    );
}

#[test]
fn changes_of_the_table_size_are_announced_once() {
    let mut encoder = Encoder::new(Indexing::Dynamic);
    encoder.limit_table(65_536);
    assert!(encode(&mut encoder, &[]).is_empty(), "the default stays");
    encoder.limit_table(0);
    encoder.limit_table(100);
    assert_eq!(encode(&mut encoder, &[]), [0x20, 0x3f, 69]);
    assert!(encode(&mut encoder, &[]).is_empty());
}

#[derive(Debug, Clone)]
struct RandomField {
    name: String,
    value: Vec<u8>,
    kind: u8,
}

fn random_field() -> impl Strategy<Value = RandomField> {
    let name = prop_oneof![
        "[a-z]{1,3}",
        Just("cookie".to_owned()),
        Just(":path".to_owned())
    ];
    let value = prop_oneof![
        Just(b"/".to_vec()),
        "[a-c]{0,2}".prop_map(String::into_bytes),
        proptest::collection::vec(any::<u8>(), 0..300),
    ];
    (name, value, 0_u8..3).prop_map(|(name, value, kind)| RandomField { name, value, kind })
}

proptest! {
    /// The blocks of a connection decode to the original fields, for any table limits.
    #[test]
    fn encoded_fields_are_restored(
        blocks in proptest::collection::vec(proptest::collection::vec(random_field(), 0..8), 1..20),
        limits in proptest::collection::vec(proptest::option::of(0_usize..600), 20),
        is_literal: bool,
    ) {
        let mode = if is_literal { Indexing::Literal } else { Indexing::Dynamic };
        let (mut encoder, mut decoder) = (Encoder::new(mode), Decoder::default());
        let mut numbers = FieldNumbers::default();
        for (fields, limit) in blocks.iter().zip(limits) {
            if let Some(limit) = limit {
                encoder.limit_table(limit);
            }
            let (mut out, mut expected) = (Vec::new(), Fields::default());
            encoder.begin(&mut out);
            for RandomField { name, value, kind } in fields {
                let name = name.as_bytes();
                expected.push(name, value);
                let field = match kind {
                    0 => CompiledField::constant(&mut numbers, name, value),
                    1 => CompiledField::hole(&mut numbers, name, 0),
                    _ => {
                        encoder.literal(name, value, &mut out);
                        continue;
                    }
                };
                encoder.field(&field, &|_| value, &mut out);
            }
            let mut decoded = Fields::default();
            prop_assert_eq!(decoder.decode(&out, LIST, &mut decoded), Ok(()));
            prop_assert_eq!(decoded, expected);
        }
    }

    #[test]
    fn any_block_is_handled(blocks: Vec<Vec<u8>>) {
        let mut decoder = Decoder::default();
        for block in blocks {
            if decode(&mut decoder, &block).is_err() {
                break;
            }
            prop_assert!(decoder.table_size() <= TABLE_SIZE);
        }
    }
}
