//! The server: dispatches tool calls, logs them, and ends the active run when the client
//! disconnects.

use std::{
    io::ErrorKind,
    path::Path,
    sync::{
        Arc, Mutex,
        mpsc::{self, RecvTimeoutError, Sender},
    },
    thread::JoinHandle,
    time::Duration,
};

use plan::units::SECOND;
use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock,
        GetPromptRequestParams, GetPromptResponse, GetPromptResult, Implementation,
        ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
        PaginatedRequestParams, PromptMessage, ReadResourceRequestParams, ReadResourceResponse,
        ReadResourceResult, ResourceContents, Role, ServerCapabilities, ServerConfig,
    },
    service::RequestContext,
};
use tokio::time::sleep;

use crate::{
    answer::{Answer, RenderedAnswer},
    call_log::{CallEntry, CallLog},
    hosts::AllowedHosts,
    options::ServerOptions,
    processes::Processes,
    prompts, resources, tools,
};

mod calls;

const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Time that requests in flight have to finish after the client has disconnected.
const PATIENCE_NS: u64 = 35 * SECOND;

/// State shared by all calls.
#[derive(Debug)]
pub(crate) struct ServerState {
    pub options: ServerOptions,
    pub allowed: AllowedHosts,
    pub processes: Mutex<Processes>,
    pub questions: crate::confirmation::Questions,
    log: CallLog,
}

#[derive(Debug, Clone)]
struct McpServer(Arc<ServerState>);

/// Serves one client over standard input and output, until the client closes standard input. An
/// active run then ends as by Ctrl-C.
///
/// Fails with a one-line error if the settings are invalid, the folder of records cannot be
/// written, or the connection fails.
pub fn serve(mut options: ServerOptions) -> Result<(), String> {
    options.runs = std::path::absolute(&options.runs)
        .map_err(|error| format!("--runs {}: {error}", options.runs.display()))?;
    if let Some(plans) = &options.plans {
        let plans = plans
            .canonicalize()
            .map_err(|error| plans_error(plans, &error))?;
        options.plans = Some(plans);
    }
    let fixed = std::env::var("LOADLINE_ALLOW_HOSTS").ok();
    let state = Arc::new(ServerState {
        allowed: AllowedHosts::read(&options.allow_hosts, fixed.as_deref())?,
        log: CallLog::open(&options.runs)?,
        processes: Mutex::default(),
        questions: crate::confirmation::Questions::default(),
        options,
    });
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("cannot start the server: {error}"))?;
    let result = runtime.block_on(run(state));
    // A thread may still be waiting for standard input.
    runtime.shutdown_background();
    result
}

fn plans_error(plans: &Path, error: &std::io::Error) -> String {
    let hint = match error.kind() {
        ErrorKind::NotFound => ": create the folder first",
        _ => "",
    };
    format!("--plans {}: {error}{hint}", plans.display())
}

async fn run(state: Arc<ServerState>) -> Result<(), String> {
    let caps_thread = CapsThread::start(Arc::clone(&state))?;
    let service = McpServer(Arc::clone(&state)).serve(rmcp::transport::stdio());
    let result = match Box::pin(service).await {
        Ok(service) => service
            .waiting()
            .await
            .map(|_| ())
            .map_err(|error| error.to_string()),
        // The client disconnected before its first request.
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(error.to_string()),
    };
    end_active(&state).await;
    drop(caps_thread);
    result.map_err(|error| format!("the connection to the client failed: {error}"))
}

/// A thread that enforces the limits on the active process, even while the client is silent or a
/// call is being computed. The thread ends when this value is dropped.
struct CapsThread {
    /// The thread ends when its sender is dropped.
    sender: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl CapsThread {
    fn start(state: Arc<ServerState>) -> Result<CapsThread, String> {
        let (sender, receiver) = mpsc::channel();
        let thread = std::thread::Builder::new()
            .name("mcp-caps".to_owned())
            .spawn(move || {
                while receiver.recv_timeout(POLL_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                    if let Ok(mut processes) = state.processes.lock() {
                        processes.update(&state.options.caps);
                    }
                }
            })
            .map_err(|error| format!("cannot start the thread that enforces caps: {error}"))?;
        Ok(CapsThread {
            sender: Some(sender),
            thread: Some(thread),
        })
    }
}

impl Drop for CapsThread {
    fn drop(&mut self) {
        drop(self.sender.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn end_active(state: &ServerState) {
    loop {
        {
            let Ok(mut processes) = state.processes.lock() else {
                return;
            };
            processes.update(&state.options.caps);
            let Some(active) = processes.active() else {
                return;
            };
            active.stop("the client closed the connection");
            active.hurry(PATIENCE_NS);
        }
        sleep(POLL_INTERVAL).await;
    }
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_prompts()
            .build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("loadline", env!("CARGO_PKG_VERSION")))
            .with_instructions(tools::INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::tools()))
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(resources::fixed()))
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(
            resources::templates(),
        ))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let read = resources::read(&request.uri, |name| calls::recorded(&self.0, name));
        let read = read.map_err(|line| ErrorData::resource_not_found(line, None))?;
        let contents = ResourceContents::text(read.text, request.uri).with_mime_type(read.mime);
        Ok(ReadResourceResult::new(vec![contents]).into())
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(prompts::prompts()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let text = prompts::render(&request.name, request.arguments.as_ref());
        let text = text.map_err(|line| ErrorData::invalid_params(line, None))?;
        let message = PromptMessage::new_text(Role::User, text);
        Ok(GetPromptResult::new(vec![message]).into())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let state = &self.0;
        // The future of a call is large.
        let outcome = Box::pin(calls::call(state, &request, &context)).await;
        let (rendered, decision) = match outcome {
            calls::CallOutcome::Answered(answer) => {
                let decision = if answer.is_error {
                    "refused"
                } else {
                    "answered"
                };
                (answer.render(), decision)
            }
            calls::CallOutcome::Asked(asked) => {
                state
                    .log_call(&request, &context, "asked", None)
                    .map_err(internal)?;
                return Ok((*asked).into());
            }
            calls::CallOutcome::UnknownTool => {
                return Err(ErrorData::invalid_params(
                    format!("unknown tool `{}`", request.name),
                    None,
                ));
            }
        };
        state
            .log_call(&request, &context, decision, Some(&rendered))
            .map_err(internal)?;
        Ok(tool_result(rendered).into())
    }
}

fn internal(line: String) -> ErrorData {
    ErrorData::internal_error(line, None)
}

fn tool_result(rendered: RenderedAnswer) -> CallToolResult {
    let mut content = vec![ContentBlock::text(rendered.text)];
    content.extend(rendered.excerpts.map(ContentBlock::text));
    let mut result = CallToolResult::success(content);
    result.structured_content = Some(rendered.body);
    result.is_error = Some(rendered.is_error);
    result
}

impl ServerState {
    /// Returns the answer to a call whose state has been lost.
    fn lost() -> Answer {
        Answer::failed("The server failed earlier: restart it.")
    }

    fn log_call(
        &self,
        request: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
        decision: &str,
        rendered: Option<&RenderedAnswer>,
    ) -> Result<(), String> {
        let member = |name: &str| {
            let argument = request.arguments.as_ref().and_then(|all| all.get(name));
            let value = argument.or_else(|| rendered?.body.get(name))?;
            value.as_str().map(ToOwned::to_owned)
        };
        let text = rendered.map_or("", |rendered| rendered.text.as_str());
        let client = context.client_info();
        self.log.add(&CallEntry {
            tool: &request.name,
            client: client.map(|client| format!("{} {}", client.name, client.version)),
            digest: member("digest"),
            run: member("run"),
            decision,
            text: text.lines().next().unwrap_or_default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_plans_error_is_to_be_created() {
        let error = std::io::Error::from(ErrorKind::NotFound);
        let line = plans_error(Path::new("load-tests"), &error);
        assert!(line.starts_with("--plans load-tests: "), "{line}");
        assert!(line.ends_with(": create the folder first"), "{line}");
    }

    #[test]
    fn caps_thread_ends_when_it_is_dropped() {
        let folder = std::env::temp_dir().join(format!("mcp-watch-{}", std::process::id()));
        let options = ServerOptions::for_tests();
        let state = Arc::new(ServerState {
            allowed: AllowedHosts::read(&[], None).unwrap(),
            log: CallLog::open(&folder).unwrap(),
            processes: Mutex::default(),
            questions: crate::confirmation::Questions::default(),
            options,
        });
        let caps_thread = CapsThread::start(Arc::clone(&state)).unwrap();
        assert_eq!(Arc::strong_count(&state), 2);
        drop(caps_thread);
        assert_eq!(Arc::strong_count(&state), 1);
        let _ = std::fs::remove_dir_all(&folder);
    }
}
