import { expect, test } from "vitest";
import { parseAddress, showAddress } from "./address.ts";

test.each([
  ["0.0.0.0:9464", { host: "0.0.0.0", port: 9464 }],
  ["[::]:9464", { host: "::", port: 9464 }],
  ["gpu-1.example.org:0", { host: "gpu-1.example.org", port: 0 }],
])("%s is an address, and is shown as it is written", (text, address) => {
  expect(parseAddress(text)).toEqual(address);
  expect(showAddress(address)).toBe(text);
});

test.each(["9464", ":9464", "host", "host:", "host:65536", "::1:80", "a b:80", "http://h:80"])(
  "%j is no address",
  (text) => {
    expect(() => parseAddress(text)).toThrow(`"${text}" is not HOST:PORT`);
  },
);
