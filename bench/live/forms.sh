#!/bin/sh
# IN --out OUT: the module with the preemptible and the sliced form of each kernel that can have it; with only one of them
# where COTENANT_TEST_FORM names it (preempt, slice).
cotenant=$(dirname "$(readlink -f "$0")")/../../bin/cotenant-lab
in=$1 out=$3
case ${COTENANT_TEST_FORM:-both} in
  both) "$cotenant" ptx preempt "$in" --out "$out.preempt" && "$cotenant" ptx slice "$out.preempt" --out "$out" ;;
  *) "$cotenant" ptx "$COTENANT_TEST_FORM" "$in" --out "$out" ;;
esac 2>/dev/null
