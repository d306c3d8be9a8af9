#!/usr/bin/env bash
# Unpacks the parts that pack.sh made, on the machine with the GPU. Parts may come one a call: it keeps them until all are
# there. Then it copies the repository in which it is called to /srv/one-gpu/tree, completes it, and says where the
# environment is. As root, from the root of the repository. Usage: bench/kubernetes/one-gpu/unpack.sh FOLDER_OF_PARTS
set -euo pipefail
parts=$(realpath "${1:?"unpack.sh: name the folder of parts: unpack.sh FOLDER"}")
home=/srv/one-gpu
mkdir -p $home/parts $home/tree $home/tmp
cp "$parts"/part-* $home/parts
cd "$(dirname "$0")/../../.."
# From the repository of each call, so that what is mended reaches a machine that has everything else.
tar --create --exclude=.git --exclude='part-*-of-*' --exclude=./node_modules --exclude=./dist --exclude=./build . | tar --extract -C $home/tree
count=$(find $home/parts -name 'part-*' | sed 's/.*-of-//' | head -n 1)
have=$(find $home/parts -name "part-*-of-$count" | wc -l)
if [ "$have" -lt "$count" ]; then
  echo "unpack.sh: $have of $count parts are here"
  exit
fi
for ((i = 1; i <= count; i++)); do cat "$home/parts/part-$i-of-$count"; done | tar --extract -C $home
unpacked() {
  if command -v xz >/dev/null; then xz -dc -T0 "$1" | tar --extract --no-same-owner -C "$2"
  else python3 -c 'import sys, tarfile; tarfile.open(sys.argv[1], "r:xz").extractall(sys.argv[2])' "$1" "$2"; fi
}
unpacked $home/tools.tar.xz $home
unpacked $home/product.tar.xz $home/tree
chmod 755 $home $home/tree

# The machine's own programs come first where it has them: theirs are the libraries that fit. The others find theirs in the
# usual folder, because runc starts itself again without variables.
for name in runc openssl; do
  ! other=$(PATH=/usr/sbin:/usr/bin:/sbin:/bin command -v $name) || ln -sf "$other" $home/bin/$name
done
for library in $home/lib/*; do
  [ -e "/usr/lib/x86_64-linux-gnu/$(basename "$library")" ] || cp "$library" /usr/lib/x86_64-linux-gnu
done
printf '[req]\ndistinguished_name = name\n[name]\n' >$home/openssl.cnf
# Overlays have no upper folder on an overlay.
case $(stat --file-system --format %T $home/tmp) in
  overlayfs) mountpoint -q $home/tmp || mount -t tmpfs one-gpu $home/tmp ;;
esac
cat >$home/environment <<ENVIRONMENT
export PATH=$home/bin:\$PATH XDG_CACHE_HOME=$home/cache TMPDIR=$home/tmp COTENANT_PAUSE=$home/bin/pause OPENSSL_CONF=$home/openssl.cnf COMMIT=$(cat $home/tree/COMMIT)
cd $home/tree
ENVIRONMENT
missing=
for name in setpriv nsenter unshare openssl runc ldconfig flock mountpoint setsid; do
  PATH=$home/bin:$PATH command -v $name >/dev/null || missing="$missing $name"
done
[ -z "$missing" ] || { echo "unpack.sh: this machine lacks$missing" >&2; exit 1; }
(. $home/environment && scripts/kubernetes-tools --built >/dev/null && runc --version | head -n 1 && node bin/cotenant --version)
echo "unpack.sh: all is in $home; the environment: . $home/environment"
