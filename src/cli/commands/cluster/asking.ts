import { UserError } from "#core";
import { type Api, ApiError, accessFromKubeconfig, connect } from "#kubernetes";
import { type Args, text } from "../../program/command.ts";

export const clusterOptions = {
  kubeconfig: text("FILE", undefined, "the cluster, as kubectl takes it; by default KUBECONFIG"),
  context: text("NAME", undefined, "of the kubeconfig; by default its current one"),
};

/** A refusal of the API server becomes a UserError. */
export async function askCluster<T>(
  args: Omit<Args<typeof clusterOptions>, "positional">,
  ask: (api: Api) => Promise<T>,
): Promise<T> {
  const access = accessFromKubeconfig(args.kubeconfig, args.context, process.env);
  try {
    return await ask(connect(access));
  } catch (error) {
    if (error instanceof ApiError)
      throw new UserError(
        "REFUSED",
        `The API server at ${access.server} refused: ${error.message}`,
        error.status === 403 ? "Ask its administrator for the right to do that." : "",
      );
    const { code } = error as NodeJS.ErrnoException;
    if (error instanceof UserError || code === undefined) throw error;
    throw new UserError(
      "NO_API_SERVER",
      `The API server at ${access.server} does not answer: ${(error as Error).message}.`,
      "Check the kubeconfig, and that the address is reached from here.",
    );
  }
}
