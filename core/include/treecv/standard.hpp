// k repetitions: each fold's model is trained from the given state on all chunks but that fold's.
#pragma once

#include <cstring>
#include <span>
#include <vector>

#include "treecv/feed.hpp"
#include "treecv/sink.hpp"

namespace treecv {

template <Learner L>
void standard(const L& learner, Feed<L>& feed, Sink<L>& sink, const std::byte* start,
              std::span<const std::int64_t> folds, Patience& patience, Counts& counts) {
    const std::size_t bytes = learner.state_bytes();
    std::vector<std::byte> state(bytes);
    counts.live = 1;
    for (const std::int64_t fold : folds) {
        std::memcpy(state.data(), start, bytes);
        feed.learn(state.data(), Lesson::all_but(fold, feed.chunks().k), fold, fold, 0);
        sink.leaf(learner, state.data(), fold, feed.rows(), feed.chunks(), patience);
    }
}

}  // namespace treecv
