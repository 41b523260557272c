//! A client for Pepeunit's REST API that creates units and reads results. An unexpected status ends
//! the test.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use serde_json::{Value, json};

use crate::{md5, pipes::Pipe};
use session::blocking_http::{Base, BlockingRequest, BlockingResponse};

const API: &str = "/pepeunit/api/v1";
const REPOSITORY: &str = "https://git.pepemoss.com/pepe/pepeunit/units/universal_load_unit.git";
const AT_ONCE: usize = 10;
const PAGE: usize = 500;

pub(crate) struct RestClient {
    base: Base,
    token: String,
    mark: String,
}

#[derive(Debug, Clone)]
pub(crate) struct RestUnit {
    pub token: Option<String>,
    pub topic: String,
    pub node: Option<String>,
}

pub(crate) struct UnitSettings {
    pub units: Vec<RestUnit>,
    pub domain: String,
    pub host: String,
    pub port: u16,
    pub http: String,
}

pub(crate) fn mark(is_secure: bool, domain: &str) -> String {
    let scheme = if is_secure { "https" } else { "http" };
    md5::hex(&format!("{scheme}://{domain}"))[..10].to_owned()
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn listed(answer: &Value, name: &str) -> Vec<Value> {
    answer[name].as_array().cloned().unwrap_or_default()
}

impl RestClient {
    pub fn enter(base: Base, mark: String) -> Result<RestClient, String> {
        let mut rest = RestClient {
            base,
            token: String::new(),
            mark,
        };
        let (login, password) = (format!("test_{}", rest.mark), format!("{}/", rest.mark));
        let user = json!({ "login": login, "password": password });
        // Creating a user fails if it already exists, so only the login decides.
        let made = rest.send("POST", "/users", Some(&user))?;
        let body = json!({ "credentials": login, "password": password });
        let answer = rest.send("POST", "/users/auth", Some(&body))?;
        if !(200..300).contains(&answer.status) {
            let hint = if (200..300).contains(&made.status) {
                String::new()
            } else {
                format!("; creating the user returned {}", made.status)
            };
            return Err(format!("{}{hint}", wrong("POST", "/users/auth", &answer)));
        }
        let answer: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        let token = answer["token"].as_str();
        rest.token = token
            .ok_or("POST /users/auth returned no token")?
            .to_owned();
        Ok(rest)
    }

    fn send(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<BlockingResponse, String> {
        let bytes = body.map(|body| body.to_string().into_bytes());
        self.base.send(&BlockingRequest {
            method,
            path: &format!("{API}{path}"),
            headers: &[("x-auth-token", &self.token)],
            body: bytes.as_deref().map(|bytes| ("application/json", bytes)),
        })
    }

    fn call(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Value, String> {
        let answer = self.send(method, path, body)?;
        if !(200..300).contains(&answer.status) {
            return Err(wrong(method, path, &answer));
        }
        if answer.body.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_slice(&answer.body).map_err(|_| {
            format!(
                "{method} {API}{path} returned {} without JSON",
                answer.status
            )
        })
    }

    pub fn make(&self, count: u32, pipe: &Pipe, is_of_pipes: bool) -> Result<UnitSettings, String> {
        let repo = self.repository()?;
        self.remove_old()?;
        let numbers: Vec<u32> = (0..count).collect();
        each(&numbers, |number| {
            let unit = json!({
                "repo_uuid": repo, "visibility_level": "Public", "name": format!("test_{number}_{}", self.mark),
                "is_auto_update_from_repo_unit": true,
            });
            self.call("POST", "/units", Some(&unit)).map(drop)
        })?;
        let path = format!(
            "/units?is_include_output_unit_nodes=true&search_string={}",
            self.mark
        );
        let made = listed(&self.call("GET", &path, None)?, "units");
        if made.len() != count as usize {
            return Err(format!(
                "{count} units were created, but {} are listed",
                made.len()
            ));
        }
        let yaml = pipe.yaml();
        let envs: Mutex<Vec<(usize, Value, String)>> = Mutex::default();
        let places: Vec<usize> = (0..made.len()).collect();
        each(&places, |place| {
            let found = self.ready(&made[*place], &yaml, is_of_pipes)?;
            envs.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push((*place, found.0, found.1));
            Ok(())
        })?;
        let mut envs = envs.into_inner().unwrap_or_else(PoisonError::into_inner);
        envs.sort_by_key(|(place, ..)| *place);
        let (_, first, _) = envs.first().ok_or("no unit was created")?;
        let of = |env: &Value, name: &str| {
            text(&env[name]).ok_or_else(|| format!("a unit's environment has no {name}"))
        };
        let domain = of(first, "PU_DOMAIN")?;
        let port = of(first, "PU_MQTT_PORT")?;
        let units = envs.iter().map(|(place, env, node)| {
            let topic = if is_of_pipes {
                format!("{domain}/{node}/pepeunit")
            } else {
                let uuid = made[*place]["uuid"].as_str().unwrap_or_default();
                format!("{domain}/output_base_topic/{uuid}/state/pepeunit")
            };
            Ok(RestUnit {
                token: Some(of(env, "PU_AUTH_TOKEN")?),
                topic,
                node: is_of_pipes.then(|| node.clone()),
            })
        });
        Ok(UnitSettings {
            units: units.collect::<Result<_, String>>()?,
            host: of(first, "PU_MQTT_HOST")?,
            port: port
                .parse()
                .map_err(|_| format!("PU_MQTT_PORT is {port}"))?,
            http: of(first, "PU_HTTP_TYPE").unwrap_or_else(|_| "https".to_owned()),
            domain,
        })
    }

    fn repository(&self) -> Result<String, String> {
        let found = self.call(
            "GET",
            &format!("/repository_registry?search_string={REPOSITORY}"),
            None,
        )?;
        let registry = match listed(&found, "repositories_registry").into_iter().next() {
            Some(entry) => entry,
            None => {
                let body = json!({ "platform": "Gitlab", "repository_url": REPOSITORY, "is_public_repository": true });
                self.call("POST", "/repository_registry", Some(&body))?
            }
        };
        let branch = registry["branches"][0].clone();
        let name = format!("test_{}", self.mark);
        let body = json!({
            "repository_registry_uuid": registry["uuid"], "default_branch": branch, "visibility_level": "Public",
            "name": name, "is_compilable_repo": false,
        });
        let answer = self.send("POST", "/repos", Some(&body))?;
        let repo = match answer.status {
            422 => {
                let found = self.call("GET", &format!("/repos?search_string={name}"), None)?;
                let first = listed(&found, "repos").into_iter().next();
                first.ok_or_else(|| wrong("POST", "/repos", &answer))?
            }
            200..300 => serde_json::from_slice(&answer.body).unwrap_or_default(),
            _ => return Err(wrong("POST", "/repos", &answer)),
        };
        let uuid = text(&repo["uuid"]).ok_or("the repository has no uuid")?;
        self.call(
            "PATCH",
            &format!("/repos/{uuid}"),
            Some(&json!({ "default_branch": branch })),
        )?;
        Ok(uuid)
    }

    fn remove_old(&self) -> Result<(), String> {
        let old = self.call("GET", &format!("/units?search_string={}", self.mark), None)?;
        let old: Vec<String> = listed(&old, "units")
            .iter()
            .filter_map(|unit| text(&unit["uuid"]))
            .collect();
        each(&old, |uuid| {
            self.call("DELETE", &format!("/units/{uuid}"), None)
                .map(drop)
        })
    }

    fn ready(
        &self,
        unit: &Value,
        yaml: &str,
        is_of_pipes: bool,
    ) -> Result<(Value, String), String> {
        let uuid = text(&unit["uuid"]).ok_or("a unit has no uuid")?;
        let env = json!({ "env_json_string": "{\"PU_MQTT_PING_INTERVAL\": 30}" });
        self.call("PATCH", &format!("/units/env/{uuid}"), Some(&env))?;
        let mut node = String::new();
        if is_of_pipes {
            let nodes = listed(unit, "unit_nodes");
            let output = nodes
                .iter()
                .find(|node| node["type"] == "Output" && node["topic_name"] == "output/pepeunit");
            node = output
                .and_then(|node| text(&node["uuid"]))
                .ok_or("a unit has no output/pepeunit node")?;
            self.call(
                "PATCH",
                &format!("/unit_nodes/{node}"),
                Some(&json!({ "is_data_pipe_active": true })),
            )?;
            self.configure(&node, yaml)?;
        }
        let env = self.call("GET", &format!("/units/env/{uuid}"), None)?;
        let env: Option<Value> = env
            .as_str()
            .and_then(|text| serde_json::from_str(text).ok());
        Ok((env.ok_or("a unit's environment is not JSON")?, node))
    }

    fn configure(&self, node: &str, yaml: &str) -> Result<(), String> {
        let boundary = "loadline-7d1f0c5a";
        let body = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"data\"; filename=\"data_pipe.yaml\"\r\nContent-Type: application/yaml\r\n\r\n{yaml}\r\n--{boundary}--\r\n"
        );
        let path = format!("/unit_nodes/set_data_pipe_config?uuid={node}&is_bot_auth=false");
        let answer = self.base.send(&BlockingRequest {
            method: "POST",
            path: &format!("{API}{path}"),
            headers: &[("x-auth-token", &self.token)],
            body: Some((
                &format!("multipart/form-data; boundary={boundary}"),
                body.as_bytes(),
            )),
        })?;
        if (200..300).contains(&answer.status) {
            return Ok(());
        }
        Err(wrong("POST", &path, &answer))
    }

    pub fn state(&self, node: &str) -> Result<Option<String>, String> {
        let node = self.call("GET", &format!("/unit_nodes/{node}"), None)?;
        Ok(text(&node["state"]))
    }

    pub fn count(&self, node: &str, policy: &str) -> Result<u64, String> {
        let path =
            format!("/unit_nodes/get_data_pipe_data?uuid={node}&type={policy}&offset=0&limit=1");
        let page = self.call("GET", &path, None)?;
        page["count"]
            .as_u64()
            .ok_or_else(|| format!("GET {API}{path} returned no count"))
    }

    pub fn rows(&self, node: &str, policy: &str) -> Result<Vec<Value>, String> {
        let mut rows = Vec::new();
        loop {
            let offset = rows.len();
            let path = format!(
                "/unit_nodes/get_data_pipe_data?uuid={node}&type={policy}&offset={offset}&limit={PAGE}"
            );
            let page = self.call("GET", &path, None)?;
            let more = listed(&page, "pipe_data");
            let is_last = more.len() < PAGE;
            rows.extend(more);
            if is_last {
                return Ok(rows);
            }
        }
    }
}

fn wrong(method: &str, path: &str, answer: &BlockingResponse) -> String {
    let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let reason = match &body["detail"] {
        Value::Null => String::new(),
        Value::String(text) => format!(": {text}"),
        other => format!(": {other}"),
    };
    let path = path.split('?').next().unwrap_or_default();
    format!("{method} {API}{path} returned {}{reason}", answer.status)
}

pub(crate) fn each<T: Sync>(
    all: &[T],
    what: impl Fn(&T) -> Result<(), String> + Sync,
) -> Result<(), String> {
    let (next, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let first: Mutex<Option<String>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE.min(all.len()) {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let Some(one) = all.get(next.fetch_add(1, Ordering::Relaxed)) else {
                        return;
                    };
                    if let Err(reason) = what(one) {
                        is_over.store(true, Ordering::Relaxed);
                        let mut first = first.lock().unwrap_or_else(PoisonError::into_inner);
                        first.get_or_insert(reason);
                    }
                }
            });
        }
    });
    let first = first.into_inner().unwrap_or_else(PoisonError::into_inner);
    first.map_or(Ok(()), Err)
}
