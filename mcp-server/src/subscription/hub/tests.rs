use super::*;

fn hub() -> Hub {
    Hub::new(4)
}

fn all() -> SubscriptionFilter {
    SubscriptionFilter::new().tools().prompts().resources().resource("b:2").resource("a:1")
}

fn updated(uri: &str) -> Change {
    Change::Resource(uri.to_owned())
}

/// What is read without waiting: the notes and whether they were the last, `None` for nothing.
fn read(subscriber: &Subscriber) -> Option<(Vec<Note>, bool)> {
    match subscriber.poll(&Context::from_waker(Waker::noop())) {
        Poll::Pending => None,
        Poll::Ready(Some(Ok(Notes { notes, last }))) => Some((notes, last)),
        Poll::Ready(other) => panic!("{other:?}"),
    }
}

fn is_lost(subscriber: &Subscriber) -> bool {
    let cx = Context::from_waker(Waker::noop());
    matches!(subscriber.poll(&cx), Poll::Ready(Some(Err(Closed))))
}

#[test]
fn everyone_hears_what_was_granted_and_nothing_else() {
    use Change::{PromptList, ResourceList, ToolList};
    let changes = [
        ToolList,
        PromptList,
        ResourceList,
        updated("b:2"),
        updated("a:1"),
        updated("a:"),
        updated("A:1"),
    ];
    let table = [
        (SubscriptionFilter::new().tools(), vec![Note::Tools]),
        (SubscriptionFilter::new().prompts(), vec![Note::Prompts]),
        (SubscriptionFilter::new().resources(), vec![Note::Resources]),
        (SubscriptionFilter::new().resource("b:2").resource("b:2"), vec![Note::Resource(0)]),
        (
            all(),
            vec![Note::Tools, Note::Prompts, Note::Resources, Note::Resource(1), Note::Resource(0)],
        ),
    ];
    let hub = Hub::new(5);
    let subscribers = table.map(|(granted, notes)| (hub.subscribe(granted, None).1, notes));
    for change in &changes {
        hub.publish(change);
    }
    for (subscriber, notes) in &subscribers {
        assert_eq!(read(subscriber), Some((notes.clone(), false)));
        assert_eq!(read(subscriber), None);
    }
    assert_eq!(subscribers[4].0.uri(0), Some("a:1"));
    assert_eq!(subscribers[4].0.uri(1), Some("b:2"));
}

#[test]
fn what_waits_is_told_once_and_in_its_order() {
    let hub = hub();
    let (_, subscriber) = hub.subscribe(all(), None);
    for _ in 0..1000 {
        for change in [updated("a:1"), Change::ToolList, updated("b:2"), Change::PromptList] {
            hub.publish(&change);
        }
    }
    let notes = vec![Note::Resource(0), Note::Tools, Note::Resource(1), Note::Prompts];
    assert_eq!(read(&subscriber), Some((notes, false)));
    // Read is read: from here on it is news again.
    hub.publish(&Change::ToolList);
    assert_eq!(read(&subscriber), Some((vec![Note::Tools], false)));
}

#[test]
fn a_reader_with_too_much_to_read_is_broken_off() {
    let hub = Hub::new(2);
    let (_, slow) = hub.subscribe(all(), None);
    let (_, other) = hub.subscribe(SubscriptionFilter::new().tools(), None);
    for change in [Change::ToolList, Change::PromptList, Change::ToolList, Change::ResourceList] {
        hub.publish(&change);
    }
    assert!(is_lost(&slow) && is_lost(&slow));
    assert_eq!(read(&other), Some((vec![Note::Tools], false)), "others go on");
}

#[test]
fn an_end_in_good_order_comes_after_what_waits() {
    let hub = hub();
    let (mine, other) = (Group::default(), Group::default());
    let subscribe = |group: Option<&Group>| hub.subscribe(all(), group.cloned()).1;
    let subscribers = [subscribe(Some(&mine)), subscribe(Some(&other)), subscribe(None)];
    hub.publish(&Change::ToolList);
    hub.end(&mine);
    hub.publish(&Change::PromptList);
    let end = |subscriber: &Subscriber| subscriber.poll(&Context::from_waker(Waker::noop()));
    assert_eq!(read(&subscribers[0]), Some((vec![Note::Tools], true)));
    assert!(matches!(end(&subscribers[0]), Poll::Ready(None)));
    for goes_on in &subscribers[1..] {
        assert_eq!(read(goes_on), Some((vec![Note::Tools, Note::Prompts], false)));
        assert_eq!(read(goes_on), None);
    }
    // Too late, and at once.
    let late = subscribe(Some(&mine));
    assert_eq!(read(&late), Some((vec![], true)));
    late.lose();
    assert!(matches!(end(&late), Poll::Ready(None)), "what has ended is not broken off");
}

#[test]
fn nobody_waits_for_what_was_not_granted() {
    let hub = hub();
    let (key, subscriber) = hub.subscribe(SubscriptionFilter::new(), None);
    assert!(hub.lock().subscribers.is_empty());
    assert_eq!(read(&subscriber), Some((vec![], true)));
    hub.unsubscribe(key);
}

#[test]
fn the_hub_forgets_who_unsubscribes() {
    let hub = hub();
    let (first, _) = hub.subscribe(all(), None);
    let (second, subscriber) = hub.subscribe(all(), None);
    hub.unsubscribe(first);
    hub.publish(&Change::ToolList);
    assert_eq!(read(&subscriber), Some((vec![Note::Tools], false)));
    hub.unsubscribe(second);
    assert!(hub.lock().subscribers.is_empty());
}
