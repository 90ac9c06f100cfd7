//! §14: every consumer can be removed, and the rest still works.

use pintle_agent::testing::Answer;
use pintle_consumers::switched_off;
use pintle_profile::Consumer;

use crate::world::{World, outcome, read};

#[tokio::test]
async fn every_consumer_can_be_removed_and_the_rest_still_works() {
    let all = {
        let world = World::new();
        world.write("a.rs", "a");
        world.play(vec![Answer::text("Done.")]).await;
        world.hooks.list()
    };
    for consumer in Consumer::ALL {
        let mut world = World::new();
        world.write("a.rs", "a");
        world.settings.off = vec![consumer];
        let (requests, events) = world.play(vec![read("1", "a.rs"), Answer::text("Done.")]).await;
        assert_eq!((outcome(&events), requests.len()), ("end_turn", 2), "{}", consumer.name());
        let off: Vec<_> = switched_off(&world.settings).map(|(name, _)| name).collect();
        assert_eq!(off.len(), 1, "{} has its handlers' name", consumer.name());
        // Its handlers are gone, and no other's.
        let names = |hooks: &[pintle::HandlerInfo]| -> Vec<String> {
            hooks.iter().map(|it| format!("{} at {}", it.name, it.point)).collect()
        };
        let left: Vec<_> =
            names(&all).into_iter().filter(|name| !name.starts_with(off[0])).collect();
        assert_eq!(names(&world.hooks.list()), left, "{}", consumer.name());
    }
}
