//! Reads and checks files named on the command line: credentials, payloads, certificates.

use std::path::Path;

use plan::mqtt::Credential;

pub(crate) fn text(option: &str, path: &Path) -> Result<String, String> {
    let read = formats::files::read_to_string(path);
    read.map_err(|error| format!("{option} {}: {error}", path.display()))
}

pub(crate) fn payload(source: &str) -> Result<String, String> {
    match source.strip_prefix("template://") {
        Some(path) => text("-m", Path::new(path)),
        None => Ok(source.to_owned()),
    }
}

pub(crate) fn credentials(path: &Path, clients: u32) -> Result<Vec<Credential>, String> {
    let reported = |reason: String| format!("--credentials {}: {reason}", path.display());
    let file = std::fs::File::open(path).map_err(|error| reported(error.to_string()))?;
    let mut reader = csv::Reader::from_reader(file);
    let header = reader
        .headers()
        .map_err(|error| reported(error.to_string()))?;
    let header = header.clone();
    let known = ["username", "password", "client_id"];
    if let Some(other) = header.iter().find(|name| !known.contains(name)) {
        let reason =
            format!("line 1: `{other}` is not a valid column: use username, password, client_id");
        return Err(reported(reason));
    }
    let places = known.map(|name| header.iter().position(|of| of == name));
    let mut all = Vec::new();
    for row in reader.records() {
        let row = row.map_err(|error| reported(error.to_string()))?;
        let [username, password, client_id] = places.map(|place| Some(row.get(place?)?.to_owned()));
        all.push(Credential {
            client_id,
            username,
            password,
        });
    }
    let wanted = clients as usize;
    if all.len() < wanted {
        let rows = all.len();
        let reason = format!("{rows} rows for {wanted} clients: add rows, or use fewer clients");
        return Err(reported(reason));
    }
    all.truncate(wanted);
    Ok(all)
}
