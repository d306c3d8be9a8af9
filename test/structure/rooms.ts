// Which room may import which, so that imports point one way. A room is a folder of src, or a part of one.

/** A room → the rooms it may import, by their doors; the first that holds a file counts; a part of a room → the other parts it may import. */
export const rooms: Readonly<Record<string, readonly string[]>> = {
  core: [],
  protocol: ["core"],
  engines: ["core"],
  policy: ["core", "protocol", "engines"],
  profile: ["core"],
  ptx: ["core"],
  emulator: ["core", "ptx"],
  gpu: ["core", "protocol", "policy", "profile"],
  predict: ["core", "profile"],
  place: ["core", "profile", "predict"],
  health: ["core"],
  "offline/cluster": ["core", "profile", "predict", "place", "health"],
  "offline/soc": ["core", "profile"],
  // PTX is compiled in processes of their own, never on the thread that serves all clients.
  "agent/variants": ["core", "protocol", "policy", "profile", "ptx"],
  // The agent's data for the page, and the page itself, which runs in a browser.
  dashboard: [],
  agent: ["core", "protocol", "policy", "profile", "engines", "place", "health", "dashboard"],
  client: ["core", "protocol", "policy", "profile", "dashboard", "agent"],
  kubernetes: ["core", "policy", "place", "predict", "agent", "client"],
  "offline/manager": ["predict", "offline/cluster", "kubernetes"],
  "offline/llm-model": ["core", "protocol", "policy", "agent"],
  load: ["core", "protocol"],
  llm: ["core", "policy", "load", "engines"],
  doctor: ["core", "protocol", "agent", "client"],
  bench: [
    "core",
    "protocol",
    "policy",
    "profile",
    "ptx",
    "gpu",
    "agent",
    "client",
    "load",
    "engines",
    "health",
  ],
};

export const parts: Readonly<Record<string, readonly string[]>> = {
  "ptx/syntax": [],
  "ptx/analysis": ["ptx/syntax"],
  "ptx/waits": ["ptx/syntax", "ptx/analysis"],
  "emulator/numbers": [],
  "emulator/machine": ["emulator/numbers"],
  "emulator/instructions": ["emulator/numbers", "emulator/machine"],
};
