#!/usr/bin/env bash
# Packs what a machine with an NVIDIA GPU needs for one-gpu.ts and beside.ts, if it has no network, no Node and no
# Kubernetes: Node, Kubernetes' programs, runc, openssl, and this package as it is built here. The parts are unpacked there
# by unpack.sh, in a copy of the repository of the same commit. What seldom changes is kept in the cache.
# Usage: bench/kubernetes/one-gpu/pack.sh FOLDER [MIB]; MIB: the most that a part may have, by default 40. PRESET=0: less
# compression, in a tenth of the time.
set -euo pipefail
out=$(realpath -m "${1:?"pack.sh: name the folder for the parts: pack.sh FOLDER"}")
part=${2:-40}
preset=${PRESET:-9e}
own=$(realpath "$(dirname "$0")")
cd "$own/../../.."
cache=${XDG_CACHE_HOME:-$HOME/.cache}/cotenant/one-gpu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out" "$cache" "$work/tools/bin" "$work/tools/lib" "$work/product"
for program in dist/cotenant.js build/native/libcotenant.so build/native/softgpu/libcuda.so.1; do
  [ -e $program ] || { echo "pack.sh: $program is missing: run npm run bundle, and make -C native." >&2; exit 1; }
done
tools=$(scripts/kubernetes-tools)
node=$(node -p process.execPath)
runc=$(command -v runc)
packed() { tar --create --sort=name --mtime=@0 --owner=0 --group=0 -C "$1" . | xz -T0 --x86 "--lzma2=preset=$preset,dict=128MiB"; }

# The five programs of Kubernetes in one (kubernetes.go); it is linked from what scripts/kubernetes-tools has compiled.
key=$(cat "$own/kubernetes.go" test/kubernetes/modules/*/go.{mod,sum} <(stat -c '%n %s %Y' "$node" "$runc") <(sed -n '/^packed/p' "$0") - <<<"$preset" | sha256sum | cut -c1-16)
if [ ! -e "$cache/$key.tar.xz" ]; then
  cd test/kubernetes/modules/kubernetes
  all=$work/tools/cache/cotenant/kubernetes
  version=$(grep -oP 'k8s.io/kubernetes \Kv[0-9.]+' go.mod)
  said=k8s.io/component-base/version
  home=${XDG_CACHE_HOME:-$HOME/.cache}/cotenant
  GOMODCACHE=$home/go/mod GOCACHE=$home/go/build GOTOOLCHAIN=local CGO_ENABLED=0 \
    go build -trimpath -buildvcs=false -p=2 -tags=no_btrfs -o "$work/kubernetes" \
    -ldflags "-s -w -X $said.gitVersion=$version -X $said.gitMajor=1 -X $said.gitMinor=$(cut -d. -f2 <<<"$version")" \
    "$own/kubernetes.go"
  cd ../../../..
  # scripts/kubernetes-tools finds these folders there as it finds them here.
  IFS=: read -ra folders <<<"$tools"
  for folder in "${folders[@]}"; do
    to=$all/$(basename "$folder")
    mkdir -p "$to"
    touch "$to/complete"
    case $(basename "$folder") in
      etcd-* | containerd-*) cp "$folder"/* "$to" ;;
      kubernetes-*)
        cp "$work/kubernetes" "$to/kubernetes"
        for name in kube-apiserver kube-controller-manager kube-scheduler kubelet kubectl; do ln -s kubernetes "$to/$name"; done
        ;;
    esac
  done
  strip -o "$work/tools/bin/node" "$node"
  cp "$runc" "$(command -v openssl)" "$work/tools/bin"
  for program in "$runc" "$(command -v openssl)"; do
    ldd "$program" | sed -n 's/.*=> \(\/.*\) (.*/\1/p' | grep -vE '/(libc|libm|libpthread|libdl)\.so' | xargs -rI{} cp -L {} "$work/tools/lib"
  done
  # The process of a pod's sandbox: compiling it needs g++.
  mkdir "$work/image"
  npx tsx -e 'import { makeImage } from "./test/kubernetes/machines/image.ts"; makeImage(process.argv[1] ?? "");' "$work/image"
  cp "$work/image/root/pause" "$work/tools/bin/pause"
  packed "$work/tools" >"$work/new.tar.xz"
  mv "$work/new.tar.xz" "$cache/$key.$$"
  mv "$cache/$key.$$" "$cache/$key.tar.xz"
fi

# The product, and of the packages those that the bundler finds in the programs.
npx esbuild bench/kubernetes/{one-gpu,beside}.ts --bundle --platform=node --format=esm --metafile="$work/meta.json" \
  --outdir="$work/bundle" --external:koffi '--external:*.node' --log-level=error
node -e '
  const { inputs } = JSON.parse(require("fs").readFileSync(process.argv[1], "utf8"));
  const names = Object.keys(inputs).flatMap((path) => path.match(/node_modules\/((?:@[^/]+\/)?[^/]+)\//)?.[1] ?? []);
  console.log([...new Set([...names, "tsx", "esbuild", "koffi"])].filter((name) => name !== "vite").join("\n"));
' "$work/meta.json" | xargs -I{} echo "node_modules/{}" >"$work/packages"
# One module of vite is used.
printf '%s\n' node_modules/vite/package.json node_modules/vite/dist/node/module-runner.js >>"$work/packages"
for platform in node_modules/@koromix/koffi-linux-x64 node_modules/@esbuild/linux-x64; do
  [ ! -e $platform ] || echo $platform
done >>"$work/packages"
native=(build/native/{cotenant,cotenant-ptxas,libcotenant.so,libcotenant-gate.so,libcotenant-nccl.so,softgpu/libcuda.so.1})
tar --create --dereference --exclude='*.map' --exclude='*.d.ts' --exclude='*.d.mts' --exclude='*.d.cts' \
  --files-from "$work/packages" dist "${native[@]}" | tar --extract -C "$work/product"
find "$work/product/build" -type f -exec strip --strip-unneeded {} +
git rev-parse HEAD >"$work/product/COMMIT"
packed "$work/product" >"$work/product.tar.xz"

cp "$cache/$key.tar.xz" "$work/tools.tar.xz"
rm -f "$out"/part-*
tar --create -C "$work" tools.tar.xz product.tar.xz | split --bytes="${part}MiB" --numeric-suffixes=1 --suffix-length=1 - "$out/part-"
count=$(find "$out" -name 'part-*' | wc -l)
for file in "$out"/part-*; do mv "$file" "$file-of-$count"; done
ls -l "$out"
