//! Answers that a real server gave, sent again.

use rocload::http::Error;
use rocload_fixtures::captured;

use crate::driver::{Driver, ask, patient};
use crate::server::Scenario;

/// Every captured answer, in pieces, gives the status and the body that it has, or is told to be
/// cut short.
pub(crate) fn captured_answers_come_through_whole<D: Driver>() {
    let all = captured("captured_answers_come_through_whole");
    let driver = D::default();
    assert!(all.len() > 20, "{}", all.len());
    for answer in all {
        let mut scenario = Scenario::new();
        for piece in answer.wire.chunks(1000) {
            scenario = scenario.send(piece);
        }
        for server in scenario.both() {
            let exchange = driver.send(&server.endpoint, patient(), &ask()).unwrap();
            match driver.pieces(exchange) {
                Ok((status, kind, body)) => {
                    assert!(!answer.cut, "{}", answer.name);
                    assert_eq!((status, &body), (answer.status, &answer.body), "{}", answer.name);
                    assert_eq!(kind == "text/event-stream", answer.stream, "{}", answer.name);
                }
                Err(Error::Truncated(error)) => {
                    assert!(answer.cut, "{}: {error}", answer.name);
                    assert_eq!(error.body_bytes, answer.body.len() as u64, "{}", answer.name);
                }
                Err(other) => panic!("{}: {other}", answer.name),
            }
        }
    }
}
