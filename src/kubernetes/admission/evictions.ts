// An eviction names its pod and says nothing of its class, so the pod is looked up.
import type { Api } from "../api/client.ts";
import { CLASS_ANNOTATION } from "../labels/names.ts";
import type { Review } from "./review.ts";

interface Classified {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
}

/** Resolves to a refusal's sentence. Rejects when the API server does not say what pod it is. */
export async function refusalOfEviction(
  { object }: Review,
  api: Pick<Api, "find">,
): Promise<string | undefined> {
  const metadata = object.at("metadata");
  const [namespace, name] = [metadata.at("namespace").text(), metadata.at("name").text()];
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(name)}`;
  const pod = await api.find<Classified>(path);
  // The API server itself refuses evictions of pods that are gone.
  if (pod === undefined || pod.metadata.annotations?.[CLASS_ANNOTATION] === "best-effort")
    return undefined;
  return `Cotenant's manager evicts best-effort pods alone, and ${namespace}/${name} is none.`;
}
