import { log } from "pintle:plugin/host@0.1.0";

const on = {
  before_prompt_build: () => ({ appendSystem: "Never add in your head." }),
  agent_done: ({ totalToolCalls }) => log(`${totalToolCalls} tool calls`),
};
const tools = { add: ({ a, b }) => `the sum is ${a + b}` };
const commands = {
  sum: (text) => `the sum is ${text.split(/\s+/).reduce((sum, it) => sum + Number(it), 0)}`,
};

export function activate(context) {
  return "null";
}

export function handle(event, context) {
  const it = JSON.parse(context);
  const answer = {
    "plugin.tool": () => tools[it.tool](it.args),
    "plugin.command": () => commands[it.command](it.text),
  }[event] ?? (() => on[event](it));
  try {
    return JSON.stringify(answer() ?? null);
  } catch (error) {
    throw String(error); // A text is a failure of this call; anything else ends the instance.
  }
}
