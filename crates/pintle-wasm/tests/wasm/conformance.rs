//! The suite, with guests made for it.

use std::sync::Arc;

use pintle_plugins::{
    Entry, Grants, Kind, Manifest, Plugin,
    testing::{Behaviour, Does, KindUnderTest},
};
use pintle_wasm::{Limits, WasmHost};

use crate::guest::{guest, says};

struct Wasm;

impl KindUnderTest for Wasm {
    fn plugin(&self, mut manifest: Manifest, behaviour: Behaviour) -> Arc<dyn Plugin> {
        manifest.kind = Kind::Wasm;
        manifest.entry = Some(Entry::File("guest.wasm".into()));
        let activate = match behaviour.activates {
            true => says("ok", 0, "null"),
            false => says("err", 1, "it will not"),
        };
        let (answer, handle) = match behaviour.does {
            Does::Answer(answer) => {
                let answer = answer.to_string();
                let handle = says("ok", 2, &answer);
                (answer, handle)
            }
            Does::Tell => (String::new(), "(call $err (local.get 2) (local.get 3))".to_owned()),
            Does::Crash => (String::new(), "unreachable".to_owned()),
            Does::Hang => (String::new(), "(loop $again (br $again)) unreachable".to_owned()),
        };
        let bytes = guest(&["null", "it will not", &answer], &activate, &handle);
        let host =
            WasmHost::new(Limits { fuel: u64::MAX / 2, ..Limits::default() }, None, |_, _| {});
        Arc::new(host.unwrap().plugin(manifest, &bytes, &Grants::All).unwrap())
    }
}

pintle_plugins::plugin_conformance!(Wasm);
