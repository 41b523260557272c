//! Clients that run alongside other work. They have their own pace and do not count as arrivals or
//! users.

use std::{pin::Pin, rc::Rc};

use engine::{
    driver::Driver,
    run::{BackgroundWork, DriverContext},
};
use plan::{Rate, mqtt::PublishPace, work::External};
use worker::{Worker, deadlines::Limit};

use super::{peer::*, *};

struct Other(DriverContext);

impl Driver for Other {
    fn run(self: Box<Self>, worker: Rc<Worker>) -> Pin<Box<dyn Future<Output = ()>>> {
        Box::pin(async move {
            worker.recorder.borrow_mut().run.started += 1;
            let place = worker.enter(&Rc::new(Limit::default()));
            let end = self.0.schedule.end_ns();
            let _ = worker.sleep_until(end, &worker.arrivals_end).await;
            worker.leave(place);
        })
    }
}

#[test]
fn messages_are_counted_and_arrivals_are_the_other_work_s() {
    let message = |id| [Hear(publish(0x32, id)), Say(ack(PUBACK, id))];
    let mut script = vec![connect(0, 0), connack(0, 0)];
    script.extend([1, 2, 3, 4].into_iter().flat_map(message));
    let peer = Peer::start(vec![script]);
    let mut clients = publisher(1, 1);
    // Messages are due at 0, 0.5 s, … Messages in the second in which clients connect are not
    // planned.
    let rate = Rate {
        count: 2,
        per_ns: SECOND,
    };
    if let Some(publish) = &mut clients.publish {
        publish.pace = Some(PublishPace::Rate(rate));
    }
    let mqtt = Mqtt {
        host: "127.0.0.1".into(),
        more_hosts: Vec::new(),
        port: peer.port,
        tls: false,
        version: Version::V311,
        arrivals: Arrival::Elsewhere,
        connect_every_ns: 0,
        groups: vec![clients],
    };
    let load = Load::Open {
        phases: vec![Phase::new(3 * SECOND, Shape::Count(1))],
        first: FirstArrival::AtStart,
    };
    let work = Work::External(External {
        by: "a test".into(),
    });
    let mut plan = Plan::new(String::new(), Format::NATIVE, String::new(), load, work);
    plan.background = Some(plan::BackgroundMqtt {
        mqtt: mqtt.clone(),
        verify_tls: true,
        tls: plan::Tls::default(),
    });
    let driver = maker(DriverConfig {
        work: Arc::new(mqtt),
        flat_out: false,
        own: plan.background_loads(),
        seed: 1,
        run: 1,
        limit: None,
        clients: None,
    });
    let mut options = EngineOptions {
        drain_ns: Some(PATIENT),
        workers: Some(1),
        driver: Some(Arc::new(|context| Box::new(Other(context)))),
        ..EngineOptions::default()
    };
    let refused = Prepared::new(&plan, options.clone())
        .err()
        .expect("refused");
    assert!(refused[0].message.contains("MQTT clients"), "{refused:?}");
    options.background = Some(BackgroundWork {
        driver,
        workers: 1,
        frontend: Some(Arc::new(|| Box::new(TestAccumulator::default()))),
    });
    let prepared = Prepared::new(&plan, options).expect("a plan that compiles");
    assert_eq!((prepared.workers(), prepared.planned()), (2, Some(1)));
    let mut stored = Kept::default();
    prepared
        .run(Zero::in_ns(MILLISECOND), &mut stored)
        .expect("a run");
    assert_eq!(peer.played().rest, DISCONNECT);
    assert_eq!(
        stored.counts(["planned", "due", "sent", "confirmed", "unsent"]),
        [4, 4, 4, 4, 0]
    );
    assert_eq!(stored.requests(), [5, 5, 0, 0]);
    let sum = |of: fn(&Interval) -> u64| stored.intervals.iter().map(of).sum::<u64>();
    assert_eq!((sum(|i| i.run.started), sum(|i| i.run.due)), (1, 1));
    let users = stored.intervals.iter().map(|i| i.run.users.max).max();
    assert_eq!(users, Some(1));
}
