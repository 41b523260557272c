//! A second server of a lab, on its own port and thread, so that it responds even if the lab is
//! busy.

use std::any::Any;
use std::net::SocketAddr;
use std::thread::JoinHandle;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::{LabError, LabOptions, listen};

pub type Serving = Box<dyn Any>;

/// A second server whose port is bound but which does not serve yet.
pub struct Sidecar {
    pub(crate) scheme: &'static str,
    pub(crate) address: SocketAddr,
    begin: Box<dyn FnOnce() -> Result<Serving, LabError> + Send>,
}

impl Sidecar {
    pub fn new(
        scheme: &'static str,
        address: SocketAddr,
        begin: impl FnOnce() -> Result<Serving, LabError> + Send + 'static,
    ) -> Self {
        Self {
            scheme,
            address,
            begin: Box::new(begin),
        }
    }

    pub fn http(options: &LabOptions, port: u16, routes: Router) -> Result<Self, LabError> {
        let own = LabOptions {
            port,
            ..options.clone()
        };
        let (listener, address) = listen::on(&own)?;
        Ok(Self::new("http", address, move || {
            let (stop, stopped) = oneshot::channel();
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .map_err(LabError::Runtime)?;
            let thread = std::thread::Builder::new().name("lab-sidecar".to_owned());
            let serving = thread.spawn(move || {
                runtime.block_on(async {
                    tokio::select! {
                        _ = stopped => {}
                        () = serve(listener, routes) => {}
                    }
                });
            });
            Ok(Box::new(Routes {
                stop: Some(stop),
                thread: Some(serving.map_err(LabError::Runtime)?),
            }))
        }))
    }

    pub(crate) fn begin(self) -> Result<Serving, LabError> {
        (self.begin)()
    }
}

async fn serve(listener: std::net::TcpListener, routes: Router) {
    let Ok(listener) = TcpListener::from_std(listener) else {
        return;
    };
    let service = TowerToHyperService::new(routes.with_state::<()>(()));
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let connection =
                    http1::Builder::new().serve_connection(TokioIo::new(stream), service.clone());
                tokio::spawn(async move {
                    let _ = connection.await;
                });
            }
            Err(_) => tokio::time::sleep(std::time::Duration::from_millis(20)).await,
        }
    }
}

struct Routes {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Routes {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
