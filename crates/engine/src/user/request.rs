//! One request step of a virtual user: build it, find a connection, exchange, follow redirects, look at the answer, and
//! put one sample into the books.

use measure::{
    Failure, Fault, Kind, Outcome,
    door::{DoorEvent, Opening},
    outcome::ProtocolFault,
    sample::Intended,
};
use plan::{
    Pool as PoolPlan,
    mutant::{self, Mutant},
};

use super::{End, User, judge::door_answer, ongoing::Ongoing};
use crate::{
    exchange::{Exchange, Limits, Moments},
    http::{Answer, Decoder, Target, Want, encode::Charset, url},
    memory::Held,
    net::{
        Conn, Pool,
        pool::{OpenCount, OriginId},
    },
    program::{BuildError, Built, Override, RequestStep, hosts::Ruling},
    trace,
    worker::Line,
};

impl User<'_> {
    pub(super) async fn request(&mut self, index: usize) -> Result<(), End> {
        let worker = self.worker;
        let step = &worker.program.requests[index];
        let goes_ahead = self.goes_ahead(step);
        if matches!(goes_ahead, Ok(false)) {
            return Ok(());
        }
        let intended = self.due;
        let taken_up = worker.clock.now();
        worker.requests_began(taken_up, 1);
        worker
            .recorder
            .borrow_mut()
            .issued(taken_up, step.label, intended);
        let mut ongoing = Ongoing {
            step,
            intended,
            moments: Moments {
                taken_up,
                ..Moments::default()
            },
            answer: Answer::default(),
            limits: Limits::from(taken_up, &worker.program.http.timeouts),
            asked: None,
            endpoint: None,
            unexpected: None,
            stranded: false,
            kept: Held::nothing(&worker.memory),
        };
        ongoing.limits.arm(worker, &self.state.limit);
        let result = match goes_ahead {
            Ok(_) => self.carry_out(&mut ongoing).await,
            Err(end) => Err(end),
        };
        // It ends requests, not the think time behind them.
        self.state.limit.disarm();
        if ongoing.moments.done == 0 {
            ongoing.moments.done = worker.clock.now();
        }
        worker.request_ended(ongoing.moments.done);
        self.due = Intended::after_previous(ongoing.moments.done, 0);
        let (ended, result) = self.judge(&mut ongoing, result);
        self.book(&ongoing, ended, &result);
        worker.turn(ongoing.moments.done);
        result
    }

    /// Whether chance and condition let the step be carried out; a condition of which that cannot be told fails the step.
    fn goes_ahead(&mut self, step: &RequestStep) -> Result<bool, End> {
        let chance = step.spec.probability;
        if chance.is_some_and(|percent| self.rng.unit() * 100.0 >= percent) {
            return Ok(false);
        }
        let Some(condition) = &step.spec.condition else {
            return Ok(true);
        };
        let is_true = condition.is_true(&self.vars, &mut self.rng);
        match self.vars.take_gave_up() {
            None => Ok(is_true),
            Some(why) => {
                let name = format!("condition `{}` {why}", condition.text());
                Err(End::Named(name, Fault::Declared))
            }
        }
    }

    /// Sends the request and whatever it is redirected to.
    async fn carry_out(&mut self, ongoing: &mut Ongoing<'_>) -> Result<(), End> {
        let step = ongoing.step;
        if let Some(name) = &step.spec.fails_with {
            return Err(if name.starts_with("ERR_") {
                End::Unsendable(name.clone(), Fault::Declared, step.index)
            } else {
                End::Named(name.clone(), Fault::Declared)
            });
        }
        let fixed = step.fixed.as_ref();
        let drawn_from = self.rng.clone();
        let built = match fixed {
            Some(_) => None,
            None => Some(
                step.build(&self.worker.program.target, &self.vars, &mut self.rng, None)
                    .map_err(|error| self.build_end(step, error))?,
            ),
        };
        let Some(mut request) = built.as_ref().or(fixed).map(std::borrow::Cow::Borrowed) else {
            return Ok(());
        };
        if built.is_some() {
            self.goes_to(&request.target, ongoing)?;
        }
        ongoing.endpoint = self.made_endpoint(step, &request);
        if step.expect.is_some_and(|expect| expect.print.is_some()) {
            ongoing.asked = Some(request.clone().into_owned());
        }
        let mut method = step.spec.method.as_str();
        let mut body = true;
        let mut credentials = true;
        for hop in 0.. {
            self.set_cookies_of_step(step, &request, hop)?;
            self.hop(&request, method, ongoing).await?;
            let Some(location) = redirect_of(step, &ongoing.answer) else {
                return Ok(());
            };
            self.may_follow(hop, ongoing)?;
            let base = format!("{}{}", request.target.origin.text(), request.target.path);
            let Some((next_url, next)) = url::join(&base, &location) else {
                // The server's mistake, unlike a URL that the test makes. What it sent stays out of the name: it may be
                // a secret, and another one each time.
                let fault = Fault::Protocol(ProtocolFault::Header);
                return Err(End::Named("Invalid URL - Location".to_owned(), fault));
            };
            if self.strands(&next, ongoing) {
                return Ok(());
            }
            if ongoing.answer.status == 303
                || (!step.spec.redirects_keep_method
                    && matches!(ongoing.answer.status, 301 | 302)
                    && method == "POST")
            {
                body = false;
                if method != "HEAD" {
                    method = "GET";
                }
            }
            credentials &= next.origin == request.target.origin;
            self.end_hop(ongoing);
            let change = Override {
                url: &next_url,
                method,
                body,
                credentials,
            };
            let built = step
                .build(
                    &self.worker.program.target,
                    &self.vars,
                    // What was random in it is sent again as it was.
                    &mut drawn_from.clone(),
                    Some(change),
                )
                .map_err(|error| self.build_end(step, error))?;
            request = std::borrow::Cow::Owned(built);
        }
        Ok(())
    }

    /// One redirect more is followed, after so many.
    fn may_follow(&self, followed: u32, ongoing: &mut Ongoing<'_>) -> Result<(), End> {
        let step = ongoing.step;
        let most = step.spec.max_redirects;
        let most = most.unwrap_or(self.worker.program.http.max_redirects);
        if followed < most {
            return Ok(());
        }
        ongoing.unexpected = Some(format!("{most} followed"));
        let fault = Fault::TooManyRedirects;
        Err(End::Answered(Failure::RedirectLimit, fault, step.index))
    }

    /// A URL that values of the run have made leads to where it may.
    fn goes_to(&self, target: &Target, ongoing: &mut Ongoing<'_>) -> Result<(), End> {
        if self.may_go_to(target, "values of the run lead there") {
            return Ok(());
        }
        let host = &target.origin.host;
        ongoing.unexpected = Some(format!("`{host}` is not named by the test"));
        Err(End::Fault(Fault::HostNotAllowed, Some(ongoing.step.index)))
    }

    /// Whether a redirect leads to where it may not go: then its own answer is the last one.
    fn strands(&self, next: &Target, ongoing: &mut Ongoing<'_>) -> bool {
        if self.may_go_to(next, "redirects lead there") {
            return false;
        }
        let host = &next.origin.host;
        ongoing.unexpected = Some(format!("redirect to `{host}` not followed"));
        ongoing.stranded = true;
        true
    }

    /// Whether a host that came up while the test runs may be loaded; that it came up is told either way, unless the user has
    /// named it.
    fn may_go_to(&self, target: &Target, why: &str) -> bool {
        let host = &target.origin.host;
        let ruling = self.worker.program.hosts.ruling(host);
        match ruling {
            Ruling::Allowed => {}
            Ruling::Told => self.worker.remark(format!(
                "load went to `{host}`, which the test does not name: {why}"
            )),
            Ruling::Refused => self.worker.remark(format!(
                "host not allowed: nothing was sent to `{host}`, which the test does not name ({why}); {}",
                self.worker.program.hosts.advice(host)
            )),
        }
        ruling != Ruling::Refused
    }

    /// The error of a request that cannot be built, in the words of Artillery's client.
    fn build_end(&self, step: &RequestStep, error: BuildError) -> End {
        let index = step.index;
        match error {
            BuildError::Url(url) if !url.starts_with("http") => {
                End::Named(format!("Invalid URL - {}", self.hidden(url)), Fault::BadUrl)
            }
            BuildError::Url(url) if !url.starts_with("http:") && !url.starts_with("https:") => {
                End::Unsendable("ERR_UNSUPPORTED_PROTOCOL".to_owned(), Fault::BadUrl, index)
            }
            BuildError::Url(_) => {
                End::Unsendable("ERR_INVALID_URL".to_owned(), Fault::BadUrl, index)
            }
            BuildError::Header(_) => End::Named("ERR_INVALID_CHAR".to_owned(), Fault::Declared),
            BuildError::File(name) => End::Unsendable(name.to_owned(), Fault::Declared, index),
        }
    }

    /// A text for the record, which cannot know what a user has captured: without its secrets.
    fn hidden(&self, text: String) -> String {
        let hide = |text: String, secret: &String| text.replace(secret.as_str(), "‹redacted›");
        self.secrets().iter().fold(text, hide)
    }

    /// The name of what is asked for, where it is made of what was sent and that is not the same each time.
    fn made_endpoint(&mut self, step: &RequestStep, request: &Built) -> Option<String> {
        let naming = self.worker.program.made_endpoints.as_ref()?;
        if step.fixed.is_some() && step.name.as_ref().is_none_or(|n| n.as_literal().is_some()) {
            return None;
        }
        let url = format!("{}{}", request.target.origin.text(), request.target.path);
        let name = step
            .name
            .as_ref()
            .map(|name| name.to_text(&self.vars, &mut self.rng));
        let made = naming.name(&self.worker.program.target, &url, name.as_deref())?;
        Some(self.hidden(made))
    }

    /// Closes a hop that was redirected: it is counted apart, and its answer is forgotten.
    fn end_hop(&mut self, ongoing: &mut Ongoing<'_>) {
        let mut recorder = self.worker.recorder.borrow_mut();
        recorder.redirected(ongoing.moments.head, ongoing.step.label, ongoing.intended);
        door_answer(&mut recorder, ongoing, self.worker, false);
        drop(recorder);
        ongoing.answer = Answer::default();
        ongoing.moments.head = 0;
        ongoing.moments.done = 0;
        ongoing.moments.opening = Opening::default();
    }

    fn set_cookies_of_step(
        &mut self,
        step: &RequestStep,
        request: &Built,
        hop: u32,
    ) -> Result<(), End> {
        if hop > 0 {
            return Ok(());
        }
        for (name, value) in &step.spec.cookies {
            let value = value.to_text(&self.vars, &mut self.rng);
            // A line break would begin a header of its own, and no header holds more than Latin-1.
            if value.contains(|c: char| c.is_control() || c > '\u{ff}') {
                return Err(self.build_end(step, BuildError::Header(name.clone())));
            }
            self.jar
                .put(name, &value, &request.target.origin, &request.target.path);
        }
        Ok(())
    }

    /// One request and its answer on one connection.
    async fn hop(
        &mut self,
        request: &Built,
        method: &str,
        ongoing: &mut Ongoing<'_>,
    ) -> Result<(), End> {
        let worker = self.worker;
        let step = Some(ongoing.step.index);
        let origin = worker.origin_id(&request.target.origin);
        let fault = |fault: Fault| End::Fault(fault, step);
        let state = self.state;
        let pool = worker.shared_pool.as_ref().unwrap_or(&*state.pool);
        let pass = pool.enter(origin, &state.limit).await.map_err(fault)?;
        if mutant::is(Mutant::StampAtDequeue) && ongoing.intended.is_paced() {
            ongoing.moments.taken_up = worker.clock.now();
            ongoing.intended = Intended::scheduled(ongoing.moments.taken_up);
        }
        let now = worker.clock.now();
        worker
            .recorder
            .borrow_mut()
            .door(now, &DoorEvent::RequestSent);
        let mut conn = match pool.take(origin, now, worker.program.http.idle_close_ns) {
            Some(conn) => conn,
            None => self
                .connect(origin, request, ongoing)
                .await
                .map_err(fault)?,
        };
        let cookie = if self.jar.is_empty(!ongoing.step.spec.cookies.is_empty()) {
            None
        } else {
            self.jar.header(
                &request.target.origin,
                &request.target.path,
                worker.wall_s(now),
            )
        };
        let with_cookie =
            cookie.map(|cookie| insert_cookie(request, &cookie, ongoing.step.charset));
        let bytes = with_cookie.as_deref().unwrap_or(&request.bytes);
        let mut want = ongoing.step.want;
        if worker.common.trace {
            want = Want {
                headers: true,
                body: true,
                routing: true,
                ..want
            };
            worker.emit(Line::Trace(trace::request(&request.target.origin, bytes)));
        }
        let read_before = ongoing.moments.bytes_in;
        let mut exchange = Exchange {
            worker,
            limit: &state.limit,
            limits: ongoing.limits,
            kept: &ongoing.kept,
        };
        let result = exchange
            .run(
                &mut conn,
                bytes,
                Decoder::new(method, want),
                &mut ongoing.answer,
                &mut ongoing.moments,
            )
            .await;
        let result = result.map_err(|fault| {
            // Nothing of this answer has come: the next request of an idle connection met its end.
            let untouched = ongoing.moments.bytes_in == read_before && conn.carried > 0;
            if untouched { fault.on_kept() } else { fault }
        });
        conn.carried += 1;
        if worker.common.trace {
            worker.emit(Line::Trace(trace::answer(&ongoing.answer, result.err())));
        }
        result.map_err(fault)?;
        if ongoing.answer.keep_alive {
            conn.idle_since_ns = ongoing.moments.done;
            pool.put(conn);
        }
        drop(pass);
        self.keep_cookies(&request.target, ongoing);
        Ok(())
    }

    /// Keeps what the answer set, and counts what cannot be read.
    fn keep_cookies(&mut self, target: &Target, ongoing: &Ongoing<'_>) {
        let worker = self.worker;
        if !worker.program.http.cookie_jar {
            return;
        }
        let now_s = worker.wall_s(ongoing.moments.done);
        for header in &ongoing.answer.set_cookies {
            if !self.jar.set(header, &target.origin, &target.path, now_s) {
                let remark = DoorEvent::Remark {
                    name: "cookie_parse_error_invalid_cookie",
                };
                worker
                    .recorder
                    .borrow_mut()
                    .door(ongoing.moments.done, &remark);
            }
        }
    }

    async fn connect(
        &self,
        origin: OriginId,
        request: &Built,
        ongoing: &mut Ongoing<'_>,
    ) -> Result<Conn, Fault> {
        let worker = self.worker;
        let opened = worker
            .connector
            .open(&request.target.origin, &self.state.limit)
            .await;
        let now = worker.clock.now();
        worker.look(now);
        let mut recorder = worker.recorder.borrow_mut();
        let opened = opened.map_err(|fault| match fault {
            // Which of the limits passed is known here, not to the connector.
            Fault::ResponseTimeout => ongoing.limits.fault(crate::deadlines::Cut::Expired),
            fault => fault,
        })?;
        recorder.run.opened += 1;
        ongoing.moments.opening = Opening {
            lookup_ns: opened.lookup_ns,
            connect_ns: opened.connect_ns,
            tls_ns: opened.tls_ns,
        };
        let label = ongoing.step.label;
        recorder.time(
            now,
            label,
            ongoing.intended,
            (Kind::Connect, Outcome::Ok),
            opened.connect_ns,
        );
        if let Some(ns) = opened.tls_ns {
            recorder.time(now, label, ongoing.intended, (Kind::Tls, Outcome::Ok), ns);
        }
        Ok(Conn {
            stream: opened.stream,
            origin,
            idle_since_ns: now,
            carried: 0,
            _open: OpenCount::new(&worker.open),
        })
    }
}

/// Where an answer redirects to, if the step follows.
fn redirect_of(step: &RequestStep, answer: &Answer) -> Option<String> {
    let redirects = matches!(answer.status, 300..=304 | 307 | 308);
    if step.spec.follow_redirects && redirects {
        answer.location.clone()
    } else {
        None
    }
}

/// The request with the jar's cookies; a `cookie` header of the step's own gives way to them.
fn insert_cookie(request: &Built, cookie: &str, charset: Charset) -> Vec<u8> {
    let (head, rest) = request.bytes.split_at(request.cookie_at);
    let mut bytes = Vec::with_capacity(request.bytes.len() + cookie.len() + 10);
    let is_cookie = |line: &&[u8]| {
        line.get(..7)
            .is_some_and(|name| name.eq_ignore_ascii_case(b"cookie:"))
    };
    let lines = head.split_inclusive(|b| *b == b'\n');
    lines
        .filter(|line| !is_cookie(line))
        .for_each(|line| bytes.extend_from_slice(line));
    bytes.extend_from_slice(b"cookie: ");
    // What a server set may hold anything; a step's own was looked at before.
    let _ = charset.write(&mut bytes, cookie);
    bytes.extend_from_slice(b"\r\n");
    bytes.extend_from_slice(rest);
    bytes
}

/// The pool that a plan asks for, for one of so many workers.
#[must_use]
pub fn worker_pool(plan: PoolPlan, worker: usize, workers: usize) -> Option<Pool> {
    match plan {
        PoolPlan::PerUser => None,
        PoolPlan::Shared(n) => {
            let (n, workers) = (n as usize, workers.max(1));
            Some(Pool::shared(
                n / workers + usize::from(worker < n % workers),
            ))
        }
    }
}
