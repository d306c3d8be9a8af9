// A page of another site can make a browser ask this agent under a name of its own (DNS rebinding). What it asks for then is
// refused, whatever token it has: a browser that means this machine says so. The port is not looked at, because it is
// another one behind a tunnel.
import type { MiddlewareHandler } from "hono";

const loopback = /^(?:127\.0\.0\.1|localhost|\[::1\])(?::\d{1,5})?$/i;

export const fromLoopback: MiddlewareHandler = async (context, next) => {
  if (loopback.test(context.req.header("host") ?? "")) return next();
  context.header("connection", "close");
  return context.json({ error: "The Host header must be 127.0.0.1, localhost or [::1]." }, 421);
};
