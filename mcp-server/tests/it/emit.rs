//! What a handler says before its result: progress and log messages.

use mcp_server::types::{LoggingLevel, Number};
use mcp_server::{Context, FromContext, HandlerError, Log, Progress, Tool};
use serde_json::{Value, json};

use crate::support::{Bell, Post, Running, builder, tool_text};

/// The progress of every notification of progress.
fn progress(events: &[Value]) -> Vec<String> {
    let progress = events.iter().filter(|event| event["method"] == "notifications/progress");
    progress.map(|event| event["params"]["progress"].to_string()).collect()
}

/// C6: progress goes up, keeps its form, and carries the token as it came.
#[tokio::test]
async fn progress_is_strictly_increasing() {
    let steps = Tool::new("steps", async |progress: Progress| {
        let steps: [(Number, bool); 11] = [
            (0.into(), true),
            (0.into(), false),
            (0.5.into(), true),
            (0.25.into(), false),
            (50.into(), true),
            (50.0.into(), false),
            ((-1).into(), false),
            (f64::NAN.into(), false),
            (9_007_199_254_740_992_u64.into(), true),
            (9_007_199_254_740_993_u64.into(), true),
            (u64::MAX.into(), true),
        ];
        for (step, sent) in steps {
            assert_eq!(progress.report(step), sent, "{step}");
        }
        "ok"
    });
    let running = Running::build(builder().tool(steps)).await;
    for token in
        [json!("7"), json!(7), json!(""), json!("☃"), json!(0), json!(u64::MAX), json!(i64::MIN)]
    {
        let reply = running.ask(&Post::listening_for("steps", token.clone(), None)).await;
        let events = reply.events();
        assert_eq!(
            progress(&events),
            ["0", "0.5", "50", "9007199254740992", "9007199254740993", "18446744073709551615"]
        );
        for event in &events[..events.len() - 1] {
            assert_eq!(event["params"]["progressToken"], token);
            assert_eq!(event.get("id"), None);
        }
        assert_eq!(reply.tool_text(), "ok");
    }
}

/// However many report at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn progress_of_many_threads_is_strictly_increasing() {
    let tool = Tool::new("race", async |progress: Progress| {
        let reporters = (0..4).map(|_| {
            let progress = progress.clone();
            tokio::task::spawn_blocking(move || {
                (0..2000).filter(|step| progress.report(*step)).count()
            })
        });
        let mut reported = 0;
        for reporter in reporters.collect::<Vec<_>>() {
            reported += reporter.await.unwrap();
        }
        reported.to_string()
    });
    let reply = Running::build(builder().tool(tool)).await.ask(&Post::listening("race")).await;
    let events = reply.events();
    let steps: Vec<u32> = progress(&events).iter().map(|step| step.parse().unwrap()).collect();
    assert!(steps.is_sorted_by(|a, b| a < b), "{steps:?}");
    assert_eq!(steps.last(), Some(&1999), "the newest always arrives");
    assert!(reply.tool_text().parse::<usize>().unwrap() <= 2000);
}

#[tokio::test]
async fn progress_carries_total_and_message() {
    let tool = Tool::new("steps", async |progress: Progress| {
        assert!(progress.is_wanted());
        progress.report_of(1, 2.5);
        progress.report_with(2, None, "half\nway");
        progress.report_with(3, Some(10.into()), "");
        "ok"
    });
    let reply = Running::build(builder().tool(tool)).await.ask(&Post::listening("steps")).await;
    let params: Vec<_> = reply.events().iter().map(|event| event["params"].clone()).collect();
    assert_eq!(
        params[..3],
        [
            json!({ "progressToken": 7, "progress": 1, "total": 2.5 }),
            json!({ "progressToken": 7, "progress": 2, "message": "half\nway" }),
            json!({ "progressToken": 7, "progress": 3, "total": 10, "message": "" }),
        ]
    );
}

/// C6: without a token nothing is sent, so that nothing makes a stream of the reply either.
#[tokio::test]
async fn no_token_no_progress() {
    let tool = Tool::new("steps", async |progress: Progress| {
        assert!(!progress.is_wanted());
        assert!(!progress.report(1));
        "ok"
    });
    let running = Running::build(builder().tool(tool)).await;
    let reply = running.ask(&Post::listening_for("steps", json!(null), None)).await;
    assert!(reply.is_json());
    assert_eq!(reply.tool_text(), "ok");
    // JSON mode drops them (C7), and says so to the handler.
    let reply = running.ask(&Post::listening("steps").set("Accept", "application/json")).await;
    assert_eq!(reply.tool_text(), "ok");
}

/// C6: what a handler leaves behind has nothing more to say.
#[tokio::test]
async fn nothing_comes_after_the_result() {
    let (done, go) = (Bell::new(), Bell::new());
    let (ring, wait) = (done.clone(), go.clone());
    let tool = Tool::new("leaves", move |context: Context| {
        let (done, go) = (ring.clone(), wait.clone());
        async move {
            context.progress().report(1);
            tokio::spawn(async move {
                go.wait().await;
                assert!(!context.progress().is_wanted());
                assert!(!context.progress().report(2));
                assert!(!context.log().is_enabled(LoggingLevel::Emergency));
                assert!(!context.log().send(LoggingLevel::Emergency, "late"));
                assert!(context.is_abandoned());
                done.ring();
            });
            "ok"
        }
    });
    let running = Running::build(builder().tool(tool)).await;
    let mut conn = running.connect().await;
    conn.send(&Post::listening("leaves").bytes()).await;
    conn.stream().await;
    let events = conn.events().await;
    assert_eq!(progress(&events), ["1"]);
    assert_eq!(tool_text(&events[1]), "ok");
    go.ring();
    done.rung().await;
    // The connection goes on with the next exchange, and no late frame of the last one.
    assert_eq!(conn.ask(&Post::rpc("server/discover", json!({}))).await.status, 200);
}

#[tokio::test]
async fn logs_are_sent_from_the_level_asked_for() {
    use LoggingLevel::{Alert, Critical, Debug, Emergency, Error, Info, Notice, Warning};
    const LEVELS: [(LoggingLevel, &str); 8] = [
        (Debug, "debug"),
        (Info, "info"),
        (Notice, "notice"),
        (Warning, "warning"),
        (Error, "error"),
        (Critical, "critical"),
        (Alert, "alert"),
        (Emergency, "emergency"),
    ];
    let tool = Tool::new("logs", async |log: Log| {
        for (level, name) in LEVELS {
            assert_eq!(
                log.is_enabled(level),
                log.send_from("test", level, &json!({ "level": name }))
            );
        }
        "ok"
    });
    let running = Running::build(builder().tool(tool)).await;
    for (first, (_, level)) in LEVELS.iter().enumerate() {
        let events =
            running.ask(&Post::listening_for("logs", json!(7), Some(level))).await.events();
        let expected: Vec<_> = LEVELS[first..]
            .iter()
            .map(|(_, name)| json!({ "level": name, "logger": "test", "data": { "level": name } }))
            .collect();
        let logs: Vec<_> = events
            .iter()
            .filter(|event| event["method"] == "notifications/message")
            .map(|event| event["params"].clone())
            .collect();
        assert_eq!(logs, expected, "{level}");
    }
    let silent = running.ask(&Post::listening_for("logs", json!(7), None)).await;
    assert!(silent.is_json(), "without a level there is nothing to stream");
}

/// A server that does not declare logging must not log, whatever a context argument hides.
#[tokio::test]
async fn nothing_is_logged_undeclared() {
    struct Secretive(Log);
    impl FromContext for Secretive {
        fn from_context(context: &Context) -> Result<Self, HandlerError> {
            Ok(Self(context.log()))
        }
    }
    let tool = Tool::new("logs", async |Secretive(log): Secretive| {
        log.send(LoggingLevel::Emergency, "unheard").to_string()
    });
    let running = Running::build(builder().tool(tool)).await;
    let discovered = running.ask(&Post::rpc("server/discover", json!({}))).await.result();
    assert!(discovered["capabilities"].get("logging").is_none());
    let reply = running.ask(&Post::listening_for("logs", json!(7), Some("debug"))).await;
    assert!(reply.is_json());
    assert_eq!(reply.tool_text(), "false");
}
