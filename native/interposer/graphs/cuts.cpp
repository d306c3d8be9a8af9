#include "interposer/graphs/cuts.h"

namespace cotenant {
namespace {

using Side = Adjacency::Side;

// The line between what is before and what is after, moved forward node by node.
class Front {
 public:
  Front(std::uint32_t nodes, const Adjacency& out, const Adjacency& in) noexcept
      : out_(out), in_(in), out_before_(nodes), in_after_(nodes) {
    whole_ = out_before_.holds(nodes) && in_after_.holds(nodes);
    for (std::uint32_t n = 0; whole_ && n < nodes; ++n) {
      in_after_[n] = in.degree(n);
      if (in_after_[n] == 0) ++beginnings_;
    }
  }

  [[nodiscard]] bool whole() const noexcept { return whole_; }

  void pass(std::uint32_t node) noexcept {
    in_.each(node, [&](const GraphEdge& e) {
      if (out_before_[e.from]++ == 0) --ends_;
      if (e.overlaps) --overlaps_;
    });
    ++ends_;
    --beginnings_;
    out_.each(node, [&](const GraphEdge& e) {
      if (--in_after_[e.to] == 0) ++beginnings_;
      if (e.overlaps) ++overlaps_;
    });
  }

  // Between `last`, just passed, and `next`: does every beginning wait for every end already? Answered where one of the
  // two sides is a single node, which is then the one next to the cut.
  [[nodiscard]] bool is_free(std::uint32_t last, std::uint32_t next) const noexcept {
    if (overlaps_ > 0) return false;
    std::uint32_t met = 0;
    if (ends_ == 1) {
      out_.each(last, [&](const GraphEdge& e) { met += in_after_[e.to] == 0 ? 1 : 0; });
      return met == beginnings_;
    }
    if (beginnings_ != 1) return false;
    in_.each(next, [&](const GraphEdge& e) { met += out_before_[e.from] == 0 ? 1 : 0; });
    return met == ends_;
  }

 private:
  const Adjacency& out_;
  const Adjacency& in_;
  Room<std::uint32_t> out_before_;  // of a node before: its successors that are before, too; 0: it is an end
  Room<std::uint32_t> in_after_;  // of a node after: its predecessors that are after, too; 0: it is a beginning
  std::uint32_t ends_{0};
  std::uint32_t beginnings_{0};
  std::uint32_t overlaps_{0};
  bool whole_{false};
};

}  // namespace

Adjacency::Adjacency(std::uint32_t nodes, const GraphEdge* edge, std::uint32_t edges, Side side) noexcept
    : edge_(edge), begin_(nodes + 2u), index_(edges + 1u) {
  if (!begin_.holds(nodes + 2u) || !index_.holds(edges + 1u)) return;
  const auto end_of = [side](const GraphEdge& e) { return side == Side::kOut ? e.from : e.to; };
  for (std::uint32_t i = 0; i < edges; ++i) ++begin_[end_of(edge[i]) + 2u];
  for (std::uint32_t n = 2; n < nodes + 2u; ++n) begin_[n] += begin_[n - 1];
  for (std::uint32_t i = 0; i < edges; ++i) index_[begin_[end_of(edge[i]) + 1u]++] = i;
  whole_ = true;
}

OrderedGraph::OrderedGraph(std::uint32_t nodes, const GraphEdge* edge, std::uint32_t edges) noexcept
    : nodes_(nodes),
      out_(nodes, edge, edges, Side::kOut),
      in_(nodes, edge, edges, Side::kIn),
      order_(nodes),
      place_(nodes) {
  whole_ = out_.whole() && in_.whole() && order_.holds(nodes) && place_.holds(nodes) && put_in_order(edge, edges);
}

bool OrderedGraph::put_in_order(const GraphEdge* edge, std::uint32_t edges) noexcept {
  Room<std::uint32_t> waits_for(nodes_);
  if (!waits_for.holds(nodes_)) return false;
  for (std::uint32_t i = 0; i < edges; ++i) ++waits_for[edge[i].to];
  std::uint32_t ready = 0;
  const auto put = [&](std::uint32_t node) {
    place_[node] = ready;
    order_[ready++] = node;
  };
  for (std::uint32_t n = 0; n < nodes_; ++n)
    if (waits_for[n] == 0) put(n);
  for (std::uint32_t at = 0; at < ready; ++at)
    out_.each(order_[at], [&](const GraphEdge& e) {
      if (--waits_for[e.to] == 0) put(e.to);
    });
  return ready == nodes_;
}

bool OrderedGraph::ends_before(std::uint32_t node, std::uint32_t cut) const noexcept {
  bool ends = place_[node] < cut;
  out_.each(node, [&](const GraphEdge& e) { ends = ends && place_[e.to] >= cut; });
  return ends;
}

bool OrderedGraph::begins_after(std::uint32_t node, std::uint32_t cut) const noexcept {
  bool begins = place_[node] >= cut;
  in_.each(node, [&](const GraphEdge& e) { begins = begins && place_[e.from] < cut; });
  return begins;
}

bool OrderedGraph::find_free(bool* into) const noexcept {
  Front front(nodes_, out_, in_);
  if (!front.whole()) return false;
  for (std::uint32_t place = 0; place < nodes_; ++place) {
    into[place] = place > 0 && front.is_free(order_[place - 1], order_[place]);
    front.pass(order_[place]);
  }
  return true;
}

std::uint32_t OrderedGraph::choose(const Item* items, const Rules& rules, std::uint32_t least_us,
                                   std::uint32_t* cuts) const noexcept {
  Front front(nodes_, out_, in_);
  if (!front.whole()) return 0;
  std::uint32_t count = 0;
  Chunk chunk{0, 0};
  for (std::uint32_t place = 0; place < nodes_; ++place) {
    const Item& item = items[order_[place]];
    const bool full = closes(rules, chunk, item) && chunk.expected_us >= least_us;
    if (full && front.is_free(order_[place - 1], order_[place])) {
      cuts[count++] = place;
      chunk = {0, 0};
    }
    chunk.expected_us += item.expected_us;
    ++chunk.launches;
    front.pass(order_[place]);
  }
  return count;
}

}  // namespace cotenant
