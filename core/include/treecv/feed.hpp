// Lets a state learn the chunks of a lesson in the order asked for.
#pragma once

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "treecv/chunks.hpp"
#include "treecv/learner.hpp"
#include "treecv/order.hpp"

namespace treecv {

template <Learner L>
class Feed {
  public:
    using Value = typename L::Value;
    using Data = Rows<Value, typename L::Target>;

    Feed(const L& learner, const Data& rows, const Chunks& chunks, Order order, const Stream& stream,
         Patience& patience, Counts& counts)
        : learner_(learner),
          rows_(rows),
          end_(rows.end()),
          chunks_(chunks),
          order_(order),
          stream_(stream),
          patience_(patience),
          counts_(counts),
          portion_(std::max<std::int64_t>(1, Patience::span / (rows.n_features + 1))) {}

    const Data& rows() const { return rows_; }
    const Chunks& chunks() const { return chunks_; }

    // The place of the update is (first, last, side) for a node, (fold, fold, 0) for a repetition.
    void learn(std::byte* state, const Lesson& lesson, std::int64_t first, std::int64_t last,
               std::int64_t side) {
        counts_.chunk_updates += lesson.chunks();
        if (order_ == Order::fixed && rows_.index && lesson.skip <= lesson.last)
            return as_stored(state, lesson.skip);
        if (order_ == Order::fixed) return in_order(state, Stretch(chunks_, lesson));
        const Stream place = stream_.at(first).at(last).at(side);
        if (order_ == Order::randomized) return permuted(state, Stretch(chunks_, lesson), place);
        if (lesson.skip <= lesson.last && chunks_.begin(0) > 0)
            permuted(state, Stretch::before(chunks_), place.at(chunks_.k));
        for (std::int64_t chunk = lesson.first; chunk <= lesson.last; ++chunk)
            if (chunk != lesson.skip)
                permuted(state, Stretch(chunks_, Lesson::of(chunk, chunk)), place.at(chunk));
    }

  private:
    void in_order(std::byte* state, const Stretch& stretch) {
        if (rows_.index)
            scattered(state, stretch.size(), [&](std::int64_t i) { return rows_.index[stretch[i]]; });
        else
            each<false>(state, stretch.size(), [&](std::int64_t i) { return stretch[i]; });
    }

    // All rows but a chunk's in the order they are stored in, whatever the order of the chunks: what a
    // training from scratch is fed.
    void as_stored(std::byte* state, std::int64_t skipped) {
        if (by_row_.empty()) sort_positions();
        const std::int64_t begin = chunks_.begin(skipped), end = chunks_.end(skipped);
        learnt_.clear();
        for (const std::int64_t position : by_row_)
            if (position < begin || position >= end) learnt_.push_back(rows_.index[position]);
        each<false>(state, static_cast<std::int64_t>(learnt_.size()),
                    [&](std::int64_t i) { return learnt_[i]; });
    }

    // Positions in the order of the rows they name, by counting.
    void sort_positions() {
        const std::int64_t n = chunks_.end(chunks_.k - 1);
        std::vector<std::int64_t> begins(rows_.n_stored + 1);
        for (std::int64_t p = 0; p < n; ++p) ++begins[rows_.index[p] + 1];
        std::partial_sum(begins.begin(), begins.end(), begins.begin());
        by_row_.resize(n);
        for (std::int64_t p = 0; p < n; ++p) by_row_[begins[rows_.index[p]]++] = p;
    }

    void permuted(std::byte* state, const Stretch& stretch, const Stream& stream) {
        if (stretch.size() == 1) return in_order(state, stretch);
        const std::size_t size = static_cast<std::size_t>(stretch.size());
        if (numbers_.size() < size) numbers_.resize(size);  // at the root; what comes below is smaller
        const std::span<std::uint32_t> numbers(numbers_.data(), size);
        permute(stream, numbers);
        scattered(state, stretch.size(), [&](std::int64_t i) { return rows_.row(stretch[numbers[i]]); });
    }

    // Rows that jump about are fetched ahead of their turn, unless they all lie in a near cache.
    template <class At>
    void scattered(std::byte* state, std::int64_t size, At at) {
        constexpr std::int64_t near = 1 << 17;
        if (size * rows_.n_features * std::int64_t{sizeof(Value)} < near)
            each<false>(state, size, at);
        else
            each<true>(state, size, at);
    }

    // Flattened: a call on the way would send the registers of a row through memory.
    template <bool fetched, class At>
    [[gnu::flatten]] void each(std::byte* state, std::int64_t size, At at) {
        counts_.row_updates += size;
        for (std::int64_t begin = 0; begin < size; begin += portion_) {
            const std::int64_t stop = std::min(size, begin + portion_);
            for (std::int64_t i = begin; i < stop; ++i) {
                if (fetched && i + ahead < size) fetch(at(i + ahead));
                const std::int64_t row = at(i);
                learner_.learn(state, learner_.row(rows_.values(row), end_), rows_.y[row]);
            }
            patience_.spend((stop - begin) * (rows_.n_features + 1));
        }
    }

    static constexpr std::int64_t ahead = 20;

    // The lines of a row, and the one its last whole block reaches into. Inlined by force: a call that does
    // nothing but prefetch is taken for one without effect.
    [[gnu::always_inline]] void fetch(std::int64_t row) const {
        constexpr std::int64_t most = 8 * lanes<Value>;  // the hardware follows from there
        const Value* values = rows_.values(row);
        const std::int64_t size = std::min(rows_.n_features, most);
        for (std::int64_t j = 0; j < size; j += lanes<Value>) __builtin_prefetch(values + j);
        __builtin_prefetch(values + (size / lanes<Value> + 1) * lanes<Value> - 1);
        __builtin_prefetch(rows_.y + row);
    }

    const L& learner_;
    const Data& rows_;
    const Value* end_;
    const Chunks& chunks_;
    Order order_;
    Stream stream_;
    Patience& patience_;
    Counts& counts_;
    std::int64_t portion_;                // rows learnt between two looks at the clock
    std::vector<std::uint32_t> numbers_;  // a permutation
    std::vector<std::int64_t> by_row_;    // positions, sorted by the row they name
    std::vector<std::int64_t> learnt_;    // stored rows, in order
};

}  // namespace treecv
