"""From what was measured to the file that `cotenant-lab soc plan` reads, and from its plan to what is launched in which
order. Needs no GPU and no package.
"""

from dataclasses import dataclass


def problem(networks, accelerators, limit, points, transition_ms, about):
    """
    networks: [{"name", "groups": [{"name", "ms": {accelerator: ms}, "demand": {accelerator: GB/s}}]}].
    points: {accelerator: [[own GB/s, others' GB/s, slowdown]]}, or None to plan as if there were no contention.
    transition_ms: {accelerator: from it to another}.
    """
    return {
        "version": 1,
        "about": about,
        "memory": {"limit": limit, "unit": "GB/s"},
        "accelerators": [
            {"name": name, "slowdown": {"points": points[name]} if points else "none"} for name in accelerators
        ],
        "networks": [
            {"name": network["name"], "groups": [described(group, limit, transition_ms) for group in network["groups"]]}
            for network in networks
        ],
    }


def described(group, limit, transition_ms):
    return {
        "name": group["name"],
        "timeMs": {name: rounded(ms) for name, ms in group["ms"].items()},
        "demand": {name: rounded(min(limit, gbs)) for name, gbs in group["demand"].items()},
        "outMs": {name: rounded(ms) for name, ms in transition_ms.items()},
    }


def rounded(value):
    return float(f"{value:.5g}")


def equivalent(slowdown, curve):
    """
    The load on the memory that slows somebody as much: curve is [(load, its slowdown)], from the smallest load on.
    Linear between loads; beyond the largest it is the largest.
    """
    before = (0.0, 1.0)
    for load, found in curve:
        if found > before[1]:
            if slowdown <= found:
                part = max(0.0, slowdown - before[1]) / (found - before[1])
                return before[0] + part * (load - before[0])
            before = (load, found)
    return before[0]


@dataclass
class Item:
    """Consecutive groups of one network that are launched as one, on one accelerator."""

    network: int
    first: int
    last: int
    on: int


def items_of(plan, networks, accelerators):
    """
    What a plan's timeline launches, in order of start: per accelerator this is the order of its stream. Groups of a
    network that follow each other on one accelerator, with nothing between them there, become one item.
    """
    names = [network["name"] for network in networks]
    items, latest = [], {}
    for span in plan["timeline"]:
        network = names.index(span["network"])
        group = [one["name"] for one in networks[network]["groups"]].index(span["group"])
        on = accelerators.index(span["accelerator"])
        before = latest.get(on)
        if before and before.network == network and before.last == group - 1:
            before.last = group
        else:
            latest[on] = Item(network, group, group, on)
            items.append(latest[on])
    return items


def whole(networks, on):
    """Every network as one item: network n on on[n]."""
    return [Item(n, 0, len(network["groups"]) - 1, on[n]) for n, network in enumerate(networks)]


def group_by_group(network, on):
    """One network, group by group, all on one accelerator."""
    return [Item(0, i, i, on) for i in range(len(network["groups"]))]
