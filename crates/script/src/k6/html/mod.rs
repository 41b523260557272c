//! The module `k6/html`: selections of elements in HTML documents.

mod element;
mod forms;
mod limits;
mod steps;

pub use forms::{form_fields, form_request};
pub use limits::parse;

use std::rc::Rc;

use query::markup::{NodeId, ROOT, Selector, Tree};
use rquickjs::{
    Class, Coerced, Ctx, Function, Object, Result, Value as Js,
    prelude::{Func, Rest, This},
};

use super::{core::is_true, errors::throw};
use crate::js::{
    edge::{Native, native_class},
    values::{text_to_js, to_js},
};
use element::Element;

/// The elements of a document that a script has selected, in document order.
pub struct Selection {
    pub tree: Rc<Tree>,
    pub nodes: Vec<NodeId>,
    /// Selection from which this one was created, for `end`.
    before: Option<Rc<Selection>>,
}

type SelectionInstance<'js> = Class<'js, Native<Rc<Selection>>>;
/// Arguments of a method.
type Arguments<'a, 'js> = &'a [Js<'js>];
type Method =
    for<'a, 'js> fn(&'a Ctx<'js>, &'a Rc<Selection>, Arguments<'a, 'js>) -> Result<Js<'js>>;
/// Returns the nodes that a step from a node leads to.
type Step = fn(&Tree, NodeId) -> Vec<NodeId>;

native_class!(Rc<Selection>, "Selection", add_methods);

/// Adds the methods to the prototype.
fn add_methods<'js>(prototype: &Object<'js>) -> Result<()> {
    for (name, method) in METHODS {
        let call =
            move |ctx: Ctx<'js>, this: This<SelectionInstance<'js>>, values: Rest<Js<'js>>| {
                let selection = Rc::clone(&this.0.borrow().0);
                method(&ctx, &selection, &values.0)
            };
        prototype.set(name, Func::from(call))?;
    }
    for (name, step) in STEPS {
        let call =
            move |ctx: Ctx<'js>, this: This<SelectionInstance<'js>>, values: Rest<Js<'js>>| {
                let selection = Rc::clone(&this.0.borrow().0);
                let nodes = selection.each_step(step);
                let nodes = kept(&ctx, &selection, nodes, values.0.first(), true)?;
                selection.create(&ctx, nodes)
            };
        prototype.set(name, Func::from(call))?;
    }
    for (name, step) in UNTIL {
        let call =
            move |ctx: Ctx<'js>, this: This<SelectionInstance<'js>>, values: Rest<Js<'js>>| {
                let selection = Rc::clone(&this.0.borrow().0);
                until(&ctx, &selection, step, &values.0)
            };
        prototype.set(name, Func::from(call))?;
    }
    Ok(())
}

const STEPS: [(&str, Step); 9] = [
    ("children", steps::children),
    ("next", steps::next),
    ("nextAll", steps::next_all),
    ("parent", steps::parent),
    ("parents", steps::parents),
    ("prev", steps::previous),
    ("prevAll", steps::previous_all),
    ("siblings", steps::siblings),
    ("contents", steps::contents),
];

const UNTIL: [(&str, Step); 3] = [
    ("nextUntil", steps::next_all),
    ("parentsUntil", steps::parents),
    ("prevUntil", steps::previous_all),
];

const METHODS: [(&str, Method); 27] = [
    ("add", add),
    ("attr", attribute),
    ("closest", closest),
    ("data", data),
    ("each", each),
    ("end", |ctx, of, _| match &of.before {
        Some(before) => wrap(ctx, Rc::clone(before)),
        None => of.create(ctx, Vec::new()),
    }),
    ("eq", |ctx, of, values| {
        let index = index(values.first(), of.nodes.len())?;
        of.create(
            ctx,
            index
                .and_then(|index| of.nodes.get(index))
                .copied()
                .into_iter()
                .collect(),
        )
    }),
    ("filter", |ctx, of, values| {
        let nodes = kept(ctx, of, of.nodes.clone(), values.first(), true)?;
        of.create(ctx, nodes)
    }),
    ("find", |ctx, of, values| {
        let inside = steps::inside(&of.tree, &of.nodes);
        let nodes = kept(ctx, of, inside, values.first(), true)?;
        of.create(ctx, nodes)
    }),
    ("first", |ctx, of, _| {
        of.create(ctx, of.nodes.first().copied().into_iter().collect())
    }),
    ("get", get),
    ("has", |ctx, of, values| {
        let has = |id: &NodeId| -> Result<bool> {
            let inside = steps::inside(&of.tree, &[*id]);
            Ok(!kept(ctx, of, inside, values.first(), true)?.is_empty())
        };
        let mut nodes = Vec::new();
        for id in &of.nodes {
            if has(id)? {
                nodes.push(*id);
            }
        }
        of.create(ctx, nodes)
    }),
    ("html", |ctx, of, _| match of.nodes.first() {
        Some(id) => text_to_js(ctx, &of.tree.inner_html(*id)),
        None => Ok(Js::new_undefined(ctx.clone())),
    }),
    ("index", position),
    ("is", |ctx, of, values| {
        let nodes = kept(ctx, of, of.nodes.clone(), values.first(), true)?;
        Ok(Js::new_bool(ctx.clone(), !nodes.is_empty()))
    }),
    ("last", |ctx, of, _| {
        of.create(ctx, of.nodes.last().copied().into_iter().collect())
    }),
    ("map", map),
    ("not", |ctx, of, values| {
        let nodes = kept(ctx, of, of.nodes.clone(), values.first(), false)?;
        of.create(ctx, nodes)
    }),
    ("serialize", |ctx, of, _| {
        let mut text = String::new();
        for (name, value) in form_fields(&of.tree, &of.nodes) {
            codec::url::push_pair(&mut text, &name, &value);
        }
        text_to_js(ctx, &text)
    }),
    ("serializeArray", |ctx, of, _| {
        let fields = form_fields(&of.tree, &of.nodes).into_iter();
        let fields = fields.map(|(name, value)| serde_json::json!({"name": name, "value": value}));
        to_js(ctx, &fields.collect())
    }),
    ("serializeObject", |ctx, of, _| {
        let object = Object::new(ctx.clone())?;
        for (name, value) in form_fields(&of.tree, &of.nodes) {
            object.set(name, value)?;
        }
        Ok(object.into_value())
    }),
    ("size", |ctx, of, _| {
        Ok(Js::new_int(ctx.clone(), of.nodes.len() as i32))
    }),
    ("slice", |ctx, of, values| {
        let length = of.nodes.len();
        let bound = |value: Option<&Js<'_>>, default: usize| -> Result<usize> {
            match value.filter(|value| !value.is_undefined()) {
                Some(value) => {
                    let at = value.get::<Coerced<f64>>()?.0;
                    let at = if at < 0.0 { at + length as f64 } else { at };
                    Ok((at.max(0.0) as usize).min(length))
                }
                None => Ok(default),
            }
        };
        let (from, to) = (bound(values.first(), 0)?, bound(values.get(1), length)?);
        of.create(ctx, of.nodes.get(from..to).unwrap_or_default().to_vec())
    }),
    ("text", |ctx, of, _| {
        let texts = of.nodes.iter().map(|id| of.tree.text(*id));
        text_to_js(ctx, &texts.collect::<String>())
    }),
    ("toArray", |ctx, of, _| {
        let singles = of.nodes.iter().map(|id| of.create(ctx, vec![*id]));
        array(ctx, singles.collect::<Result<_>>()?)
    }),
    ("val", |ctx, of, _| match of.nodes.first() {
        Some(id) => {
            let values = forms::values(&of.tree, *id);
            match forms::is_multiple(&of.tree, *id) {
                true => to_js(ctx, &values.into()),
                false => match values.first() {
                    Some(value) => text_to_js(ctx, value),
                    None => Ok(Js::new_undefined(ctx.clone())),
                },
            }
        }
        None => Ok(Js::new_undefined(ctx.clone())),
    }),
    ("toString", |ctx, of, _| {
        let texts = of.nodes.iter().map(|id| of.tree.outer_html(*id));
        text_to_js(ctx, &texts.collect::<String>())
    }),
];

/// Creates the module.
pub fn module<'js>(ctx: &Ctx<'js>) -> Result<Object<'js>> {
    let module = Object::new(ctx.clone())?;
    let parse = |ctx: Ctx<'js>, text: Coerced<String>| document(&ctx, &text.0);
    module.set("parseHTML", Func::from(parse))?;
    Ok(module)
}

/// Parses HTML and returns the selection of its document.
///
/// # Errors
///
/// Throws if the document exceeds a limit.
pub fn document<'js>(ctx: &Ctx<'js>, html: &str) -> Result<Js<'js>> {
    let selection = Selection {
        tree: Rc::new(parse(ctx, html)?),
        nodes: vec![ROOT],
        before: None,
    };
    wrap(ctx, Rc::new(selection))
}

/// Parses a selector.
///
/// # Errors
///
/// Throws if it is not a CSS selector.
pub fn selector(ctx: &Ctx<'_>, text: &str) -> Result<Selector> {
    Selector::parse(text).map_err(|_| {
        let message = format!("'{text}' is not a supported CSS selector");
        throw(ctx, &message)
    })
}

fn wrap<'js>(ctx: &Ctx<'js>, selection: Rc<Selection>) -> Result<Js<'js>> {
    Ok(Class::instance(ctx.clone(), Native(selection))?.into_value())
}

fn array<'js>(ctx: &Ctx<'js>, values: Vec<Js<'js>>) -> Result<Js<'js>> {
    let array = rquickjs::Array::new(ctx.clone())?;
    for (index, value) in values.into_iter().enumerate() {
        array.set(index, value)?;
    }
    Ok(array.into_value())
}

impl Selection {
    /// Creates a selection from this one.
    fn create<'js>(self: &Rc<Self>, ctx: &Ctx<'js>, nodes: Vec<NodeId>) -> Result<Js<'js>> {
        let selection = Selection {
            tree: Rc::clone(&self.tree),
            nodes,
            before: Some(Rc::clone(self)),
        };
        wrap(ctx, Rc::new(selection))
    }

    /// Returns the nodes that a step from any node leads to, each once.
    fn each_step(&self, step: Step) -> Vec<NodeId> {
        let nodes = self.nodes.iter().flat_map(|id| step(&self.tree, *id));
        steps::unique(nodes)
    }
}

/// Returns the nodes that match a condition, or those that do not. A condition is a selector, a
/// function, a selection or an element. Without a condition, returns all nodes.
fn kept<'js>(
    ctx: &Ctx<'js>,
    of: &Rc<Selection>,
    mut nodes: Vec<NodeId>,
    condition: Option<&Js<'js>>,
    fits: bool,
) -> Result<Vec<NodeId>> {
    let Some(condition) = condition.filter(|c| !c.is_undefined() && !c.is_null()) else {
        return Ok(nodes);
    };
    if let Some(function) = condition.as_function() {
        let mut kept = Vec::new();
        for (index, id) in nodes.into_iter().enumerate() {
            let passes: Js<'js> = function.call((index, element::create(ctx, &of.tree, id)?))?;
            if is_true(&passes)? == fits {
                kept.push(id);
            }
        }
        return Ok(kept);
    }
    let wanted = nodes_of(ctx, of, condition)?;
    let wanted: std::collections::HashSet<NodeId> = wanted.into_iter().collect();
    nodes.retain(|id| wanted.contains(id) == fits);
    Ok(nodes)
}

/// Returns the nodes in the same document that a selector, a selection or an element stands for.
fn nodes_of<'js>(ctx: &Ctx<'js>, of: &Selection, value: &Js<'js>) -> Result<Vec<NodeId>> {
    if let Some(object) = value.as_object() {
        if let Some(other) = SelectionInstance::from_object(object) {
            let other = other.borrow();
            let is_same = Rc::ptr_eq(&other.0.tree, &of.tree);
            return Ok(if is_same {
                other.0.nodes.clone()
            } else {
                Vec::new()
            });
        }
        if let Some(other) = Class::<Native<Element>>::from_object(object) {
            let other = other.borrow();
            let is_same = Rc::ptr_eq(&other.0.tree, &of.tree);
            return Ok(if is_same {
                vec![other.0.node]
            } else {
                Vec::new()
            });
        }
    }
    let text = value.get::<Coerced<String>>()?.0;
    Ok(selector(ctx, &text)?.elements(&of.tree))
}

fn until<'js>(
    ctx: &Ctx<'js>,
    of: &Rc<Selection>,
    step: Step,
    values: Arguments<'_, 'js>,
) -> Result<Js<'js>> {
    let stops = match values.first().filter(|value| !value.is_undefined()) {
        Some(value) => nodes_of(ctx, of, value)?,
        None => Vec::new(),
    };
    let mut nodes = Vec::new();
    for id in &of.nodes {
        let all = step(&of.tree, *id).into_iter();
        nodes.extend(all.take_while(|id| !stops.contains(id)));
    }
    let nodes = kept(ctx, of, steps::unique(nodes), values.get(1), true)?;
    of.create(ctx, nodes)
}

fn index(value: Option<&Js<'_>>, length: usize) -> Result<Option<usize>> {
    let Some(value) = value else {
        return Ok(None);
    };
    let at = value.get::<Coerced<f64>>()?.0;
    let at = if at < 0.0 { at + length as f64 } else { at };
    Ok((at >= 0.0 && at < length as f64).then_some(at as usize))
}

fn add<'js>(ctx: &Ctx<'js>, of: &Rc<Selection>, values: Arguments<'_, 'js>) -> Result<Js<'js>> {
    let mut nodes = of.nodes.clone();
    if let Some(value) = values.first() {
        nodes.extend(nodes_of(ctx, of, value)?);
    }
    of.create(ctx, steps::unique(nodes))
}

fn attribute<'js>(
    ctx: &Ctx<'js>,
    of: &Rc<Selection>,
    values: Arguments<'_, 'js>,
) -> Result<Js<'js>> {
    let name = match values.first() {
        Some(name) => name.get::<Coerced<String>>()?.0,
        None => return Err(throw(ctx, "attr() requires the name of an attribute")),
    };
    let found = of
        .nodes
        .first()
        .and_then(|id| of.tree.attribute(*id, &name));
    match (found, values.get(1)) {
        (Some(value), _) => text_to_js(ctx, value),
        (None, Some(default)) => Ok(default.clone()),
        (None, None) => Ok(Js::new_undefined(ctx.clone())),
    }
}

fn closest<'js>(ctx: &Ctx<'js>, of: &Rc<Selection>, values: Arguments<'_, 'js>) -> Result<Js<'js>> {
    let wanted = match values.first() {
        Some(value) => nodes_of(ctx, of, value)?,
        None => Vec::new(),
    };
    let nearest = |id: &NodeId| {
        let mut path = std::iter::once(*id).chain(steps::parents(&of.tree, *id));
        path.find(|id| wanted.contains(id))
    };
    let nodes = of.nodes.iter().filter_map(nearest);
    of.create(ctx, steps::unique(nodes))
}

fn data<'js>(ctx: &Ctx<'js>, of: &Rc<Selection>, values: Arguments<'_, 'js>) -> Result<Js<'js>> {
    let attributes = of
        .nodes
        .first()
        .map_or(&[][..], |id| of.tree.attributes(*id));
    let pairs = attributes.iter().filter_map(|(name, value)| {
        let name = name.strip_prefix("data-")?;
        Some((steps::camel_case(name), steps::data_value(value)))
    });
    if let Some(key) = values.first().filter(|key| !key.is_undefined()) {
        let key = steps::camel_case(&key.get::<Coerced<String>>()?.0);
        let mut pairs = pairs;
        return match pairs.find(|(name, _)| *name == key) {
            Some((_, value)) => to_js(ctx, &value),
            None => Ok(Js::new_undefined(ctx.clone())),
        };
    }
    to_js(ctx, &serde_json::Value::Object(pairs.collect()))
}

fn callback<'js>(ctx: &Ctx<'js>, values: Arguments<'_, 'js>) -> Result<Function<'js>> {
    let function = values.first().and_then(Js::as_function).cloned();
    function.ok_or_else(|| throw(ctx, "the argument must be a function"))
}

fn each<'js>(ctx: &Ctx<'js>, of: &Rc<Selection>, values: Arguments<'_, 'js>) -> Result<Js<'js>> {
    let function = callback(ctx, values)?;
    for (index, id) in of.nodes.iter().enumerate() {
        function.call::<_, ()>((index, element::create(ctx, &of.tree, *id)?))?;
    }
    wrap(ctx, Rc::clone(of))
}

fn map<'js>(ctx: &Ctx<'js>, of: &Rc<Selection>, values: Arguments<'_, 'js>) -> Result<Js<'js>> {
    let function = callback(ctx, values)?;
    let mut results = Vec::with_capacity(of.nodes.len());
    for (index, id) in of.nodes.iter().enumerate() {
        results.push(function.call((index, element::create(ctx, &of.tree, *id)?))?);
    }
    array(ctx, results)
}

fn get<'js>(ctx: &Ctx<'js>, of: &Rc<Selection>, values: Arguments<'_, 'js>) -> Result<Js<'js>> {
    if let Some(value) = values.first().filter(|value| !value.is_undefined()) {
        let index = index(Some(value), of.nodes.len())?;
        return match index.and_then(|index| of.nodes.get(index)) {
            Some(id) => element::create(ctx, &of.tree, *id),
            None => Ok(Js::new_undefined(ctx.clone())),
        };
    }
    let elements = of
        .nodes
        .iter()
        .map(|id| element::create(ctx, &of.tree, *id));
    array(ctx, elements.collect::<Result<_>>()?)
}

/// Returns the position of the first node among its siblings, or of the given node in the
/// selection.
fn position<'js>(
    ctx: &Ctx<'js>,
    of: &Rc<Selection>,
    values: Arguments<'_, 'js>,
) -> Result<Js<'js>> {
    let given = values.first().filter(|value| !value.is_undefined());
    let first = of.nodes.first().copied();
    let position = match given {
        None => first.and_then(|id| of.tree.siblings(id).iter().position(|other| *other == id)),
        Some(value) if value.is_string() => {
            let all = nodes_of(ctx, of, value)?;
            all.iter().position(|id| Some(*id) == first)
        }
        Some(value) => {
            let wanted = nodes_of(ctx, of, value)?.first().copied();
            of.nodes.iter().position(|id| Some(*id) == wanted)
        }
    };
    Ok(Js::new_int(
        ctx.clone(),
        position.map_or(-1, |at| at as i32),
    ))
}
