// The webhook of a cluster: deploy/kubernetes/admission.yaml says what the API server asks it.
import { readGiven, showAddress, usage } from "#core";
import { serveAdmission } from "#kubernetes";
import { address, command, text } from "../command.ts";

const options = {
  listen: address("HOST:PORT", "where the API server reaches it; port 0: any free one"),
  certificate: text("FILE", undefined, "its certificate, PEM"),
  key: text("FILE", undefined, "the key of the certificate, PEM"),
};

export const admitPodsCommand = command({
  name: "admit-pods",
  summary: "answer a Kubernetes API server about new pods",
  options,
  internal: true,
  async run({ listen, certificate, key }) {
    if (listen === undefined || certificate === undefined || key === undefined)
      throw usage("admit-pods needs --listen, --certificate and --key.");
    const { host } = listen;
    const server = await serveAdmission(listen, {
      cert: readGiven(certificate, "certificate"),
      key: readGiven(key, "key"),
    });
    console.log(`answers at https://${showAddress({ host, port: server.port })}`);
    await new Promise<void>((resolve) => {
      for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => resolve());
    });
    await server.close();
    return 0;
  },
});
