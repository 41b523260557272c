#[cfg(test)]
mod seeds {
    use std::path::{Path, PathBuf};

    fn files(folder: &str, endings: &[&str]) -> Vec<PathBuf> {
        let mut files = Vec::new();
        let mut folders = vec![
            Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("../..")
                .join(folder),
        ];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let name = path.to_string_lossy().into_owned();
                if path.is_dir() {
                    folders.push(path);
                } else if endings.iter().any(|ending| name.ends_with(ending)) {
                    files.push(path);
                }
            }
        }
        assert!(!files.is_empty(), "no inputs in {folder}");
        files
    }

    fn check_texts(folder: &str, endings: &[&str], check: fn(&str)) {
        for path in files(folder, endings) {
            check(&String::from_utf8_lossy(&std::fs::read(&path).unwrap()));
        }
    }

    #[test]
    fn artillery_yaml() {
        let check = fuzz_targets::artillery_yaml::check;
        check_texts("examples", &[".yml"], check);
        check_texts("crates/frontends/artillery/tests/golden", &[".yml"], check);
    }

    #[test]
    fn import() {
        let check = fuzz_targets::import::check;
        check_texts("fuzz/seeds/import", &[""], check);
        check_texts("crates/audit/tests/audit/golden", &[""], check);
        check_texts("crates/audit/tests/audit/published", &[""], check);
        check_texts("crates/report/tests/golden", &[".txt"], check);
        check_texts(
            "crates/frontends/artillery/tests/golden",
            &[".json", ".txt"],
            check,
        );
    }

    #[test]
    fn init_sources() {
        check_texts(
            "fuzz/seeds/init_sources",
            &[""],
            fuzz_targets::init_sources::check,
        );
    }

    #[test]
    fn init_postman() {
        let check = fuzz_targets::init_postman::check;
        check_texts("fuzz/seeds/init_postman", &[""], check);
        check_texts("crates/init/tests/init/sources", &[".json"], check);
    }

    #[test]
    fn init_jmeter() {
        let check = fuzz_targets::init_jmeter::check;
        check_texts("fuzz/seeds/init_jmeter", &[""], check);
        check_texts("crates/init/tests/init/sources", &[".jmx"], check);
    }

    #[test]
    fn script_source() {
        check_texts(
            "fuzz/seeds/script_source",
            &[""],
            fuzz_targets::script_source::check,
        );
    }

    #[test]
    fn chunk() {
        for path in files("fuzz/seeds/chunk", &[""]) {
            fuzz_targets::chunk::check(&std::fs::read(&path).unwrap());
        }
    }

    fn check_splits(folder: &str, check: impl Fn(u8, &[u8])) {
        for path in files(folder, &[""]) {
            let bytes = std::fs::read(&path).unwrap();
            for piece in [0, 1, 2, 6, 50] {
                check(piece, &bytes);
            }
        }
    }

    #[test]
    fn h2_connection() {
        check_splits(
            "fuzz/seeds/h2_connection",
            fuzz_targets::h2_connection::check,
        );
    }

    #[test]
    fn hpack() {
        check_splits("fuzz/seeds/hpack", |piece, bytes| {
            fuzz_targets::hpack::check(u16::from(piece) * 20, bytes);
        });
    }

    #[test]
    fn socketio_packets() {
        check_texts(
            "fuzz/seeds/socketio_packets",
            &[""],
            fuzz_targets::socketio_packets::check,
        );
    }

    #[test]
    fn stream_events() {
        check_splits(
            "fuzz/seeds/stream_events",
            fuzz_targets::stream_events::check,
        );
    }

    #[test]
    fn websocket_frames() {
        check_splits(
            "fuzz/seeds/websocket_frames",
            fuzz_targets::websocket_frames::check,
        );
    }
    #[test]
    fn k6_options() {
        for path in files("fuzz/seeds/k6_options", &[""]) {
            fuzz_targets::k6_options::check(&std::fs::read(path).unwrap());
        }
    }
}
