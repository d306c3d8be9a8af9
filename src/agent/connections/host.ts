// By DNS rebinding, a page of another site can make a browser send requests here under its own host
// name. Such a request is refused even with a valid token. The port is not compared, because it
// differs behind a tunnel.
import type { MiddlewareHandler } from "hono";

const loopback = /^(?:127\.0\.0\.1|localhost|\[::1\])(?::\d{1,5})?$/i;

export const fromLoopback: MiddlewareHandler = async (context, next) => {
  if (loopback.test(context.req.header("host") ?? "")) return next();
  context.header("connection", "close");
  return context.json({ error: "The Host header must be 127.0.0.1, localhost or [::1]." }, 421);
};
