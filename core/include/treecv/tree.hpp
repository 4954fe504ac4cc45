// Algorithm 1 of Joulani, György and Szepesvári (2015): all folds of a subtree, depth first.
//
// One state per level is alive: the first child learns in the next slot of the arena, the second one
// takes its parent's slot over. `treecv/tree.py` is the same walk for any learner.
#pragma once

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

template <Learner L>
class Tree {
  public:
    Tree(const L& learner, Feed<L>& feed, Sink<L>& sink, Patience& patience, Counts& counts)
        : learner_(learner), feed_(feed), sink_(sink), patience_(patience), counts_(counts) {}

    // `state` has learnt every chunk but first .. last; it is spoilt.
    void walk(std::byte* state, std::int64_t first, std::int64_t last) {
        Arena arena(learner_.state_bytes(), levels(last - first + 1) + 1);
        arena_ = &arena;
        std::memcpy(arena[0], state, learner_.state_bytes());
        visit(0, first, last);
    }

    // The depth of a tree of k leaves: log2 k, rounded up.
    static std::int64_t levels(std::int64_t k) {
        std::int64_t depth = 0;
        while ((std::int64_t{1} << depth) < k) ++depth;
        return depth;
    }

  private:
    void visit(std::int64_t slot, std::int64_t first, std::int64_t last) {
        std::byte* state = (*arena_)[slot];
        counts_.live = std::max(counts_.live, slot + 1);
        if (first == last) return sink_.leaf(learner_, state, first, feed_.rows(), feed_.chunks(), patience_);
        const std::int64_t middle = (first + last) / 2;
        std::byte* copy = (*arena_)[slot + 1];
        std::memcpy(copy, state, learner_.state_bytes());
        ++counts_.copies;
        feed_.learn(copy, Lesson::of(middle + 1, last), first, last, 0);
        visit(slot + 1, first, middle);
        feed_.learn(state, Lesson::of(first, middle), first, last, 1);
        visit(slot, middle + 1, last);
    }

    const L& learner_;
    Feed<L>& feed_;
    Sink<L>& sink_;
    Patience& patience_;
    Counts& counts_;
    Arena* arena_ = nullptr;
};

}  // namespace treecv
