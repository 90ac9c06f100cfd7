// Run with: node --test

import assert from "node:assert";
import test from "node:test";
import { on, tools } from "./handlers.mjs";

test("it adds a line to the prompt", () => {
  assert.match(on.before_prompt_build().appendSystem, /one sentence/);
});

test("a roll is on the die", () => {
  assert.ok([1, 2, 3, 4, 5, 6].includes(Number(tools.roll({ sides: 6 }))));
});
