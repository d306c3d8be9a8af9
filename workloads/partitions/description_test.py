import unittest

from description import Item, equivalent, group_by_group, items_of, problem, whole


def network(name, count):
    costs = {"ms": {"large": 1.0, "small": 2.0}, "demand": {"large": 500, "small": 9e3}}
    groups = [{"name": f"g{i}", **costs} for i in range(count)]
    return {"name": name, "groups": groups}


NETWORKS = [network("a", 3), network("b", 2)]
ACCELERATORS = ["large", "small"]


def span(network, group, accelerator):
    return {"network": network, "group": group, "accelerator": accelerator}


class DescriptionTest(unittest.TestCase):
    def test_groups_that_follow_each_other_undisturbed_are_launched_as_one(self):
        timeline = [
            span("a", "g0", "large"),
            span("b", "g0", "small"),
            span("a", "g1", "large"),
            span("b", "g1", "large"),
            span("a", "g2", "large"),
        ]
        self.assertEqual(
            items_of({"timeline": timeline}, NETWORKS, ACCELERATORS),
            [Item(0, 0, 1, 0), Item(1, 0, 0, 1), Item(1, 1, 1, 0), Item(0, 2, 2, 0)],
        )

    def test_a_network_that_comes_back_is_not_joined_over_what_ran_elsewhere(self):
        timeline = [span("a", "g0", "large"), span("a", "g1", "small"), span("a", "g2", "large")]
        self.assertEqual(
            items_of({"timeline": timeline}, NETWORKS, ACCELERATORS),
            [Item(0, 0, 0, 0), Item(0, 1, 1, 1), Item(0, 2, 2, 0)],
        )

    def test_whole_networks_and_single_groups(self):
        self.assertEqual(whole(NETWORKS, [1, 0]), [Item(0, 0, 2, 1), Item(1, 0, 1, 0)])
        self.assertEqual(group_by_group(NETWORKS[1], 1), [Item(0, 0, 0, 1), Item(0, 1, 1, 1)])

    def test_a_demand_is_the_load_that_slows_as_much(self):
        curve = [(100, 1.1), (200, 1.1), (400, 1.5)]
        self.assertEqual(equivalent(1.0, curve), 0)
        self.assertEqual(equivalent(0.9, curve), 0)
        self.assertAlmostEqual(equivalent(1.05, curve), 50)
        # Where more load did not slow it more, the smaller load counts.
        self.assertAlmostEqual(equivalent(1.3, curve), 250)
        self.assertEqual(equivalent(2, curve), 400)

    def test_without_points_it_is_planned_without_contention(self):
        points = {name: [[1, 2, 1.5]] for name in ACCELERATORS}
        seen = problem(NETWORKS, ACCELERATORS, 4800, points, {"large": 0.01, "small": 0.02}, "")
        blind = problem(NETWORKS, ACCELERATORS, 4800, None, {"large": 0.01, "small": 0.02}, "")
        self.assertEqual([one["slowdown"] for one in blind["accelerators"]], ["none", "none"])
        self.assertEqual(seen["accelerators"][1]["slowdown"], {"points": [[1, 2, 1.5]]})
        self.assertEqual(seen["networks"], blind["networks"])
        self.assertEqual(
            seen["networks"][0]["groups"][0],
            {
                "name": "g0",
                "timeMs": {"large": 1.0, "small": 2.0},
                "demand": {"large": 500.0, "small": 4800.0},
                "outMs": {"large": 0.01, "small": 0.02},
            },
        )


if __name__ == "__main__":
    unittest.main()
