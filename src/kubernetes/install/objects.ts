// The chart's templates are the one source, and Helm reads them too. So they use one construct
// only, {{ toJson .Values.NAME }}, which is replaced here as Helm does it.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse, parseAllDocuments } from "yaml";
import { packageRoot } from "#core";

export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
}

/** Fields that are left out have the value of values.yaml. */
export interface Values {
  readonly image?: string | undefined;
  readonly imagePullSecrets?: readonly { readonly name: string }[] | undefined;
  readonly gpu?: "auto" | "soft" | undefined;
  readonly node?: { readonly runtimeClassName?: string } | undefined;
}

const folder = (): string => join(packageRoot(), "deploy/kubernetes");

/** They are in the order of creation: namespace and kinds first, what admits pods last. */
export function chartObjects(values: Values): readonly KubernetesObject[] {
  const read = (path: string) => readFileSync(join(folder(), path), "utf8");
  const stated = Object.entries(values).filter(([, value]) => value !== undefined);
  const defaults = parse(read("chart/values.yaml"));
  const all = {
    ...{ ...defaults, ...Object.fromEntries(stated) },
    node: { ...defaults.node, ...values.node },
  };
  const templates = readdirSync(join(folder(), "chart/templates"))
    .filter((name) => name.endsWith(".yaml"))
    .sort()
    .map((name) => fill(read(`chart/templates/${name}`), all));
  return [read("namespace.yaml"), ...templates]
    .flatMap((text) =>
      parseAllDocuments(text).map((document) => document.toJS() as KubernetesObject),
    )
    .sort((a, b) => rank(a) - rank(b));
}

function fill(template: string, values: object): string {
  return template.replaceAll(/\{\{(.*?)\}\}/g, (whole, inside: string) => {
    const [, path = ""] = /^ toJson \.Values\.([\w.]+) $/.exec(inside) ?? [];
    const value = path
      .split(".")
      .reduce<unknown>(
        (from, name) => (from as Record<string, unknown> | undefined)?.[name],
        values,
      );
    if (value === undefined)
      throw new Error(`a template has ${whole}, which values.yaml does not say`);
    return JSON.stringify(value);
  });
}

const first = [
  "Namespace",
  "CustomResourceDefinition",
  "PriorityClass",
  "DeviceClass",
  "ServiceAccount",
  "ResourceQuota",
];
const last = [
  "Deployment",
  "DaemonSet",
  "ValidatingAdmissionPolicy",
  "ValidatingAdmissionPolicyBinding",
  "MutatingWebhookConfiguration",
  "ValidatingWebhookConfiguration",
];

function rank({ kind }: KubernetesObject): number {
  if (first.includes(kind)) return first.indexOf(kind) - first.length;
  return last.indexOf(kind) + 1;
}

const kinds: Readonly<Record<string, { readonly plural: string; readonly namespaced?: true }>> = {
  Namespace: { plural: "namespaces" },
  CustomResourceDefinition: { plural: "customresourcedefinitions" },
  PriorityClass: { plural: "priorityclasses" },
  DeviceClass: { plural: "deviceclasses" },
  ServiceAccount: { plural: "serviceaccounts", namespaced: true },
  ClusterRole: { plural: "clusterroles" },
  ClusterRoleBinding: { plural: "clusterrolebindings" },
  Role: { plural: "roles", namespaced: true },
  RoleBinding: { plural: "rolebindings", namespaced: true },
  Service: { plural: "services", namespaced: true },
  ConfigMap: { plural: "configmaps", namespaced: true },
  FlowSchema: { plural: "flowschemas" },
  Secret: { plural: "secrets", namespaced: true },
  ResourceQuota: { plural: "resourcequotas", namespaced: true },
  PodDisruptionBudget: { plural: "poddisruptionbudgets", namespaced: true },
  Deployment: { plural: "deployments", namespaced: true },
  DaemonSet: { plural: "daemonsets", namespaced: true },
  ValidatingAdmissionPolicy: { plural: "validatingadmissionpolicies" },
  ValidatingAdmissionPolicyBinding: { plural: "validatingadmissionpolicybindings" },
  MutatingWebhookConfiguration: { plural: "mutatingwebhookconfigurations" },
  ValidatingWebhookConfiguration: { plural: "validatingwebhookconfigurations" },
};

export function pathOf({
  apiVersion,
  kind,
  metadata: { name, namespace },
}: KubernetesObject): string {
  const found = kinds[kind];
  if (found === undefined)
    throw new Error(`the kind ${kind} is not known to src/kubernetes/install`);
  const group = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const inside = found.namespaced ? `/namespaces/${namespace}` : "";
  return `${group}${inside}/${found.plural}/${name}`;
}
