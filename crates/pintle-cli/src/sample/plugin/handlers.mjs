// PLUGIN_ID: what it may do is declared in plugin.json, and granted by the person who adds it.

export const on = {
  before_prompt_build: () => ({ appendSystem: "Answer in one sentence where that is enough." }),
};

export const tools = {
  roll: ({ sides }) => String(1 + Math.floor(Math.random() * sides)),
};

export const commands = {
  "PLUGIN_ID": (text) => `PLUGIN_ID is here. ${text}`,
};
