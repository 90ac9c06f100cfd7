//! Ids that people can type.

use super::StorePlace;
use crate::store::{IdKind, short_id_candidates};

pub async fn a_short_id_stays_and_is_found_again(place: &dyn StorePlace) {
    let (store, other) = (place.open().await, place.open().await);
    let short = store.short_id(IdKind::Run, "r1").await.unwrap();
    assert_eq!(short.len(), 4);
    assert_eq!(other.short_id(IdKind::Run, "r1").await.unwrap(), short);
    assert_eq!(other.by_short_id(&short).await.unwrap(), Some((IdKind::Run, "r1".into())));
    assert_eq!(other.by_short_id("aeio").await.unwrap(), None);
}

pub async fn no_two_things_share_a_short_id(place: &dyn StorePlace) {
    let store = place.open().await;
    let mut given = std::collections::HashMap::new();
    // So many that some begin alike.
    for number in 0..3000 {
        let (kind, id) = (IdKind::ALL[number % 3], format!("id-{number}"));
        let short = store.short_id(kind, &id).await.unwrap();
        assert_eq!(given.insert(short.clone(), id.clone()), None, "{short}");
        assert_eq!(store.by_short_id(&short).await.unwrap(), Some((kind, id)));
    }
    assert!(given.keys().any(|short| short.len() == 5), "one is longer where four are taken");
    assert!(short_id_candidates("x").all(|it| it.chars().all(|c| !"aeiou01l".contains(c))));
}
