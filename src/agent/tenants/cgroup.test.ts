import { describe, expect, test } from "vitest";
import { originIn } from "./cgroup.ts";

const id = "0123456789abcdef".repeat(4);
const pod = "6f1ed7d2-9c0a-4c27-8f0b-2f8d2b7a9f11";
const slicePod = pod.replaceAll("-", "_");
const nothing = { container: undefined, pod: undefined, unit: undefined, slurmJob: undefined };

describe("a cgroup tells which container, unit or job a process belongs to", () => {
  test.each([
    [
      "Kubernetes, systemd driver, containerd",
      `/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod${slicePod}.slice/cri-containerd-${id}.scope`,
      { pod, container: id },
    ],
    [
      "Kubernetes, a guaranteed pod, CRI-O, with a cgroup that the container made",
      `/kubepods.slice/kubepods-pod${slicePod}.slice/crio-${id}.scope/init`,
      { pod, container: id },
    ],
    [
      "kind",
      `/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice/kubelet-kubepods-besteffort-pod${slicePod}.slice/cri-containerd-${id}.scope`,
      { pod, container: id },
    ],
    ["Kubernetes, cgroupfs driver", `/kubepods/besteffort/pod${pod}/${id}`, { pod, container: id }],
    ["Docker, systemd", `/system.slice/docker-${id}.scope`, { container: id }],
    ["Docker, cgroupfs", `/docker/${id}`, { container: id }],
    ["Podman as root", `/machine.slice/libpod-${id}.scope/container`, { container: id }],
    ["ctr", "/default/trainer-1", { container: "trainer-1" }],
    [
      "Slurm, v2",
      "/system.slice/slurmstepd.scope/job_4711/step_0/user/task_0",
      { slurmJob: "4711" },
    ],
    [
      "Slurm, v2, several nodes on one machine",
      "/system.slice/n1_slurmstepd.scope/job_5/step_0",
      { slurmJob: "5" },
    ],
    ["Slurm, v1", "/slurm/uid_1000/job_12/step_batch", { slurmJob: "12" }],
    ["a service", "/system.slice/inference.service", { unit: "inference.service" }],
    [
      "a template in a slice",
      "/system.slice/system-gpu.slice/gpu@0.service",
      { unit: "gpu@0.service" },
    ],
    ["a login", "/user.slice/user-1000.slice/session-3.scope", { unit: "session-3.scope" }],
    [
      "a user's own service",
      "/user.slice/user-1000.slice/user@1000.service/app.slice/mine.service",
      { unit: "user@1000.service" },
    ],
  ])("%s", (_, path, found) => {
    expect(originIn(`0::${path}\n`)).toEqual({ ...nothing, ...found, cgroup: path });
  });
});

describe("a name that a user can give to a cgroup of its own tells nothing", () => {
  test.each([
    `/user.slice/user-1000.slice/user@1000.service/kubepods.slice/kubepods-pod${slicePod}.slice/cri-containerd-${id}.scope`,
    `/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-${id}.scope`,
    `/user.slice/user-1000.slice/user@1000.service/docker/${id}`,
  ])("%s", (path) => {
    expect(originIn(`0::${path}\n`)).toMatchObject({
      container: undefined,
      pod: undefined,
      unit: "user@1000.service",
    });
  });

  test.each([
    "/init.scope",
    "/",
    `/../../kubepods-pod${slicePod}.slice/cri-containerd-${id}.scope`, // the agent has a cgroup namespace of its own
    `/system.slice/docker-${id}0.scope`,
    `/docker/${id.slice(1)}`,
    `/x/docker/${id}`,
    "/default",
    "/slurm/job_12",
  ])("%s", (path) => {
    expect(originIn(`0::${path}\n`)).toEqual({ ...nothing, cgroup: path });
  });
});

test("with several hierarchies the first path that tells something counts", () => {
  const text = `12:memory:/docker/${id}\n3:devices:/docker/${id}\n1:name=systemd:/docker/${id}\n0::/\n`;
  expect(originIn(text)).toMatchObject({ container: id, cgroup: `/docker/${id}` });
  expect(originIn(`1:name=systemd:/init.scope\n0::/system.slice/a.service\n`).unit).toBe(
    "a.service",
  );
});

test.each(["", "0::", "garbage", "0::relative/path"])(
  "the text %j has no usable path, so nothing is known",
  (text) => {
    expect(originIn(text)).toEqual({ ...nothing, cgroup: "" });
  },
);
