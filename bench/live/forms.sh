#!/bin/sh
# IN --out OUT: the module with the preemptible and the sliced form of each kernel that can have it.
cotenant=$(dirname "$(readlink -f "$0")")/../../bin/cotenant
"$cotenant" ptx preempt "$1" --out "$3.preempt" 2>/dev/null && "$cotenant" ptx slice "$3.preempt" --out "$3" 2>/dev/null
