// Ten async handlers that finish at once, under hookable. One round; see timing.mjs for the output.
// hookable has no hook that stops at the first answer, so there is no Claiming; its gate is a handler that throws.

import { createHooks } from "hookable";
import { sideBySide } from "./timing.mjs";

const HANDLERS = 10;
const KEYS = ["first", "second", "third"];
let seen = 0;

const hooks = createHooks();
for (let n = 0; n < HANDLERS; n++) {
  hooks.hook("observed", async (event) => {
    seen += event.turn + n;
  });
  hooks.hook("amended", async (patch, event) => {
    patch[KEYS[n % 3]] ??= event.turn + n;
  });
  hooks.hook("guarded", async (event) => {
    if (event.turn + n < 0) throw new Error("before the beginning of time");
  });
}

await sideBySide({
  "models/void/hookable": (turn) => hooks.callHookParallel("observed", { turn }),
  "models/modifying/hookable": (turn) => hooks.callHook("amended", {}, { turn }),
  "models/gate/hookable": (turn) => hooks.callHook("guarded", { turn }),
});
