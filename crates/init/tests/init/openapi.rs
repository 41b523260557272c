use proptest::prelude::*;
use serde_json::json;

use crate::support::{golden, no_file, read, refusal, requests, text};

const SHOP: &str = "openapi: 3.0.3
info: { title: Pet shop, version: '1' }
servers: [ { url: 'https://{region}.pets.example/v1/', variables: { region: { default: eu } } } ]
security: [ { bearer: [] } ]
paths:
  /pets:
    get:
      summary: Lists pets
      parameters:
        - { name: limit, in: query, required: true, schema: { type: integer, default: 20 } }
        - { name: tag, in: query, schema: { type: string } }
        - { name: sort, in: query, example: name }
    post:
      summary: Makes a pet
      requestBody: { $ref: '#/components/requestBodies/Pet' }
      responses:
        '201': { description: made, content: { application/json: { schema: { $ref: '#/components/schemas/Made' } } } }
  /pets/{petId}:
    parameters: [ { name: petId, in: path, required: true, schema: { type: string } } ]
    get: { operationId: getPet }
    delete: { summary: Removes a pet }
    put:
      requestBody:
        content:
          application/json:
            schema:
              type: object
              required: [name, owner, born, id]
              properties:
                name: { type: string, example: Rex }
                owner: { type: string, format: email }
                born: { type: string, format: date-time }
                id: { type: string, format: uuid }
                colour: { type: string }
  /owners/{id}/pets:
    get: { summary: Pets of an owner, parameters: [ { name: id, in: path, required: true } ] }
    post:
      requestBody: { content: { application/json: { schema: { required: [petId], properties: { petId: { type: string } } } } } }
  /health: { get: { security: [], parameters: [ { name: X-Api-Key, in: header, required: true } ] } }
components:
  securitySchemes: { bearer: { type: http, scheme: bearer } }
  requestBodies:
    Pet: { content: { application/json: { examples: { rex: { value: { name: Rex, kind: dog } } } } } }
  schemas:
    Made: { allOf: [ { properties: { id: { type: string } } }, { type: object } ] }
";

fn described(text: &str) -> Result<init::Draft, formats::LoadErrors> {
    init::from_text("openapi.yaml", text, &no_file)
}

fn uncommented(text: &str) -> String {
    let (head, steps) = text.split_once("\nsteps:\n").unwrap();
    let lines = steps.lines().map(|line| match line.strip_prefix("  # ") {
        Some(rest) if rest.starts_with("- ") || rest.starts_with("    ") => format!("  {rest}"),
        _ => line.to_owned(),
    });
    format!("{head}\nsteps:\n{}\n", lines.collect::<Vec<_>>().join("\n"))
}

#[test]
fn a_description_is_a_step_for_each_operation() {
    let draft = described(SHOP).unwrap();
    assert_eq!(draft.file_name(), "pet-shop.yml");
    assert_eq!(
        draft.in_short(),
        "5 requests to https://eu.pets.example/v1, 3 commented out"
    );
    let exported: Vec<_> = draft
        .unknowns()
        .iter()
        .map(|unknown| unknown.env.clone())
        .collect();
    assert_eq!(exported, ["TOKEN", "OWNER_ID", "X_API_KEY"]);
    let (text, plan) = read(draft);
    let asked: Vec<String> = requests(&plan)
        .iter()
        .map(|request| format!("{} {}", request.method, request.url_text.expose()))
        .collect();
    assert_eq!(
        asked,
        [
            "POST /pets",
            "GET /pets",
            "GET /pets/{{ petId }}",
            "GET /owners/{{ owner_id }}/pets",
            "GET /health"
        ]
    );
    golden("openapi.yml", &text);
}

#[test]
fn commented_steps_are_steps_once_the_signs_are_gone() {
    let whole = uncommented(&text(described(SHOP).unwrap()));
    let set = ["TOKEN", "OWNER_ID", "X_API_KEY"].map(|name| (name.to_owned(), "x".to_owned()));
    let path = std::env::temp_dir().join(format!("loadline-init-{}-whole.yml", std::process::id()));
    std::fs::write(&path, &whole).unwrap();
    let inputs = formats::Inputs {
        files: vec![path.clone()],
        process_env: set.to_vec(),
        ..formats::Inputs::default()
    };
    let plan = formats::native::load(&inputs);
    std::fs::remove_file(&path).unwrap();
    let plan = plan.unwrap_or_else(|errors| panic!("{errors}\n{whole}"));
    let methods: Vec<&str> = requests(&plan)
        .iter()
        .map(|request| request.method.as_str())
        .collect();
    assert_eq!(
        methods,
        ["POST", "GET", "GET", "PUT", "DELETE", "POST", "GET", "GET"]
    );
}

#[test]
fn document_without_server_uses_a_target_variable() {
    let draft = described(r#"{"openapi": "3.1.0", "info": {"title": "A"}, "servers": [{"url": "/api"}], "paths": {"/a": {"delete": {}}}}"#).unwrap();
    let text = draft.text("a.yml");
    assert!(
        text.contains("target: '{{ $env.TARGET }}/api'")
            && text.contains("# TO FILL IN: export TARGET=…"),
        "{text}"
    );
    assert!(
        text.contains("  - log: ") && text.contains("  # - delete: /a\n"),
        "{text}"
    );
}

#[test]
fn unreadable_descriptions_are_reported_with_location() {
    let with = |paths: &str| {
        format!(
            "openapi: 3.0.0\ninfo: {{ title: A }}\nservers: [ {{ url: http://a }} ]\npaths:\n  {paths}\n"
        )
    };
    for (text, expected) in [
        (
            with("/a: { $ref: 'other.yml#/a' }"),
            "5:15: other.yml: no such file",
        ),
        (
            with("/a: { $ref: '#/b' }"),
            "5:15: `#/b` does not exist in this file",
        ),
        (
            with("/a: { $ref: '#/paths/~1a' }"),
            "5:7: this reference refers to itself",
        ),
        (
            with("a: { get: {} }"),
            "5:3: `a` is not a path: it must start with /",
        ),
        (
            with("{}"),
            "5:3: this OpenAPI description has no operation in `paths`",
        ),
        (
            "openapi: 4.0.0".to_owned(),
            "1:10: `openapi: 4.0.0` is not supported: use version 3.0 or 3.1",
        ),
        (
            "swagger: '2.0'".to_owned(),
            "1:1: this is Swagger 2: convert it to OpenAPI 3 first",
        ),
        (
            "openapi: 3.0.0\npaths: [".to_owned(),
            "3:1: this is not valid YAML: ",
        ),
    ] {
        let reported = refusal(described(&text));
        assert!(
            reported.starts_with(&format!("openapi.yaml:{expected}")),
            "{reported}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    #[test]
    fn any_description_is_a_plan_or_one_line(
        title in "\\PC{0,8}", path in "/[a-z{}%? -]{0,8}", name in "[a-zA-Z{}-]{1,6}", place in "path|query|header|cookie",
        example in prop::option::of("[ -~é]{0,8}"), method in "get|post|put|head|options", body in "[ -~]{0,8}", id in "id|a-b|\\{\\{",
    ) {
        let parameter = json!({"name": name, "in": place, "required": true, "schema": {"default": example}});
        let schema = json!({"type": "object", "required": [id], "properties": {id.clone(): {"type": "string", "example": body}}});
        let operation = json!({
            "summary": title, "parameters": [parameter],
            "requestBody": {"content": {"application/json": {"schema": schema}}},
            "responses": {"200": {"content": {"application/json": {"schema": schema}}}},
        });
        let mut paths = serde_json::Map::new();
        paths.insert(path.clone(), json!({method: operation.clone(), "post": operation}));
        paths.insert(format!("{path}/{{{name}}}"), json!({"get": operation}));
        let text = json!({"openapi": "3.0.0", "info": {"title": title}, "servers": [{"url": "http://a.example"}], "paths": paths}).to_string();
        match described(&text) {
            Ok(draft) => { read(draft); }
            Err(errors) => prop_assert_eq!(errors.problems.len(), 1),
        }
    }
}

#[test]
fn examples_and_styles_of_parameters() {
    let api = "openapi: 3.1.0
info: { title: Lists, version: '1' }
servers: [ { url: 'http://lists.example' } ]
paths:
  /items/{ids}:
    get:
      parameters:
        - { name: ids, in: path, required: true, style: matrix, explode: true, example: [3, 4] }
        - { name: colour, in: query, explode: false, example: [red, blue] }
        - { name: size, in: query, examples: { small: { value: S }, large: { value: L } } }
        - { name: at, in: query, style: deepObject, explode: true, example: { lat: 1, long: 2 } }
        - { name: filter, in: query, required: true, content: { application/json: { examples: { one: { value: { a: 1 } } } } } }
        - { name: x-tags, in: header, example: [p, q] }
  /orders:
    post:
      requestBody:
        content:
          application/json:
            examples:
              book: { value: { sku: B7 } }
              pen: { value: { sku: P1 } }
              elsewhere: { externalValue: 'http://lists.example/e.json' }
";
    let (text, plan) = read(init::from_text("api.yaml", api, &no_file).unwrap());
    let [items, _] = requests(&plan)[..] else {
        panic!("{text}")
    };
    assert_eq!(items.url_text, "/items/;ids=3;ids=4");
    for part in [
        "colour: 'red,blue'",
        "size: S",
        "'at[lat]': 1",
        "filter: '{\"a\":1}'",
        "x-tags: 'p,q'",
        "# size has several examples. The first is used; the others are: large",
        "json: { sku: B7 }",
        "# The first example of the body is used; the others are: pen",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn a_description_of_several_files_is_put_together() {
    let main = "openapi: 3.0.0
info: { title: Shop }
servers: [ { url: 'http://shop.example' } ]
paths:
  /orders: { $ref: './paths/orders.yml' }
";
    let orders = "post:
  summary: Orders
  requestBody: { $ref: '../bodies.json#/Order' }
";
    let bodies = r##"{ "Order": { "content": { "application/json": { "schema": { "$ref": "#/Line" } } } },
        "Line": { "type": "object", "required": ["sku"], "properties": { "sku": { "type": "string", "example": "a-1" } } } }"##;
    let read_file = |path: &std::path::Path| match path.to_str() {
        Some("api/paths/orders.yml") => Ok(orders.as_bytes().to_vec()),
        Some("api/bodies.json") => Ok(bodies.as_bytes().to_vec()),
        other => Err(format!("{other:?} was asked for")),
    };
    let text = text(init::from_text("api/openapi.yml", main, &read_file).unwrap());
    assert!(text.contains("sku: a-1"), "{text}");
    let on_the_net = main.replace("./paths/orders.yml", "https://a.example/orders.yml#/x");
    let refused = init::from_text("api/openapi.yml", &on_the_net, &read_file).unwrap_err();
    assert!(
        refused.to_string().contains(
            "5:20: `https://a.example/orders.yml#/x` is on the network: download the file"
        ),
        "{refused}"
    );
}
