import { connect } from "node:net";
import {
  bytesOf,
  MessageReader,
  PLUGIN_CONNECTION,
  REQUEST,
  RESPONSE,
  RUNTIME_CONNECTION,
} from "./frames.ts";
import {
  type Adjustment,
  type Container,
  CREATE_CONTAINER_EVENT,
  messages,
  PLUGIN_SERVICE,
  RUNTIME_SERVICE,
  type Sandbox,
} from "./wire.ts";

/** containerd calls plugins by their numbers, so that this one sees what the others have set. */
const NAME = "cotenant";
const INDEX = "90";
/** The runtime waits for this long itself. */
const REGISTERED_WITHIN_MS = 5000;
const UNIMPLEMENTED = 12;

export interface Plugin {
  /** It gets all that was there before, once after each start of the runtime. */
  synchronize(pods: readonly Sandbox[], containers: readonly Container[]): void;
  /** It never rejects, because no failure may keep the container from starting. */
  create(pod: Sandbox, container: Container): Promise<Adjustment | undefined>;
}

/** Resolves to why the connection has ended; rejects with a sentence if there never was one. */
export function connectNri(
  path: string,
  plugin: Plugin,
  signal: AbortSignal,
  connected: (runtime: string) => void,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(path);
    const reader = new MessageReader();
    let runtime: string | undefined;
    let why = "the runtime has closed the connection";
    let pods: readonly Sandbox[] = [];
    let containers: readonly Container[] = [];

    const end = (because: string) => {
      why = because;
      socket.destroy();
    };
    const stop = () => end("it was stopped");
    const late = setTimeout(
      () => end("the runtime does not answer as a Node Resource Interface"),
      REGISTERED_WITHIN_MS,
    );
    const send = (connection: number, type: number, stream: number, data: Uint8Array) =>
      socket.write(bytesOf(connection, { stream, type, data: Buffer.from(data) }));
    const answer = (stream: number, payload: Uint8Array) =>
      send(PLUGIN_CONNECTION, RESPONSE, stream, messages.response.encode({ payload }));

    const asked = async (method: string, payload: Uint8Array): Promise<Uint8Array | undefined> => {
      switch (method) {
        case "Configure": {
          const { runtimeName, runtimeVersion } = messages.configure.decode(payload);
          runtime = `${runtimeName} ${runtimeVersion}`;
          return messages.configured.encode({ events: CREATE_CONTAINER_EVENT });
        }
        case "Synchronize": {
          const { more, ...some } = messages.synchronize.decode(payload);
          pods = [...pods, ...some.pods];
          containers = [...containers, ...some.containers];
          if (!more) {
            clearTimeout(late);
            plugin.synchronize(pods, containers);
            [pods, containers] = [[], []];
            connected(runtime ?? "a container runtime");
          }
          return messages.synchronized.encode({ more });
        }
        case "CreateContainer": {
          const { pod, container } = messages.create.decode(payload);
          const adjust = await plugin.create(pod, container);
          return messages.created.encode(adjust ? { adjust } : {});
        }
        case "Shutdown":
        case "StateChange":
          return messages.empty.encode({});
        default:
          return undefined;
      }
    };

    const take = async (connection: number, stream: number, type: number, data: Buffer) => {
      if (connection === RUNTIME_CONNECTION && type === RESPONSE) {
        const { status } = messages.response.decode(data);
        if (status?.code) end(`the runtime refuses the plugin: ${status.message}`);
      }
      if (connection !== PLUGIN_CONNECTION || type !== REQUEST) return;
      const { service, method, payload } = messages.request.decode(data);
      const said = service === PLUGIN_SERVICE ? await asked(method, payload) : undefined;
      if (said !== undefined) answer(stream, said);
      else
        send(
          PLUGIN_CONNECTION,
          RESPONSE,
          stream,
          messages.response.encode({
            status: { code: UNIMPLEMENTED, message: `${service}.${method} is not known here` },
            payload: new Uint8Array(),
          }),
        );
    };

    socket.on("connect", () =>
      send(
        RUNTIME_CONNECTION,
        REQUEST,
        1,
        messages.request.encode({
          ...{ service: RUNTIME_SERVICE, method: "RegisterPlugin", timeoutNano: 0 },
          payload: messages.register.encode({ pluginName: NAME, pluginIdx: INDEX }),
        }),
      ),
    );
    socket.on("data", (bytes) => {
      try {
        for (const [connection, { stream, type, data }] of reader.take(bytes))
          take(connection, stream, type, data).catch((error: Error) =>
            end(`the runtime said what can't be read: ${error.message}`),
          );
      } catch (error) {
        end(`the runtime said what can't be read: ${(error as Error).message}`);
      }
    });
    socket.on("error", (error) => {
      why = error.message;
    });
    socket.on("close", () => {
      clearTimeout(late);
      signal.removeEventListener("abort", stop);
      if (runtime === undefined) reject(new Error(why));
      else resolve(why);
    });
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop);
  });
}
