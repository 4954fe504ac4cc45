// Algorithm 1 of Joulani, György and Szepesvári (2015): all folds of a subtree, depth first.
//
// Nodes of one depth walk in a group, in lockstep: as many as the learner has lanes, each in a subtree of its
// own. For each node one state per level is alive: the first child learns in the next slot of the arena, the
// second one takes its parent's slot over. `treecv/tree.py` is the same walk, node by node, for any learner.
//
// A learner that journals has one state alone, however deep the tree: what the first child's update overwrote
// is put back before the second one learns. Only where an update touches more than the state is wide, it is
// copied.
#pragma once

#include <array>
#include <cstring>
#include <memory>
#include <new>

#include "treecv/feed.hpp"
#include "treecv/sink.hpp"

namespace treecv {

// Room for states, each at a multiple of 64 bytes.
class Arena {
  public:
    Arena(std::size_t state_bytes, std::int64_t slots)
        : stride_((state_bytes + block_bytes - 1) / block_bytes * block_bytes),
          bytes_(new (std::align_val_t{block_bytes}) std::byte[stride_ * slots]) {}

    std::byte* operator[](std::int64_t slot) { return bytes_.get() + slot * stride_; }

  private:
    struct Free {
        void operator()(std::byte* bytes) const { ::operator delete[](bytes, std::align_val_t{block_bytes}); }
    };
    std::size_t stride_;
    std::unique_ptr<std::byte[], Free> bytes_;
};

// The chunks first .. last, which `state` has not learnt.
struct Node {
    std::int64_t first, last;
    std::byte* state;

    std::int64_t middle() const { return (first + last) / 2; }
    bool leaf() const { return first == last; }

    // Child 0 holds out the first half and learns the second; child 1 the reverse.
    Node child(int side, std::byte* own) const {
        return side == 0 ? Node{first, middle(), own} : Node{middle() + 1, last, own};
    }
    Assignment lesson(int side, std::byte* own) const {
        return {own, side == 0 ? Lesson::of(middle() + 1, last) : Lesson::of(first, middle()), first, last,
                side};
    }
};

template <Learner L>
class Tree {
  public:
    Tree(const L& learner, Feed<L>& feed, Sink<L>& sink, Patience& patience, Counts& counts)
        : learner_(learner), feed_(feed), sink_(sink), patience_(patience), counts_(counts) {}

    // `state` has learnt every chunk but first .. last; it is spoilt. Whoever takes the states themselves
    // meets the leaves from first to last: then one node walks alone.
    void walk(std::byte* state, std::int64_t first, std::int64_t last) {
        abreast_ = sink_.on_state ? 1 : L::lanes;
        foreseen_ = Foresees<L> && !feed_.chunks().offsets && sink_.predicts_only();
        if constexpr (L::journals) {
            descend({first, last, state}, false, 1);
        } else {
            // Above the leaves there is one state more a level for each lane.
            Arena arena(learner_.state_bytes(), L::lanes * (levels(last - first + 1) + 1));
            arena_ = &arena;
            Group group;
            group.add({first, last, state});
            visit(group, 0, 1);
        }
    }

    // The depth of a tree of k leaves: log2 k, rounded up.
    static std::int64_t levels(std::int64_t k) {
        std::int64_t depth = 0;
        while ((std::int64_t{1} << depth) < k) ++depth;
        return depth;
    }

  private:
    struct Group {
        std::array<Node, L::lanes> nodes;
        int size = 0;

        void add(const Node& node) { nodes[static_cast<std::size_t>(size++)] = node; }
        auto begin() const { return nodes.begin(); }
        auto end() const { return nodes.begin() + size; }
    };

    // Nodes of one depth differ by one chunk at the most, so leaves leave the group one level before the
    // rest.
    void visit(const Group& all, std::int64_t level, std::int64_t live) {
        counts_.live = std::max(counts_.live, live);
        Group group, pairs;
        for (const Node& node : all)
            if (node.leaf())
                leaf(node);
            else if (foreseen_ && node.first + 1 == node.last)
                pairs.add(node);
            else
                group.add(node);
        if constexpr (Foresees<L>)
            if (pairs.size > 0) foresee(pairs);
        if (group.size == 0) return;
        if (2 * group.size <= abreast_) return widen(group, level, live);
        Assignment lessons[L::lanes];
        for (const int side : {0, 1}) {
            Group children;
            for (const Node& node : group) {
                std::byte* own = side == 0 ? copied(node, level, children.size) : node.state;
                lessons[children.size] = node.lesson(side, own);
                children.add(node.child(side, own));
            }
            feed_.learn({lessons, static_cast<std::size_t>(children.size)});
            visit(children, level + 1, side == 0 ? live + group.size : live);
        }
    }

    // Both children of every node side by side: twice as many lanes.
    void widen(const Group& group, std::int64_t level, std::int64_t live) {
        Assignment lessons[L::lanes];
        Group children;
        for (const Node& node : group)
            for (const int side : {0, 1}) {
                std::byte* own = side == 0 ? copied(node, level, children.size) : node.state;
                lessons[children.size] = node.lesson(side, own);
                children.add(node.child(side, own));
            }
        feed_.learn({lessons, static_cast<std::size_t>(children.size)});
        visit(children, level + 1, live + group.size);
    }

    // Both leaves of every node, where a leaf is one row and nobody wants its state.
    void foresee(const Group& pairs)
        requires Foresees<L>
    {
        Assignment nodes[L::lanes];
        int n = 0;
        for (const Node& node : pairs) nodes[n++] = node.lesson(0, node.state);
        feed_.foresee(nodes, n, [&](std::int64_t fold, std::int64_t row, double predicted) {
            sink_.put(fold, row, predicted);
        });
    }

    std::byte* copied(const Node& node, std::int64_t level, int lane) {
        std::byte* copy = (*arena_)[(level + 1) * L::lanes + lane];
        std::memcpy(copy, node.state, learner_.state_bytes());
        ++counts_.copies;
        return copy;
    }

    // `kept`: somebody above will want the state back as it is.
    void descend(const Node& node, bool kept, std::int64_t live) {
        counts_.live = std::max(counts_.live, live);
        if (node.leaf()) return leaf(node);
        const std::int64_t rows = feed_.size(node.lesson(0, nullptr).lesson);
        if (static_cast<std::size_t>(rows) * learner_.journal_bytes(feed_.rows().X) >
            learner_.state_bytes()) {
            Arena own(learner_.state_bytes(), 1);
            std::memcpy(own[0], node.state, learner_.state_bytes());
            ++counts_.copies;
            learn(node.lesson(0, own[0]), false);
            descend(node.child(0, own[0]), false, live + 1);
        } else {
            const std::size_t mark = journal_.mark();
            learn(node.lesson(0, node.state), true);
            descend(node.child(0, node.state), true, live);
            journal_.revert(node.state, mark);
        }
        learn(node.lesson(1, node.state), kept);
        descend(node.child(1, node.state), kept, live);
    }

    void learn(const Assignment& one, bool kept) {
        feed_.scratch().journal = kept ? &journal_ : nullptr;
        feed_.learn(one);
        feed_.scratch().journal = nullptr;
    }

    void leaf(const Node& node) {
        sink_.leaf(learner_, node.state, node.first, feed_.rows(), feed_.chunks(), feed_.scratch(),
                   patience_);
    }

    const L& learner_;
    Feed<L>& feed_;
    Sink<L>& sink_;
    Patience& patience_;
    Counts& counts_;
    Arena* arena_ = nullptr;
    int abreast_ = 1;
    bool foreseen_ = false;  // what the leaves of a pair predict, without making their states
    Journal journal_;
};

}  // namespace treecv
