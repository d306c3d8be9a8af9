#!/usr/bin/env bash
# Unpacks the parts that pack.sh made, on the machine with the GPU. Parts may come one a call: it keeps them until all are
# there. Each call copies the repository in which it is called to /srv/one-gpu/tree; the last one completes it, and says where
# the environment is. It fails at once on a machine that lacks what one-gpu.ts needs (machine.sh). As root.
# Usage: bench/kubernetes/one-gpu/unpack.sh FOLDER_OF_PARTS [soft]
set -euo pipefail
parts=$(realpath "${1:?"unpack.sh: name the folder of parts: unpack.sh FOLDER"}")
cd "$(dirname "$0")/../../.."
bench/kubernetes/one-gpu/machine.sh "${2:-real}"
home=/srv/one-gpu
mkdir -p $home/parts $home/tree $home/tmp
# None in a call that only brings a mended tree.
find "$parts" -maxdepth 1 -name 'part-*-of-*' -exec cp {} $home/parts \;
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
# Pods of other users read them.
chmod 755 $home
chmod -R a+rX $home/tree $home/bin

# The machine's own programs come first where it has them: theirs are the libraries that fit. The others find theirs in the
# usual folder, because runc starts itself again without variables.
for name in runc openssl; do
  ! other=$(PATH=/usr/sbin:/usr/bin:/sbin:/bin command -v $name) || ln -sf "$other" $home/bin/$name
done
for library in $home/lib/*; do
  [ -e "/usr/lib/x86_64-linux-gnu/$(basename "$library")" ] || cp "$library" /usr/lib/x86_64-linux-gnu
done
printf '[req]\ndistinguished_name = name\n[name]\n' >$home/openssl.cnf
# The node's /run is in it, which is in memory on real nodes, too.
mountpoint -q $home/tmp || mount -t tmpfs -o size=8g one-gpu $home/tmp
cat >$home/environment <<ENVIRONMENT
export PATH=$home/bin:\$PATH XDG_CACHE_HOME=$home/cache TMPDIR=$home/tmp COTENANT_PAUSE=$home/bin/pause OPENSSL_CONF=$home/openssl.cnf COMMIT=$(cat $home/tree/COMMIT)
cd $home/tree
ENVIRONMENT
(. $home/environment && scripts/kubernetes-tools --built >/dev/null && runc --version | head -n 1 && node bin/cotenant --version)
echo "unpack.sh: all is in $home; the environment: . $home/environment"
