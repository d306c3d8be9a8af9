// The API server sends and gets an AdmissionReview of admission.k8s.io/v1:
// https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/.
import { type Field, readJson, usage, withPlace } from "#core";

export interface Review {
  readonly uid: string;
  readonly object: Field;
}

/** It is an operation of a JSON patch, RFC 6902. `add` replaces what is there. */
export interface Change {
  readonly op: "add";
  readonly path: string;
  readonly value: unknown;
}

const KIND = { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview" } as const;

/** Throws a UserError for a text that is no AdmissionReview. */
export function readReview(text: string): Review {
  const field = readJson(text, "AdmissionReview", (file, place, what, hint) =>
    usage(withPlace(file, place, what), hint),
  );
  field.at("apiVersion").one([KIND.apiVersion]);
  const request = field.at("request");
  return { uid: request.at("uid").text(), object: request.at("object") };
}

export const admittedWith = (
  { uid }: Review,
  changes: readonly Change[],
  warnings: readonly string[] = [],
) => ({
  ...KIND,
  response: {
    uid,
    allowed: true,
    warnings,
    ...(changes.length > 0 && {
      patchType: "JSONPatch",
      patch: Buffer.from(JSON.stringify(changes)).toString("base64"),
    }),
  },
});

export const refusedWith = ({ uid }: Review, message: string) => ({
  ...KIND,
  response: { uid, allowed: false, status: { code: 403, message } },
});
