// Ten async handlers that finish at once, under tapable's hooks. One round; see timing.mjs for the output.

import { AsyncParallelHook, AsyncSeriesBailHook, AsyncSeriesWaterfallHook } from "tapable";
import { sideBySide } from "./timing.mjs";

const HANDLERS = 10;
const KEYS = ["first", "second", "third"];
let seen = 0;

const observed = new AsyncParallelHook(["event"]);
const amended = new AsyncSeriesWaterfallHook(["patch", "event"]);
const claimable = new AsyncSeriesBailHook(["event"]);
const guarded = new AsyncSeriesBailHook(["event"]);

for (let n = 0; n < HANDLERS; n++) {
  observed.tapPromise(`h${n}`, async (event) => {
    seen += event.turn + n;
  });
  amended.tapPromise(`h${n}`, async (patch, event) => {
    patch[KEYS[n % 3]] ??= event.turn + n;
    return patch;
  });
  claimable.tapPromise(`h${n}`, async (event) => {
    if (n + 1 === HANDLERS) return { turn: event.turn };
  });
  guarded.tapPromise(`h${n}`, async (event) => {
    if (event.turn + n < 0) return { block: "before the beginning of time" };
  });
}

await sideBySide({
  "models/void/tapable": (turn) => observed.promise({ turn }),
  "models/modifying/tapable": (turn) => amended.promise({}, { turn }),
  "models/claiming/tapable": (turn) => claimable.promise({ turn }),
  "models/gate/tapable": (turn) => guarded.promise({ turn }),
});
