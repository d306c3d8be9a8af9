// Graphs, captured and built, what is made of them, and how they change.
import { Accesses } from "./order.ts";
import {
  type Capture,
  type Context,
  LIMITS,
  type Memory,
  type Program,
  type Stream,
} from "./program.ts";
import {
  hostMemories,
  isCapturing,
  kernel,
  memoriesOf,
  pick,
  streamFor,
  type Wish,
} from "./work.ts";

/** The parts of a graph that was built: enough to write it again with other values. */
interface Node {
  readonly after: number;
  readonly of: readonly number[];
  /** A kernel's memory. */
  readonly kernel: Memory | undefined;
}

export interface Graph {
  readonly index: number;
  readonly context: Context;
  readonly owner: number;
  readonly touched: ReadonlyMap<number, boolean>;
  readonly gates: ReadonlySet<number>;
  readonly us: number;
  readonly nodes: readonly Node[];
}

export interface Exec {
  readonly index: number;
  readonly graph: Graph;
  us: number;
  alive: boolean;
}

export class Graphs {
  readonly #program: Program;
  readonly #graphs: Graph[] = [];
  readonly #execs: Exec[] = [];
  #indices = 0;

  constructor(program: Program) {
    this.#program = program;
  }

  begin(wish: Wish): void {
    const program = this.#program;
    const { thread, c } = wish;
    if (isCapturing(program, thread) || !program.hasLanes || this.#indices > 200) return;
    const stream = streamFor(program, wish);
    if (!stream || stream.blocking || stream.gates.size > 0) return;
    const mode = program.threads === 1 ? c % 3 : 1 + (c % 2);
    program.use(thread, stream.context);
    const begin = wish.b % 3 === 0 ? "capture-later" : "capture";
    program.line(thread, begin, stream.handle, mode);
    const capture: Capture = {
      origin: stream,
      context: stream.context,
      accesses: new Accesses(),
      streams: new Map(),
      gates: new Set(),
      us: 0,
      nodes: 0,
    };
    this.#join(capture, stream);
  }

  #join(capture: Capture, stream: Stream): Stream {
    const virtual = this.#program.virtualStream(stream);
    virtual.capture = capture;
    stream.capture = capture;
    capture.streams.set(stream, virtual);
    return virtual;
  }

  /** Brings another stream into a capture. */
  fork(wish: Wish): void {
    const program = this.#program;
    const capture = this.#captureOf(wish.thread);
    if (!capture || !program.hasLanes) return;
    const free = program.streams.filter(
      ({ owner, alive, blocking, context, capture: other, gates }) =>
        owner === wish.thread &&
        alive &&
        !blocking &&
        context === capture.context &&
        !other &&
        gates.size === 0,
    );
    const stream = pick(free, wish.a);
    const origin = capture.streams.get(capture.origin);
    if (!stream || !origin) return;
    const event = program.record(wish.thread, origin);
    if (event) program.wait(wish.thread, this.#join(capture, stream), event);
  }

  #captureOf(thread: number): Capture | undefined {
    return this.#program.streams.find(({ owner, capture }) => owner === thread && capture)?.capture;
  }

  end({ thread, c }: Wish): void {
    const program = this.#program;
    const capture = this.#captureOf(thread);
    const origin = capture?.streams.get(capture.origin);
    if (!capture || !origin) return;
    for (const virtual of capture.streams.values()) {
      if (virtual === origin) continue;
      const event = program.record(thread, virtual);
      if (!event) throw new Error("a capture began without events left to end it");
      program.wait(thread, origin, event);
    }
    const graph = {
      index: this.#indices++,
      context: capture.context,
      owner: thread,
      touched: capture.accesses.touched(),
      gates: capture.gates,
      us: capture.us,
      nodes: [],
    };
    program.line(thread, "end-capture", capture.origin.handle, graph.index);
    for (const stream of capture.streams.keys()) stream.capture = undefined;
    if (program.canShow) program.line(thread, "show-nodes", graph.index, program.shown++);
    this.#graphs.push(graph);
    this.#instantiate(thread, graph, c);
  }

  endAll(): void {
    for (const thread of this.#program.hosts.keys())
      this.end({ kind: "", thread, a: 0, b: 0, c: 0 });
  }

  #instantiate(thread: number, graph: Graph, how: number): void {
    const program = this.#program;
    program.use(thread, graph.context);
    const exec = { index: this.#indices++, graph, us: graph.us, alive: true };
    program.line(thread, "instantiate", exec.index, graph.index, how % 2);
    this.#execs.push(exec);
  }

  build(wish: Wish): void {
    const program = this.#program;
    const { thread, a, b, c } = wish;
    if (isCapturing(program, thread) || this.#indices > 200) return;
    const stream = streamFor(program, wish);
    if (!stream) return;
    const device = memoriesOf(program, thread, stream);
    if (!device.length) return;
    const accesses: { memory: Memory; writes: boolean; node: number }[] = [];
    const touched = new Map<number, boolean>();
    const nodes: Node[] = [];
    let us = 0;
    for (let i = 0; i < 1 + (c % 12); i++) {
      const own: Wish = { ...wish, a: a + i * 3, b: b + i * 5, c: c + i * 7 };
      const node = this.#node(own, stream.context, device);
      if (!node) continue;
      let after = i > 0 && (a + i) % 3 === 0 && nodes.length ? 1 << (nodes.length - 1) : 0;
      for (const { memory, writes, node: before } of accesses)
        for (const mine of node.memories)
          if (mine.memory === memory && (mine.writes || writes)) after |= 1 << before;
      for (const mine of node.memories) {
        accesses.push({ ...mine, node: nodes.length });
        touched.set(mine.memory.index, mine.writes || touched.get(mine.memory.index) === true);
      }
      us += node.us;
      nodes.push({ after, of: node.of, kernel: node.kernel });
    }
    const graph: Graph = {
      index: this.#indices++,
      context: stream.context,
      owner: thread,
      touched,
      gates: new Set(),
      us,
      nodes,
    };
    this.#write(thread, graph);
    this.#graphs.push(graph);
    this.#instantiate(thread, graph, b);
  }

  #write(thread: number, { index, context, nodes }: Graph): void {
    this.#program.use(thread, context);
    this.#program.line(thread, "graph", index);
    for (const { after, of } of nodes) this.#program.line(thread, "node", index, after, ...of);
  }

  #node(wish: Wish, context: Context, device: readonly Memory[]) {
    const program = this.#program;
    const memory = pick(device, wish.a);
    if (!memory) return undefined;
    const writing = [{ memory, writes: true }];
    const none = { us: 0, kernel: undefined };
    switch (wish.b % 6) {
      case 0:
        return {
          ...none,
          memories: writing,
          of: [1, context.index, memory.index, memory.bytes, (wish.c % 50) + 1],
        };
      case 1: {
        const all = [
          ...device,
          ...hostMemories(program, wish.thread).filter(({ how }) => how !== 6),
        ];
        const from = pick(all, wish.c);
        if (!from || from === memory) return undefined;
        const bytes = Math.min(memory.bytes, from.bytes);
        return {
          ...none,
          memories: [...writing, { memory: from, writes: false }],
          of: [2, context.index, memory.index, from.index, bytes],
        };
      }
      case 2:
        if (!program.hasLanes) return undefined;
        return {
          ...none,
          memories: [],
          of: [3, context.index, program.lane(), wish.c % 100, 256, 256],
        };
      case 3:
        return { ...none, memories: [], of: [4, context.index] };
      default: {
        const { of, us } = kernel(memory, wish);
        return { us, kernel: memory, memories: writing, of: [0, ...of] };
      }
    }
  }

  launch(wish: Wish): void {
    const program = this.#program;
    const { thread } = wish;
    const exec = pick(this.#usable(thread), wish.b);
    const stream = streamFor(program, { ...wish, b: 0 });
    if (!exec || !stream || stream.capture || stream.context !== exec.graph.context) return;
    if (program.gpuUs + exec.us > LIMITS.gpuUs) return;
    const memories = [...exec.graph.touched].map(([index, writes]) => ({
      memory: program.memories.find((memory) => memory.index === index),
      writes,
    }));
    const of = (written: boolean) =>
      memories.flatMap(({ memory, writes }) =>
        memory?.alive && writes === written ? [memory] : [],
      );
    if (memories.some(({ memory }) => !memory?.alive)) return;
    const put = program.enqueue(thread, stream, of(false), of(true), () =>
      program.line(thread, "launch-graph", exec.index, stream.handle),
    );
    if (!put) return;
    stream.seen = stream.at;
    program.gpuUs += exec.us;
    for (const word of exec.graph.gates) program.gate(thread, stream, word);
  }

  #usable(thread: number): readonly Exec[] {
    return this.#execs.filter(
      ({ alive, graph }) => alive && graph.owner === thread && graph.context.alive,
    );
  }

  /** One node of an executable graph, or all of it at once, gets other values. */
  update(wish: Wish): void {
    const program = this.#program;
    const { thread, b, c } = wish;
    if (isCapturing(program, thread) || this.#indices > 200) return;
    const exec = pick(this.#usable(thread), wish.a);
    if (!exec) return;
    const { graph } = exec;
    const alive = [...graph.touched.keys()].every(
      (index) => program.memories.find((memory) => memory.index === index)?.alive,
    );
    if (!alive) return;
    program.use(thread, graph.context);
    if (!graph.nodes.length) {
      // captured
      program.line(thread, "update", exec.index, graph.index);
      return;
    }
    const changed = (node: Node): Node => {
      if (!node.kernel) return node;
      const [kind = 0, context = 0, which = 0, memory = 0, words = 0, , us = 0, blocks = 0] =
        node.of;
      return { ...node, of: [kind, context, which, memory, words, (c % 3) + 2, us, blocks] };
    };
    const at = graph.nodes.findIndex((node) => node.kernel);
    const one = graph.nodes[at];
    if (b % 2 && one) {
      program.line(thread, "update-node", exec.index, graph.index, at, ...changed(one).of.slice(1));
      return;
    }
    const other: Graph = { ...graph, index: this.#indices++, nodes: graph.nodes.map(changed) };
    this.#write(thread, other);
    program.line(thread, "update", exec.index, other.index);
    program.line(thread, "end-graph", other.index);
  }

  /** Destroys an executable graph, which may be running. */
  endExec({ thread, a }: Wish): void {
    const exec = pick(this.#usable(thread), a);
    if (!exec || isCapturing(this.#program, thread)) return;
    this.#program.use(thread, exec.graph.context);
    this.#program.line(thread, "end-exec", exec.index);
    exec.alive = false;
  }
}
