//! Serializes parameters by their `style` and `explode`.

use formats::document::Node;
use query::value;
use serde_json::Value;

use crate::address;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParameterStyle<'n> {
    name: &'n str,
    explode: bool,
}

impl<'n> ParameterStyle<'n> {
    pub fn from_parameter(parameter: &'n Node, place: &str) -> ParameterStyle<'n> {
        let own = match place {
            "query" | "cookie" => "form",
            _ => "simple",
        };
        let name = parameter.get("style").and_then(Node::as_str).unwrap_or(own);
        let explode = parameter.get("explode").and_then(Node::as_bool);
        ParameterStyle {
            name,
            explode: explode.unwrap_or(name == "form"),
        }
    }

    pub fn query(self, name: &str, value: Value) -> Vec<(String, Value)> {
        let pair = |value: String| vec![(name.to_owned(), Value::String(value))];
        match (value, self.name, self.explode) {
            (Value::Object(map), "deepObject", _) => map
                .into_iter()
                .map(|(key, value)| (format!("{name}[{key}]"), scalar(value)))
                .collect(),
            (Value::Object(map), "form", true) => map
                .into_iter()
                .map(|(key, value)| (key, scalar(value)))
                .collect(),
            (Value::Array(items), _, true) => {
                vec![(name.to_owned(), items.into_iter().map(scalar).collect())]
            }
            (value @ (Value::Array(_) | Value::Object(_)), style, _) => {
                let between = match style {
                    "spaceDelimited" => " ",
                    "pipeDelimited" => "|",
                    _ => ",",
                };
                pair(flat(&value).join(between))
            }
            (value, ..) => vec![(name.to_owned(), scalar(value))],
        }
    }

    pub fn header(self, value: &Value) -> String {
        if let (Value::Object(map), true) = (value, self.explode) {
            let pairs = map
                .iter()
                .map(|(key, value)| format!("{key}={}", text(value)));
            return pairs.collect::<Vec<_>>().join(",");
        }
        flat(value).join(",")
    }

    pub fn path(self, name: &str, value: &Value) -> String {
        let (before, between) = match (self.name, self.explode) {
            ("label", true) => (".".to_owned(), "."),
            ("label", false) => (".".to_owned(), ","),
            ("matrix", false) => (format!(";{name}="), ","),
            ("matrix", true) => (";".to_owned(), ";"),
            _ => (String::new(), ","),
        };
        let items: Vec<String> = match (value, self.explode) {
            (Value::Object(map), true) => {
                let pair = |(key, value): (&String, &Value)| {
                    format!(
                        "{}={}",
                        address::encoded(key),
                        address::encoded(&text(value))
                    )
                };
                map.iter().map(pair).collect()
            }
            _ => {
                let lead = match (self.name, self.explode) {
                    ("matrix", true) => format!("{name}="),
                    _ => String::new(),
                };
                let one = |item: String| format!("{lead}{}", address::encoded(&item));
                flat(value).into_iter().map(one).collect()
            }
        };
        format!("{before}{}", items.join(between))
    }
}

fn flat(value: &Value) -> Vec<String> {
    match value {
        Value::Array(items) => items.iter().map(text).collect(),
        Value::Object(map) => map
            .iter()
            .flat_map(|(key, value)| [key.clone(), text(value)])
            .collect(),
        other => vec![text(other)],
    }
}

fn text(value: &Value) -> String {
    value::text(Some(value))
}

pub fn scalar(value: Value) -> Value {
    match value {
        Value::Null | Value::Array(_) | Value::Object(_) => Value::String(text(&value)),
        scalar => scalar,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_written_as_the_specification_has_them() {
        let list = json!(["blue", "black", "brown"]);
        let object = json!({"R": 100, "G": 200, "B": 150});
        let style = |name, explode| ParameterStyle { name, explode };
        let paths = [
            (
                style("matrix", false),
                ";color=blue,black,brown",
                ";color=R,100,G,200,B,150",
            ),
            (
                style("matrix", true),
                ";color=blue;color=black;color=brown",
                ";R=100;G=200;B=150",
            ),
            (
                style("label", false),
                ".blue,black,brown",
                ".R,100,G,200,B,150",
            ),
            (
                style("label", true),
                ".blue.black.brown",
                ".R=100.G=200.B=150",
            ),
            (
                style("simple", false),
                "blue,black,brown",
                "R,100,G,200,B,150",
            ),
            (
                style("simple", true),
                "blue,black,brown",
                "R=100,G=200,B=150",
            ),
        ];
        for (style, of_list, of_object) in paths {
            assert_eq!(style.path("color", &list), of_list);
            assert_eq!(style.path("color", &object), of_object);
        }
        let query = |style: ParameterStyle<'_>, value: &Value| {
            let pairs = style.query("color", value.clone());
            Value::Object(pairs.into_iter().collect())
        };
        assert_eq!(query(style("form", true), &list), json!({"color": list}));
        assert_eq!(query(style("form", true), &object), object);
        assert_eq!(
            query(style("form", false), &list),
            json!({"color": "blue,black,brown"})
        );
        assert_eq!(
            query(style("form", false), &object),
            json!({"color": "R,100,G,200,B,150"})
        );
        assert_eq!(
            query(style("spaceDelimited", false), &list),
            json!({"color": "blue black brown"})
        );
        assert_eq!(
            query(style("pipeDelimited", false), &list),
            json!({"color": "blue|black|brown"})
        );
        assert_eq!(
            query(style("deepObject", true), &object),
            json!({"color[R]": 100, "color[G]": 200, "color[B]": 150})
        );
        assert_eq!(style("simple", true).header(&object), "R=100,G=200,B=150");
        assert_eq!(style("simple", false).header(&list), "blue,black,brown");
        assert_eq!(style("form", true).path("color", &json!("a b")), "a%20b");
    }
}
