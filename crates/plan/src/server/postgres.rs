//! Parses PostgreSQL URLs.

use super::percent::decoded;

const PORT: u16 = 5432;
/// Supported URL schemes.
pub const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];

/// A PostgreSQL database and its credentials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Database {
    /// Address of the server.
    pub at: Listener,
    /// User name.
    pub user: String,
    /// Password, if required.
    pub password: Option<String>,
    /// Name of the database.
    pub name: String,
    /// How the connection is encrypted.
    pub tls: Encryption,
}

/// Address of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listener {
    /// Host and port.
    Tcp(String, u16),
    /// Path of a local socket.
    Socket(String),
}

/// How a connection is encrypted, with the meanings of PostgreSQL's `sslmode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encryption {
    /// The connection is never encrypted.
    Disable,
    /// Encrypts if the server supports it, without verifying the certificate.
    Prefer,
    /// Always encrypts, without verifying the certificate.
    Require,
    /// Always encrypts. The certificate must be trusted and match the host name.
    VerifyFull,
}

impl Database {
    /// Parses `postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=…` or
    /// `postgres://USER@/DATABASE?host=/FOLDER`.
    ///
    /// On failure, returns a message that contains no part of a password.
    pub fn of_url(url: &str) -> Result<Database, String> {
        let mut schemes = SCHEMES.iter();
        let rest = schemes.find_map(|scheme| url.strip_prefix(scheme));
        let rest =
            rest.ok_or("a PostgreSQL address must be postgres://USER:PASSWORD@HOST:PORT/DATABASE")?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        // Split at the last `@`, because a password may contain `@` and slashes.
        let (credentials, rest) = rest.rsplit_once('@').unwrap_or(("", rest));
        let (authority, name) = rest.split_once('/').unwrap_or((rest, ""));
        let (user, password) = match credentials.split_once(':') {
            Some((user, password)) => (user, Some(password)),
            None => (credentials, None),
        };
        let user = decoded(user).ok_or("the user is not valid percent-encoded text")?;
        let password = password
            .map(|text| decoded(text).ok_or("the password is not valid percent-encoded text"));
        let password = password.transpose()?.filter(|text| !text.is_empty());
        let name = decoded(name).ok_or("the database is not valid percent-encoded text")?;
        if user.is_empty() {
            return Err(
                "the user is missing: use postgres://USER:PASSWORD@HOST:PORT/DATABASE".to_owned(),
            );
        }
        if [&user, &name].into_iter().any(|text| text.contains('\0')) {
            return Err("names of users and databases must not contain a zero byte".to_owned());
        }
        let (host, port) = host_and_port(authority)?;
        let mut database = Database {
            at: Listener::Tcp(host, port),
            // The user name is the default database, as in PostgreSQL's own clients.
            name: if name.is_empty() { user.clone() } else { name },
            user,
            password,
            tls: Encryption::Prefer,
        };
        for (key, value) in query.split('&').filter_map(|pair| {
            pair.split_once('=')
                .or((!pair.is_empty()).then_some((pair, "")))
        }) {
            let value = decoded(value)
                .ok_or_else(|| format!("`{key}` is not valid percent-encoded text"))?;
            database.option(key, &value, port)?;
        }
        if matches!(&database.at, Listener::Tcp(host, _) if host.is_empty()) {
            return Err(
                "the host is missing: use postgres://USER@HOST/DATABASE, or ?host=/FOLDER for a socket"
                    .to_owned(),
            );
        }
        Ok(database)
    }

    fn option(&mut self, key: &str, value: &str, port: u16) -> Result<(), String> {
        match key {
            "host" if value.starts_with('/') => {
                let folder = value.trim_end_matches('/');
                self.at = Listener::Socket(format!("{folder}/.s.PGSQL.{port}"));
            }
            "host" => self.at = Listener::Tcp(value.to_owned(), port),
            "sslmode" => {
                self.tls = match value {
                    "disable" => Encryption::Disable,
                    "prefer" => Encryption::Prefer,
                    "require" => Encryption::Require,
                    "verify-full" => Encryption::VerifyFull,
                    _ => {
                        return Err(format!(
                            "`{value}` is not an sslmode: use disable, prefer, require or verify-full"
                        ));
                    }
                }
            }
            // A password in the query would not be detected as a secret.
            "password" => {
                return Err(
                    "the password must be before the @: postgres://USER:PASSWORD@HOST/DATABASE"
                        .to_owned(),
                );
            }
            _ => {
                return Err(format!(
                    "`{key}` is not supported here: use host=/FOLDER or sslmode=…"
                ));
            }
        }
        Ok(())
    }
}

fn host_and_port(authority: &str) -> Result<(String, u16), String> {
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, port),
        _ => (authority, ""),
    };
    let host = decoded(host).ok_or("the host is not valid percent-encoded text")?;
    let port = match port {
        "" => PORT,
        port => port
            .parse()
            .map_err(|_| format!("`{port}` is not a valid port"))?,
    };
    Ok((host.trim_matches(['[', ']']).to_owned(), port))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(url: &str) -> Database {
        Database::of_url(url).unwrap()
    }

    #[test]
    fn urls_are_parsed_as_by_libpq() {
        let full = read("postgres://me:p%40ss%2Fw@db.example:5433/shop?sslmode=require");
        assert_eq!(full.at, Listener::Tcp("db.example".into(), 5433));
        assert_eq!(
            (full.user.as_str(), full.password.as_deref()),
            ("me", Some("p@ss/w"))
        );
        assert_eq!(
            (full.name.as_str(), full.tls),
            ("shop", Encryption::Require)
        );
        let short = read("postgresql://me@[::1]");
        assert_eq!(short.at, Listener::Tcp("::1".into(), 5432));
        assert_eq!((short.name.as_str(), short.password), ("me", None));
        let socket = read("postgres://me@/shop?host=/var/run/postgresql");
        assert_eq!(
            socket.at,
            Listener::Socket("/var/run/postgresql/.s.PGSQL.5432".into())
        );
        let raw = read("postgres://me:a/b@c@h/shop");
        assert_eq!(
            (raw.password.as_deref(), raw.name.as_str()),
            (Some("a/b@c"), "shop")
        );
    }

    #[test]
    fn errors_do_not_contain_the_password() {
        for (url, message) in [
            ("postgres://h/shop", "the user is missing"),
            ("postgres://me:hunter2@/shop", "the host is missing"),
            ("postgres://me:hunter2@h:x/shop", "`x` is not a valid port"),
            (
                "postgres://me:hunter2%zz@h/shop",
                "the password is not valid percent-encoded text",
            ),
            (
                "postgres://me:hunter2@h/s?sslmode=maybe",
                "`maybe` is not an sslmode",
            ),
            (
                "postgres://me:hunter2@h/s?password=hunter2",
                "must be before the @",
            ),
            (
                "postgres://me:hunter2@h/s?pool=1",
                "`pool` is not supported here",
            ),
        ] {
            let reason = Database::of_url(url).unwrap_err();
            assert!(
                reason.contains(message) && !reason.contains("hunter2"),
                "{reason}"
            );
        }
    }

    proptest! {
        #[test]
        fn any_text_is_handled(text in "postgres://[a-z:@/?=&%0-9\\[\\]]{0,40}") {
            let _ = Database::of_url(&text);
        }

        #[test]
        fn encoded_parts_are_decoded(user in "[a-z]{1,8}", password in "\\PC{1,20}", name in "[a-z]{1,8}") {
            let encoded: String = password.bytes().map(|byte| format!("%{byte:02X}")).collect();
            let read = Database::of_url(&format!("postgres://{user}:{encoded}@h:1/{name}")).unwrap();
            prop_assert_eq!((read.user, read.password, read.name), (user, Some(password), name));
        }
    }
}
