import { address, text } from "./command.ts";

export const metricsOptions = {
  "metrics-address": address("HOST:PORT", "where Prometheus reads metrics; needs --metrics-token"),
  "metrics-token": text(
    "FILE",
    undefined,
    "the token of who may read metrics; without the file there are none",
  ),
};
