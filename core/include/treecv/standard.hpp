// k repetitions: each fold's model is trained from the given state on all chunks but that fold's.
#pragma once

#include <cstring>
#include <span>

#include "treecv/tree.hpp"

namespace treecv {

// One training at a time: side by side they would make the standard method look better than anybody's is, and
// in stored order each needs a list of rows of its own.
template <Learner L>
void standard(const L& learner, Feed<L>& feed, Sink<L>& sink, const std::byte* start,
              std::span<const std::int64_t> folds, Patience& patience, Counts& counts) {
    Arena state(learner.state_bytes(), 1);
    counts.live = 1;
    for (const std::int64_t fold : folds) {
        std::memcpy(state[0], start, learner.state_bytes());
        feed.learn({state[0], Lesson::all_but(fold, feed.chunks().k), fold, fold, 0});
        sink.leaf(learner, state[0], fold, feed.rows(), feed.chunks(), feed.scratch(), patience);
    }
}

}  // namespace treecv
