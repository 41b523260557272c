//! Modules by Node's rules: CommonJS, ES modules, JSON, packages in `node_modules`, and the core
//! modules of `surface`.

use std::{
    cell::RefCell,
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    rc::Rc,
};

use oxc_resolver::{ResolveOptions, Resolver};
use rquickjs::{
    Ctx, Error, Exception, Function, Module, Object, Persistent, Result, Value as Js,
    context::EvalOptions,
    function::This,
    loader::{ImportAttributes, Loader, Resolver as ModuleResolver},
    module::Declared,
    prelude::Func,
};

use super::{native::throw_coded, surface, typescript};

/// Name of the global function through which ES modules access CommonJS modules.
pub const REQUIRE: &str = "loadline:require";
/// Prefix of the file name of a wrapped module in stacks. Columns in its first line are shifted by
/// [`OPENING`].
pub const WRAPPED: &str = "cjs:";
/// Text that precedes the source of a CommonJS module.
pub const OPENING: &str = "(function (exports, require, module, __filename, __dirname) { ";

/// The modules of an instance.
pub struct Modules {
    required: Resolver,
    imported: Resolver,
    /// Module objects of loaded CommonJS modules, by path or core name.
    loaded: RefCell<HashMap<String, Persistent<Object<'static>>>>,
}

impl Modules {
    pub fn new() -> Rc<Modules> {
        let options = |condition: &str| ResolveOptions {
            condition_names: ["node", condition, "default"].map(str::to_owned).into(),
            extensions: [".js", ".json", ".cjs", ".mjs", ".ts"]
                .map(str::to_owned)
                .into(),
            main_fields: vec!["main".to_owned()],
            // In TypeScript, an import contains the name of the compiled file.
            extension_alias: [(".js", ".ts"), (".mjs", ".mts"), (".cjs", ".cts")]
                .map(|(js, ts)| (js.to_owned(), vec![js.to_owned(), ts.to_owned()]))
                .into(),
            ..ResolveOptions::default()
        };
        Rc::new(Modules {
            required: Resolver::new(options("require")),
            imported: Resolver::new(options("import")),
            loaded: RefCell::default(),
        })
    }

    /// Drops all loaded modules and their JavaScript values.
    pub fn clear(&self) {
        self.loaded.borrow_mut().clear();
    }

    /// Enables imports for the ES modules of this context.
    pub fn attach(self: &Rc<Modules>, ctx: &Ctx<'_>) -> Result<()> {
        let own = Rc::clone(self);
        let require = move |ctx: Ctx<'_>, name: String| -> Result<Persistent<Js<'static>>> {
            let value = own.load(&ctx, &name)?;
            Ok(Persistent::save(&ctx, value))
        };
        ctx.globals()
            .prop(REQUIRE, Function::new(ctx.clone(), require)?)
    }

    /// Loads the script and returns its exports: the members of its default export, and its named
    /// exports.
    pub fn load_script<'js>(
        self: &Rc<Modules>,
        ctx: &Ctx<'js>,
        file: &Path,
    ) -> Result<Object<'js>> {
        let exports = self.load(ctx, &file.to_string_lossy())?;
        let all = Object::new(ctx.clone())?;
        let add = |from: &Js<'js>| -> Result<()> {
            if let Some(from) = from.as_object() {
                for entry in from.props::<String, Js<'js>>() {
                    let (name, value) = entry?;
                    all.set(name, value)?;
                }
            }
            Ok(())
        };
        if let Some(object) = exports.as_object() {
            add(&object.get("default")?)?;
        }
        add(&exports)?;
        Ok(all)
    }

    /// Returns the exports of a module, by its path or core name.
    fn load<'js>(self: &Rc<Modules>, ctx: &Ctx<'js>, name: &str) -> Result<Js<'js>> {
        let known = self.loaded.borrow().get(name).cloned();
        if let Some(module) = known {
            return module.restore(ctx)?.get("exports");
        }
        if let Some(core) = name.strip_prefix("node:") {
            return self.load_core(ctx, core);
        }
        let path = Path::new(name);
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("json") => {
                let module = self.new_module(ctx, name)?;
                module.set("exports", json(ctx, path)?)?;
                module.get("exports")
            }
            Some("node") => {
                let message = native_module(path);
                Err(throw_coded(ctx, "ERR_DLOPEN_FAILED", &message))
            }
            _ => self.load_code(ctx, name, path),
        }
    }

    fn load_code<'js>(
        self: &Rc<Modules>,
        ctx: &Ctx<'js>,
        name: &str,
        path: &Path,
    ) -> Result<Js<'js>> {
        let source = source(ctx, path)?;
        if is_module(path, &source) {
            let promise = Module::import(ctx, name)?;
            return match promise.finish() {
                Err(Error::WouldBlock) => {
                    let message = format!(
                        "`{name}` waits at its top level for a timer or a response, which is not possible while it is loaded"
                    );
                    Err(Exception::throw_message(ctx, &message))
                }
                result => result,
            };
        }
        let wrapper = compile(ctx, name, &source)?;
        let module = self.new_module(ctx, name)?;
        let exports: Js<'js> = module.get("exports")?;
        let folder = path.parent().unwrap_or(Path::new("/")).to_path_buf();
        let require = self.require(ctx, folder.clone())?;
        let arguments = (
            This(exports.clone()),
            exports,
            require,
            module.clone(),
            name,
            folder.to_string_lossy().into_owned(),
        );
        let called: Result<()> = wrapper.call(arguments);
        if let Err(error) = called {
            // A later `require` tries again.
            self.loaded.borrow_mut().remove(name);
            return Err(error);
        }
        module.set("loaded", true)?;
        module.get("exports")
    }

    fn load_core<'js>(self: &Rc<Modules>, ctx: &Ctx<'js>, name: &str) -> Result<Js<'js>> {
        let Some(source) = surface::core_module(name) else {
            let message = not_available(name);
            return Err(throw_coded(ctx, "ERR_UNKNOWN_BUILTIN_MODULE", &message));
        };
        let options = evaluation(format!("node:{name}"));
        let wrapper: Function<'js> = ctx.eval_with_options(
            format!("(function (module, exports, require, native) {{{source}\n}})"),
            options,
        )?;
        let module = self.new_module(ctx, &format!("node:{name}"))?;
        let exports: Js<'js> = module.get("exports")?;
        let require = self.require(ctx, PathBuf::from("/"))?;
        let native: Js<'js> = ctx.globals().get(surface::NATIVE)?;
        wrapper.call::<_, ()>((module.clone(), exports, require, native))?;
        module.get("exports")
    }

    fn new_module<'js>(&self, ctx: &Ctx<'js>, name: &str) -> Result<Object<'js>> {
        let module = Object::new(ctx.clone())?;
        module.set("id", name)?;
        module.set("filename", name)?;
        module.set("loaded", false)?;
        module.set("exports", Object::new(ctx.clone())?)?;
        let kept = Persistent::save(ctx, module.clone());
        self.loaded.borrow_mut().insert(name.to_owned(), kept);
        Ok(module)
    }

    /// Creates the `require` function of a module in a folder.
    fn require<'js>(self: &Rc<Modules>, ctx: &Ctx<'js>, folder: PathBuf) -> Result<Function<'js>> {
        let (own, from) = (Rc::clone(self), folder.clone());
        let require = Function::new(
            ctx.clone(),
            move |ctx: Ctx<'_>, name: String| -> Result<Persistent<Js<'static>>> {
                let found = own.find(&ctx, &own.required, &from, &name)?;
                let value = own.load(&ctx, &found)?;
                Ok(Persistent::save(&ctx, value))
            },
        )?;
        let own = Rc::clone(self);
        let resolve =
            move |ctx: Ctx<'_>, name: String| own.find(&ctx, &own.required, &folder, &name);
        require
            .as_object()
            .map(|object| object.set("resolve", Func::from(resolve)))
            .transpose()?;
        Ok(require)
    }

    /// Finds a module and returns its path, or `node:` and its core name.
    fn find(&self, ctx: &Ctx<'_>, by: &Resolver, folder: &Path, name: &str) -> Result<String> {
        let core = name.strip_prefix("node:");
        if let Some(core) = core.or_else(|| surface::is_core(name).then_some(name)) {
            return Ok(format!("node:{core}"));
        }
        let found = by
            .resolve(folder, name)
            .map_err(|_| throw_coded(ctx, "MODULE_NOT_FOUND", &not_found(folder, name)))?;
        Ok(found.full_path().to_string_lossy().into_owned())
    }

    /// Finds the file of an imported module. `None` for a core module.
    ///
    /// # Errors
    ///
    /// Returns the reason why the module cannot be loaded.
    pub fn resolve(
        &self,
        file: &Path,
        name: &str,
        is_import: bool,
    ) -> std::result::Result<Option<PathBuf>, String> {
        let core = name.strip_prefix("node:");
        if let Some(core) = core.or_else(|| surface::is_core(name).then_some(name)) {
            return match surface::core_module(core) {
                Some(_) => Ok(None),
                None => Err(not_available(core)),
            };
        }
        let folder = file.parent().unwrap_or(Path::new("/"));
        let by = if is_import {
            &self.imported
        } else {
            &self.required
        };
        let found = by.resolve(folder, name);
        let path = found.map_err(|_| not_found(folder, name))?.full_path();
        match path.extension().is_some_and(|ending| ending == "node") {
            true => Err(native_module(&path)),
            false => Ok(Some(path)),
        }
    }
}

fn not_found(folder: &Path, name: &str) -> String {
    let advice = match name.starts_with(['.', '/']) {
        true => "correct its path".to_owned(),
        false => format!("run `npm install {}` there", package(name)),
    };
    let folder = folder.display();
    format!("Cannot find module '{name}' from {folder}: {advice}")
}

fn not_available(core: &str) -> String {
    let available = surface::core_names().join(", ");
    format!("the Node.js module `{core}` is not available to scripts: available are {available}")
}

fn native_module(path: &Path) -> String {
    let path = path.display();
    format!(
        "`{path}` is a native module, which cannot be loaded: use a package written in JavaScript"
    )
}

/// Returns the package name in the name of a module.
fn package(name: &str) -> &str {
    let parts = if name.starts_with('@') { 2 } else { 1 };
    let end = name
        .match_indices('/')
        .nth(parts - 1)
        .map_or(name.len(), |(at, _)| at);
    &name[..end]
}

fn evaluation(filename: String) -> EvalOptions {
    let mut options = EvalOptions::default();
    options.global = true;
    options.strict = false;
    options.filename = Some(filename);
    options
}

/// Compiles a CommonJS module to a function with the parameters of [`OPENING`].
pub fn compile<'js>(ctx: &Ctx<'js>, name: &str, source: &str) -> Result<Function<'js>> {
    // A line comment at the end must not hide the closing bracket.
    let wrapped = format!("{OPENING}{source}\n}})");
    ctx.eval_with_options(wrapped, evaluation(format!("{WRAPPED}{name}")))
}

fn source(ctx: &Ctx<'_>, path: &Path) -> Result<String> {
    let bytes = fs::read(path).map_err(|error| {
        let message = format!("cannot read {}: {error}", path.display());
        throw_coded(ctx, "MODULE_NOT_FOUND", &message)
    })?;
    let text = plain_text(&bytes);
    if !typescript::is_typescript(path) {
        return Ok(text);
    }
    typescript::strip_types(&text).map_err(|refusal| {
        let error = match Exception::from_message(ctx.clone(), &refusal.message) {
            Ok(error) => error,
            Err(error) => return error,
        };
        let at = format!(
            "    at {}:{}:{}\n",
            path.display(),
            refusal.line,
            refusal.column
        );
        let _ = error.as_object().set("name", "SyntaxError");
        let _ = error.as_object().set("stack", at);
        error.throw()
    })
}

/// Returns the text of a source file without byte order mark and `#!` line.
pub fn plain_text(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    // The first line may contain an interpreter.
    match text.strip_prefix("#!") {
        Some(rest) => format!("//{rest}"),
        None => text.to_owned(),
    }
}

fn json<'js>(ctx: &Ctx<'js>, path: &Path) -> Result<Js<'js>> {
    let text = source(ctx, path)?;
    ctx.json_parse(text).map_err(|error| {
        let thrown = super::failure::Thrown::new(ctx, &error);
        let message = format!("{} is not JSON: {}", path.display(), thrown.message);
        Exception::throw_syntax(ctx, &message)
    })
}

/// Returns whether a file is an ES module, by its extension, by the nearest `package.json`, or
/// otherwise by its syntax.
fn is_module(path: &Path, source: &str) -> bool {
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("mjs" | "mts") => return true,
        Some("cjs" | "cts") => return false,
        _ => {}
    }
    match package_type(path).as_deref() {
        Some("module") => true,
        Some("commonjs") => false,
        _ => {
            let mut lines = source.lines().map(str::trim_start);
            lines.any(|line| {
                let word = |word| {
                    line.strip_prefix(word)
                        .is_some_and(|rest| rest.starts_with([' ', '{', '*', '"', '\'']))
                };
                word("import") || word("export")
            })
        }
    }
}

fn package_type(path: &Path) -> Option<String> {
    let mut folders = path.ancestors().skip(1);
    let text = folders.find_map(|folder| fs::read_to_string(folder.join("package.json")).ok())?;
    let package: serde_json::Value = serde_json::from_str(&text).ok()?;
    Some(package.get("type")?.as_str()?.to_owned())
}

/// Resolves and loads the imports of ES modules.
pub struct Imports(pub Rc<Modules>);

impl ModuleResolver for Imports {
    fn resolve<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        base: &str,
        name: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> Result<String> {
        // The script itself is imported by its path.
        if name.starts_with('/') && Path::new(name).is_file() {
            return Ok(name.to_owned());
        }
        let name = name.strip_prefix("file://").unwrap_or(name);
        let folder = Path::new(base).parent().unwrap_or(Path::new("/"));
        self.0.find(ctx, &self.0.imported, folder, name)
    }
}

impl Loader for Imports {
    fn load<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        name: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> Result<Module<'js, Declared>> {
        let path = Path::new(name);
        let is_code = !name.starts_with("node:") && path.extension().is_none_or(|e| e != "json");
        if is_code {
            let source = source(ctx, path)?;
            if is_module(path, &source) {
                let module = Module::declare(ctx.clone(), name, source)?;
                let meta = module.meta()?;
                meta.set("url", format!("file://{name}"))?;
                meta.set("filename", name)?;
                let folder = path.parent().unwrap_or(Path::new("/"));
                meta.set("dirname", folder.to_string_lossy().into_owned())?;
                return Ok(module);
            }
        }
        let exports = self.0.load(ctx, name)?;
        Module::declare(ctx.clone(), name, bridge(name, &exports)?)
    }
}

/// Returns the source of an ES module that exports the exports of a CommonJS module.
pub fn bridge(name: &str, exports: &Js<'_>) -> Result<String> {
    let quoted = serde_json::Value::from(name).to_string();
    let mut source =
        format!("const all = globalThis['{REQUIRE}']({quoted});\nexport default all;\n");
    let Some(object) = exports.as_object() else {
        return Ok(source);
    };
    for (index, key) in object.keys::<String>().enumerate() {
        let key = key?;
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
        let is_identifier =
            key.chars().all(is_name) && !key.starts_with(|c: char| c.is_ascii_digit());
        if is_identifier && !key.is_empty() && key != "default" {
            source.push_str(&format!(
                "const v{index} = all.{key};\nexport {{ v{index} as {key} }};\n"
            ));
        }
    }
    Ok(source)
}

#[cfg(test)]
mod tests {
    use super::package;

    #[test]
    fn package_is_the_first_part_of_a_name() {
        assert_eq!(package("lodash/fp"), "lodash");
        assert_eq!(package("@faker-js/faker/locale/de"), "@faker-js/faker");
        assert_eq!(package("uuid"), "uuid");
    }
}
