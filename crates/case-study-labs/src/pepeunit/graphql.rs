//! GraphQL for a schema with one query: aliases, fragments, `@include`, `@skip`, operations by
//! name. Requests are validated before they are executed. Introspection and mutations are not
//! supported.

use std::collections::{HashMap, HashSet};

use graphql_parser::Pos;
use graphql_parser::query::{
    self, Definition, Directive, Field, FragmentDefinition, OperationDefinition, Selection,
    SelectionSet, Type as Written, TypeCondition, Value as Literal, VariableDefinition,
};
use serde_json::{Map, Value, json};

use super::COUNTS;

pub(super) struct GraphQlRequest<'q> {
    pub(super) query: &'q str,
    pub(super) operation: Option<&'q str>,
    pub(super) variables: &'q Map<String, Value>,
}

pub(super) fn answer(asked: &GraphQlRequest<'_>) -> Value {
    match run(asked) {
        Ok(data) => json!({ "data": data }),
        Err(problems) => {
            let errors: Vec<Value> = problems.iter().map(Problem::to_json).collect();
            json!({ "errors": errors })
        }
    }
}

struct Problem {
    message: String,
    at: Option<Pos>,
}

impl Problem {
    fn new(message: impl Into<String>, at: Option<Pos>) -> Self {
        let message = message.into();
        Self { message, at }
    }

    fn to_json(&self) -> Value {
        match self.at {
            None => json!({ "message": self.message }),
            Some(Pos { line, column }) => {
                json!({ "message": self.message, "locations": [{ "line": line, "column": column }] })
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Object {
    Query,
    BaseMetrics,
}

enum Is {
    Object(Object),
    Chunk(Value),
}

impl Object {
    fn name(self) -> &'static str {
        match self {
            Object::Query => "Query",
            Object::BaseMetrics => "BaseMetrics",
        }
    }

    fn field(self, name: &str) -> Option<Is> {
        match (self, name) {
            (_, "__typename") => Some(Is::Chunk(self.name().into())),
            (Object::Query, "getBaseMetrics") => Some(Is::Object(Object::BaseMetrics)),
            (Object::Query, _) => None,
            (Object::BaseMetrics, _) => {
                let count = COUNTS.iter().find(|(known, ..)| *known == name);
                count.map(|(.., count)| Is::Chunk((*count).into()))
            }
        }
    }
}

type Fragments<'q> = HashMap<&'q str, FragmentDefinition<'q, &'q str>>;

struct Operation<'q> {
    name: Option<&'q str>,
    declared: Vec<VariableDefinition<'q, &'q str>>,
    directives: Vec<Directive<'q, &'q str>>,
    set: SelectionSet<'q, &'q str>,
}

fn run(asked: &GraphQlRequest<'_>) -> Result<Value, Vec<Problem>> {
    let one = |problem| vec![problem];
    let document =
        query::parse_query::<&str>(asked.query).map_err(|reason| one(syntax(&reason)))?;
    let (mut fragments, mut operations) = (Fragments::new(), Vec::new());
    for definition in document.definitions {
        match definition {
            Definition::Fragment(fragment) => {
                let (name, at) = (fragment.name, fragment.position);
                if fragments.insert(name, fragment).is_some() {
                    let text = format!("There can be only one fragment named '{name}'.");
                    return Err(one(Problem::new(text, Some(at))));
                }
            }
            Definition::Operation(operation) => operations.push(read(operation).map_err(one)?),
        }
    }
    let (mut problems, mut spread) = (Vec::new(), HashSet::new());
    for operation in &operations {
        let mut check = OperationValidator {
            fragments: &fragments,
            operation,
            used: HashSet::new(),
            spread: HashSet::new(),
            under: Vec::new(),
            problems: Vec::new(),
        };
        check.whole();
        problems.append(&mut check.problems);
        spread.extend(check.spread);
    }
    let unused = fragments.values().filter(|f| !spread.contains(f.name));
    problems.extend(unused.map(|fragment| {
        let text = format!("Fragment '{}' is never used.", fragment.name);
        Problem::new(text, Some(fragment.position))
    }));
    if !problems.is_empty() {
        return Err(problems);
    }
    let operation = chosen(operations, asked.operation).map_err(one)?;
    let variables = config(&operation, asked.variables)?;
    let execution = Execution {
        fragments: &fragments,
        variables,
    };
    execution.object(Object::Query, &[&operation.set])
}

fn syntax(reason: &query::ParseError) -> Problem {
    let text = reason.to_string();
    let words: Vec<&str> = text.split_whitespace().collect();
    let place = |word: &&str| {
        let (line, column) = word.split_once(':')?;
        let (line, column) = (line.parse().ok()?, column.parse().ok()?);
        Some(Pos { line, column })
    };
    let at = words.iter().find_map(place);
    let text = words.join(" ");
    let text = text.strip_prefix("query parse error: ").unwrap_or(&text);
    Problem::new(format!("Syntax Error: {text}"), at)
}

fn read<'q>(operation: OperationDefinition<'q, &'q str>) -> Result<Operation<'q>, Problem> {
    let no = |what: &str, at| {
        let text = format!("Schema is not configured to execute {what} operation.");
        Err(Problem::new(text, Some(at)))
    };
    match operation {
        OperationDefinition::SelectionSet(set) => Ok(Operation {
            name: None,
            declared: Vec::new(),
            directives: Vec::new(),
            set,
        }),
        OperationDefinition::Query(query) => Ok(Operation {
            name: query.name,
            declared: query.variable_definitions,
            directives: query.directives,
            set: query.selection_set,
        }),
        OperationDefinition::Mutation(mutation) => no("mutation", mutation.position),
        OperationDefinition::Subscription(other) => no("subscription", other.position),
    }
}

fn chosen<'q>(
    mut operations: Vec<Operation<'q>>,
    name: Option<&str>,
) -> Result<Operation<'q>, Problem> {
    let wrong = |text: String| Err(Problem::new(text, None));
    match (name, operations.len()) {
        (None, 0) => wrong("Must provide an operation.".to_owned()),
        (None, 1) => Ok(operations.remove(0)),
        (None, _) => {
            wrong("Must provide operation name if query contains multiple operations.".to_owned())
        }
        (Some(name), _) => {
            let found = operations.into_iter().find(|o| o.name == Some(name));
            found.map_or_else(|| wrong(format!("Unknown operation named '{name}'.")), Ok)
        }
    }
}

struct OperationValidator<'a, 'q> {
    fragments: &'a Fragments<'q>,
    operation: &'a Operation<'q>,
    used: HashSet<&'q str>,
    spread: HashSet<&'q str>,
    under: Vec<&'q str>,
    problems: Vec<Problem>,
}

impl<'q> OperationValidator<'_, 'q> {
    fn wrong(&mut self, at: Pos, text: String) {
        self.problems.push(Problem::new(text, Some(at)));
    }

    fn whole(&mut self) {
        let operation = self.operation;
        if let Some(first) = operation.directives.first() {
            self.wrong(first.position, misplaced(first.name));
        }
        let mut declared = HashSet::new();
        for variable in &operation.declared {
            if !declared.insert(variable.name) {
                let text = format!("There can be only one variable named '${}'.", variable.name);
                self.wrong(variable.position, text);
            }
        }
        self.set(&operation.set, Object::Query);
        for variable in &operation.declared {
            if !self.used.contains(variable.name) {
                let text = format!("Variable '${}' is never used.", variable.name);
                self.wrong(variable.position, text);
            }
        }
    }

    fn set(&mut self, set: &SelectionSet<'q, &'q str>, object: Object) {
        for selection in &set.items {
            match selection {
                Selection::Field(field) => self.field(field, object),
                Selection::InlineFragment(inline) => {
                    self.directives(&inline.directives);
                    let on = inline.type_condition.as_ref();
                    self.condition(on, object, inline.position);
                    self.set(&inline.selection_set, object);
                }
                Selection::FragmentSpread(spread) => {
                    self.directives(&spread.directives);
                    self.fragment(spread.fragment_name, object, spread.position);
                }
            }
        }
    }

    fn field(&mut self, field: &Field<'q, &'q str>, object: Object) {
        let (name, at, of) = (field.name, field.position, object.name());
        self.directives(&field.directives);
        let Some(is) = object.field(name) else {
            return self.wrong(at, format!("Cannot query field '{name}' on type '{of}'."));
        };
        for (argument, _) in &field.arguments {
            let text = format!("Unknown argument '{argument}' on field '{of}.{name}'.");
            self.wrong(at, text);
        }
        let empty = field.selection_set.items.is_empty();
        match is {
            Is::Object(object) if empty => {
                let of = object.name();
                let text = format!(
                    "Field '{name}' of type '{of}!' must have a selection of subfields. Did you mean '{name} {{ ... }}'?"
                );
                self.wrong(at, text);
            }
            Is::Object(object) => self.set(&field.selection_set, object),
            Is::Chunk(_) if empty => {}
            Is::Chunk(_) => {
                let text =
                    format!("Field '{name}' must not have a selection since it has no subfields.");
                self.wrong(at, text);
            }
        }
    }

    fn fragment(&mut self, name: &'q str, object: Object, at: Pos) {
        let fragments = self.fragments;
        let Some(fragment) = fragments.get(name) else {
            return self.wrong(at, format!("Unknown fragment '{name}'."));
        };
        if self.under.contains(&name) {
            return self.wrong(
                at,
                format!("Cannot spread fragment '{name}' within itself."),
            );
        }
        self.condition(Some(&fragment.type_condition), object, at);
        if self.spread.insert(name) {
            self.directives(&fragment.directives);
            self.under.push(name);
            self.set(&fragment.selection_set, object);
            self.under.pop();
        }
    }

    fn condition(&mut self, on: Option<&TypeCondition<'q, &'q str>>, object: Object, at: Pos) {
        let Some(TypeCondition::On(on)) = on else {
            return;
        };
        if *on != object.name() {
            let of = object.name();
            let text = format!(
                "A fragment on '{on}' cannot be spread here: objects of type '{of}' are never one."
            );
            self.wrong(at, text);
        }
    }

    fn directives(&mut self, directives: &[Directive<'q, &'q str>]) {
        for directive in directives {
            let (name, at) = (directive.name, directive.position);
            if !["include", "skip"].contains(&name) {
                self.wrong(at, format!("Unknown directive '@{name}'."));
                continue;
            }
            match directive.arguments.as_slice() {
                [("if", Literal::Boolean(_))] => {}
                [("if", Literal::Variable(variable))] => self.variable(variable, at),
                _ => {
                    let text =
                        format!("Directive '@{name}' takes one argument 'if' of type 'Boolean!'.");
                    self.wrong(at, text);
                }
            }
        }
    }

    fn variable(&mut self, name: &'q str, at: Pos) {
        self.used.insert(name);
        let declared = &self.operation.declared;
        let Some(variable) = declared.iter().find(|known| known.name == name) else {
            return self.wrong(
                at,
                format!("Variable '${name}' is not defined by the operation."),
            );
        };
        if !is_boolean(variable) {
            let text = format!(
                "Variable '${name}' of type '{}' used in position expecting type 'Boolean!'.",
                variable.var_type
            );
            self.wrong(at, text);
        }
    }
}

fn misplaced(directive: &str) -> String {
    format!("Directive '@{directive}' may not be used on QUERY.")
}

fn is_boolean<'q>(variable: &VariableDefinition<'q, &'q str>) -> bool {
    match &variable.var_type {
        Written::NonNullType(inner) => matches!(inner.as_ref(), Written::NamedType("Boolean")),
        Written::NamedType("Boolean") => {
            matches!(variable.default_value, Some(Literal::Boolean(_)))
        }
        _ => false,
    }
}

fn config<'q>(
    operation: &Operation<'q>,
    config: &Map<String, Value>,
) -> Result<HashMap<&'q str, bool>, Vec<Problem>> {
    let (mut values, mut problems) = (HashMap::new(), Vec::new());
    for variable in &operation.declared {
        let name = variable.name;
        let value = match (config.get(name), &variable.default_value) {
            (Some(Value::Bool(yes)), _) | (None, Some(Literal::Boolean(yes))) => Ok(*yes),
            (Some(other), _) => Err(format!(
                "Variable '${name}' got invalid value {other}; Boolean cannot represent a non boolean value."
            )),
            (None, _) => Err(format!(
                "Variable '${name}' of required type '{}' was not provided.",
                variable.var_type
            )),
        };
        match value {
            Ok(yes) => {
                values.insert(name, yes);
            }
            Err(text) => problems.push(Problem::new(text, Some(variable.position))),
        }
    }
    if problems.is_empty() {
        Ok(values)
    } else {
        Err(problems)
    }
}

struct Execution<'a, 'q> {
    fragments: &'a Fragments<'q>,
    variables: HashMap<&'q str, bool>,
}

struct SelectedField<'a, 'q> {
    key: &'q str,
    first: &'a Field<'q, &'q str>,
    of_it: Vec<&'a SelectionSet<'q, &'q str>>,
}

#[derive(Default)]
struct Collected<'a, 'q> {
    wanted: Vec<SelectedField<'a, 'q>>,
    places: HashMap<&'q str, usize>,
    spread: HashSet<&'q str>,
}

impl<'a, 'q> Execution<'a, 'q> {
    fn object(
        &self,
        object: Object,
        sets: &[&'a SelectionSet<'q, &'q str>],
    ) -> Result<Value, Vec<Problem>> {
        let mut collected = Collected::default();
        for set in sets {
            self.collect(set, &mut collected)?;
        }
        let mut data = Map::new();
        for wanted in &collected.wanted {
            let value = match object.field(wanted.first.name) {
                Some(Is::Chunk(value)) => value,
                Some(Is::Object(inner)) => self.object(inner, &wanted.of_it)?,
                None => Value::Null,
            };
            data.insert(wanted.key.to_owned(), value);
        }
        Ok(data.into())
    }

    fn collect(
        &self,
        set: &'a SelectionSet<'q, &'q str>,
        into: &mut Collected<'a, 'q>,
    ) -> Result<(), Vec<Problem>> {
        for selection in &set.items {
            match selection {
                Selection::Field(field) if self.includes(&field.directives) => {
                    collect_field(field, into)?;
                }
                Selection::InlineFragment(inline) if self.includes(&inline.directives) => {
                    self.collect(&inline.selection_set, into)?;
                }
                Selection::FragmentSpread(spread) if self.includes(&spread.directives) => {
                    let name = spread.fragment_name;
                    if let Some(fragment) = self.fragments.get(name)
                        && into.spread.insert(name)
                    {
                        self.collect(&fragment.selection_set, into)?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn includes(&self, directives: &[Directive<'q, &'q str>]) -> bool {
        directives.iter().all(|directive| {
            let yes = match directive.arguments.first() {
                Some((_, Literal::Boolean(yes))) => *yes,
                Some((_, Literal::Variable(name))) => {
                    self.variables.get(name).copied().unwrap_or_default()
                }
                _ => false,
            };
            yes == (directive.name == "include")
        })
    }
}

fn collect_field<'a, 'q>(
    field: &'a Field<'q, &'q str>,
    into: &mut Collected<'a, 'q>,
) -> Result<(), Vec<Problem>> {
    let key = field.alias.unwrap_or(field.name);
    let place = *into.places.entry(key).or_insert(into.wanted.len());
    if place == into.wanted.len() {
        into.wanted.push(SelectedField {
            key,
            first: field,
            of_it: Vec::new(),
        });
    }
    let wanted = &mut into.wanted[place];
    if wanted.first.name != field.name {
        let text = format!(
            "Fields '{key}' conflict because '{}' and '{}' are different fields.",
            wanted.first.name, field.name
        );
        return Err(vec![Problem::new(text, Some(field.position))]);
    }
    wanted.of_it.push(&field.selection_set);
    Ok(())
}
