// A request that goes on as long as a test wants: the API server waits for the rest of its body. Under API Priority and
// Fairness it holds a seat of its account meanwhile.
import { request } from "node:https";
import { accessOf } from "#kubernetes";

export interface Seat {
  /** Gives up the request. */
  leave(): void;
}

/**
 * Takes a seat as soon as one is free. A request that the server answers, because it refuses it, is sent again.
 *
 * @param folder the account's, as accessOf() reads it
 */
export function holdSeat(server: string, folder: string): Seat {
  const { authority, token } = accessOf(server, folder);
  let left = false;
  let leave = () => {};
  const ask = () => {
    if (left) return;
    const url = new URL("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", server);
    const sent = request(url, {
      ...(authority !== undefined && { ca: authority }),
      method: "POST",
      headers: {
        authorization: `Bearer ${token()}`,
        "content-type": "application/json",
        "content-length": 1000,
      },
    });
    const again = () => {
      sent.destroy();
      setTimeout(ask, 20);
    };
    sent.on("response", again).on("error", () => {});
    sent.flushHeaders();
    leave = () => sent.destroy();
  };
  ask();
  return {
    leave() {
      left = true;
      leave();
    },
  };
}
