// Lets states learn the chunks of lessons in the order asked for; several states in lockstep.
//
// States that do not depend on each other are independent chains of arithmetic: one row of each at a time
// hides the latency of a single chain. What a state learns does not depend on who learns beside it.
//
// An update is one call, or calls of `batch()` rows if that is not 0. A learner for which calls mean
// something has
//     begin(state, scratch)       before the first row of a call
//     look(state, n, at, scratch) at the n rows of a call, at(i), before any is learnt
//     end(state, rows, scratch)   after the last one
#pragma once

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "treecv/chunks.hpp"
#include "treecv/learner.hpp"
#include "treecv/order.hpp"

namespace treecv {

// The rows of an update, one after another in the order they are stored in.
struct Plain {
    std::int64_t begin, length;

    std::int64_t size() const { return length; }
    std::int64_t operator[](std::int64_t i) const { return begin + i; }
};

// The rows of an update: position by position, permuted or not, through an index or not.
struct Named {
    const std::int64_t* index;     // null: positions are stored rows
    const std::uint32_t* numbers;  // null: not permuted
    Stretch stretch;

    std::int64_t size() const { return stretch.size(); }
    std::int64_t operator[](std::int64_t i) const {
        const std::int64_t position = stretch[numbers ? numbers[i] : i];
        return index ? index[position] : position;
    }
};

// What a state is to learn, and the place of the update: (first, last, side) of a node, (fold, fold, 0) for a
// training from scratch.
struct Assignment {
    std::byte* state;
    Lesson lesson;
    std::int64_t first, last, side;
};

template <Learner L>
class Feed {
  public:
    using Data = Rows<typename L::Storage, typename L::Target>;
    static constexpr int most = L::lanes;

    Feed(const L& learner, const Data& rows, const Chunks& chunks, Order order, const Stream& stream,
         Patience& patience, Counts& counts)
        : learner_(learner),
          rows_(rows),
          chunks_(chunks),
          order_(order),
          stream_(stream),
          patience_(patience),
          counts_(counts),
          scratch_(learner.scratch()) {}

    const Data& rows() const { return rows_; }
    const Chunks& chunks() const { return chunks_; }
    typename L::Scratch& scratch() { return scratch_; }

    void learn(const Assignment& one) { learn(std::span<const Assignment>(&one, 1)); }

    // Any number of states, as many in lockstep as the learner likes.
    void learn(std::span<const Assignment> all) {
        for (std::size_t begin = 0; begin < all.size(); begin += most)
            side_by_side(all.subspan(begin, std::min<std::size_t>(most, all.size() - begin)));
    }

    // Leave-one-out, one level above the leaves: what each state predicts for either of the chunks first and
    // first + 1 once it has learnt the other. Nothing is copied or stored.
    template <class Put>
    void foresee(const Assignment* nodes, int n, Put put)
        requires Foresees<L>
    {
        if constexpr (most >= 4)
            for (; n >= 4; n -= 4, nodes += 4) foreseen<4>(nodes, put);
        for (; n >= 2; n -= 2, nodes += 2) foreseen<2>(nodes, put);
        if (n) foreseen<1>(nodes, put);
    }

    // The rows of a lesson.
    std::int64_t size(const Lesson& lesson) const { return Stretch(chunks_, lesson).size(); }

  private:
    template <int n, class Put>
    [[gnu::flatten]] void foreseen(const Assignment* nodes, Put put) {
        const std::byte* states[n];
        typename L::Row x[2][n];
        typename L::Target y[2][n];
        unrolled<n>([&](auto l) {
            states[l] = nodes[l].state;
            unrolled<2>([&](auto side) {
                const std::int64_t row = rows_.row(nodes[l].first + side);
                x[side][l] = learner_.row(rows_.X, row);
                y[side][l] = rows_.y[row];
            });
        });
        unrolled<2>([&](auto side) {
            double out[n];
            learner_.template foresee<n>(states, x[1 - side], y[1 - side], x[side], out);
            unrolled<n>(
                [&](auto l) { put(nodes[l].first + side, rows_.row(nodes[l].first + side), out[l]); });
        });
        counts_.chunk_updates += 2 * n;
        counts_.row_updates += 2 * n;
        patience_.spend(2 * n * rows_.X.work(0));
    }

    template <class Sequence>
    struct Pupil {
        std::byte* state;
        Sequence rows;
    };

    void side_by_side(std::span<const Assignment> group) {
        const int n = static_cast<int>(group.size());
        bool plain = order_ == Order::fixed && !rows_.index;
        for (const Assignment& one : group) {
            counts_.chunk_updates += one.lesson.chunks();
            plain &= one.lesson.skip > one.lesson.last;
        }
        if (plain) {
            Pupil<Plain> pupils[most];
            for (int i = 0; i < n; ++i) {
                const std::int64_t begin = chunks_.begin(group[i].lesson.first);
                pupils[i] = {group[i].state, {begin, chunks_.end(group[i].lesson.last) - begin}};
            }
            return near(pupils[0].rows.size(), 1 << 18) ? calls<false>(pupils, n) : calls<true>(pupils, n);
        }
        Pupil<Named> pupils[most];
        for (int i = 0; i < n; ++i) pupils[i] = {group[i].state, named(group[i], i)};
        if ((!rows_.index && !pupils[0].rows.numbers) || near(pupils[0].rows.size(), 1 << 17))
            calls<false>(pupils, n);
        else
            calls<true>(pupils, n);
    }

    // Rows that do not lie in a near cache are fetched ahead of their turn.
    bool near(std::int64_t size, std::int64_t bytes) const {
        return size * rows_.X.n_features * std::int64_t{sizeof(typename L::Storage::Value)} < bytes;
    }

    Named named(const Assignment& one, int lane) {
        const Lesson& lesson = one.lesson;
        const bool scratch = lesson.skip <= lesson.last;
        const Stretch stretch(chunks_, lesson);
        if (order_ == Order::fixed && rows_.index && scratch) return as_stored(lesson.skip);
        if (order_ == Order::fixed || stretch.size() < 2) return {rows_.index, nullptr, stretch};
        std::vector<std::uint32_t>& numbers = numbers_[lane];
        const std::size_t size = static_cast<std::size_t>(stretch.size());
        if (numbers.size() < size) numbers.resize(size);  // at the root; what comes below is smaller
        const std::span<std::uint32_t> all(numbers.data(), size);
        const Stream place = stream_.at(one.first).at(one.last).at(one.side);
        if (order_ == Order::randomized)
            permute(place, all);
        else
            permute_blocks(place, lesson, scratch, all);
        return {rows_.index, numbers.data(), stretch};
    }

    // Chunk after chunk, each permuted; what is in no fold comes first, as one more chunk.
    void permute_blocks(const Stream& place, const Lesson& lesson, bool scratch,
                        std::span<std::uint32_t> all) {
        std::size_t done = 0;
        const auto block = [&](std::int64_t size, std::uint64_t name) {
            const auto part = all.subspan(done, static_cast<std::size_t>(size));
            permute(place.at(name), part);
            for (std::uint32_t& number : part) number += static_cast<std::uint32_t>(done);
            done += part.size();
        };
        if (scratch && chunks_.begin(0) > 0) block(chunks_.begin(0), static_cast<std::uint64_t>(chunks_.k));
        for (std::int64_t chunk = lesson.first; chunk <= lesson.last; ++chunk)
            if (chunk != lesson.skip)
                block(chunks_.end(chunk) - chunks_.begin(chunk), static_cast<std::uint64_t>(chunk));
    }

    // All rows but a chunk's in the order they are stored in, whatever the order of the chunks: what a
    // training from scratch is fed.
    Named as_stored(std::int64_t skipped) {
        if (by_row_.empty()) sort_positions();
        const std::int64_t begin = chunks_.begin(skipped), end = chunks_.end(skipped);
        learnt_.clear();
        for (const std::int64_t position : by_row_)
            if (position < begin || position >= end) learnt_.push_back(rows_.index[position]);
        return {learnt_.data(), nullptr, Stretch(static_cast<std::int64_t>(learnt_.size()))};
    }

    // Positions in the order of the rows they name, by counting.
    void sort_positions() {
        const std::int64_t n = chunks_.end(chunks_.k - 1);
        std::vector<std::int64_t> begins(rows_.X.n_stored + 1);
        for (std::int64_t p = 0; p < n; ++p) ++begins[rows_.index[p] + 1];
        std::partial_sum(begins.begin(), begins.end(), begins.begin());
        by_row_.resize(n);
        for (std::int64_t p = 0; p < n; ++p) by_row_[begins[rows_.index[p]]++] = p;
    }

    template <bool fetched, class Sequence>
    void calls(Pupil<Sequence>* pupils, int n) {
        longest_first(pupils, n);
        if constexpr (requires { learner_.batch(); }) {
            const std::int64_t batch = learner_.batch() > 0 ? learner_.batch() : pupils[0].rows.size();
            for (std::int64_t begin = 0; n > 0; begin += batch) {
                while (n > 0 && pupils[n - 1].rows.size() <= begin) --n;
                if (n > 0) call<fetched>(pupils, n, begin, batch);
            }
        } else {
            call<fetched>(pupils, n, 0, std::numeric_limits<std::int64_t>::max());
        }
    }

    // Who learns most comes first: the others drop out from the end.
    template <class Sequence>
    static void longest_first(Pupil<Sequence>* pupils, int n) {
        for (int i = 1; i < n; ++i)
            for (int j = i; j > 0 && pupils[j].rows.size() > pupils[j - 1].rows.size(); --j)
                std::swap(pupils[j], pupils[j - 1]);
    }

    // Rows begin .. begin + batch - 1 of every pupil: together as far as all have some, then those that have
    // more.
    template <bool fetched, class Sequence>
    void call(Pupil<Sequence>* pupils, int n, std::int64_t begin, std::int64_t batch) {
        const auto end = [&](int i) {
            const std::int64_t size = pupils[i].rows.size();
            return size - begin <= batch ? size : begin + batch;
        };
        for (int i = 0; i < n; ++i) open(pupils[i], begin, end(i));
        std::int64_t from = begin;
        for (int together = n; together > 0; --together) {
            const std::int64_t to = end(together - 1);
            if (to > from) lockstep<fetched>(pupils, together, begin, from, to);
            from = to;
        }
        if constexpr (requires { learner_.end(pupils[0].state, begin, scratch_); })
            for (int i = 0; i < n; ++i) learner_.end(pupils[i].state, end(i) - begin, scratch_);
        for (int i = 0; i < n; ++i) {
            count(pupils[i].state) += end(i) - begin;
            counts_.row_updates += end(i) - begin;
        }
    }

    template <class Sequence>
    void open(const Pupil<Sequence>& pupil, std::int64_t begin, std::int64_t end) {
        if constexpr (requires { learner_.begin(pupil.state, scratch_); })
            learner_.begin(pupil.state, scratch_);
        const auto at = [&](std::int64_t i) {
            const std::int64_t row = pupil.rows[begin + i];
            patience_.spend(rows_.X.work(row));
            return learner_.row(rows_.X, row);
        };
        if constexpr (requires { learner_.look(pupil.state, end - begin, at, scratch_); })
            learner_.look(pupil.state, end - begin, at, scratch_);
    }

    template <bool fetched, class Sequence>
    void lockstep(Pupil<Sequence>* pupils, int together, std::int64_t begin, std::int64_t from,
                  std::int64_t to) {
        if constexpr (most >= 4)
            if (together == 4) return each<4, fetched>(pupils, begin, from, to);
        if constexpr (most >= 2)
            for (; together >= 2; together -= 2, pupils += 2) each<2, fetched>(pupils, begin, from, to);
        if (together) each<1, fetched>(pupils, begin, from, to);
    }

    template <int n, bool fetched, class Sequence>
    void each(Pupil<Sequence>* pupils, std::int64_t begin, std::int64_t from, std::int64_t to) {
        if constexpr (n > 1 && std::is_same_v<Sequence, Plain> && requires { learner_.resident(); }) {
            const int blocks = learner_.resident();
            if (blocks == 1) return resident<n, 1>(pupils, begin, from, to);
            if (blocks == 2) return resident<n, 2>(pupils, begin, from, to);
            if (blocks == 3) return resident<n, 3>(pupils, begin, from, to);
            if (blocks == 4) return resident<n, 4>(pupils, begin, from, to);
        }
        row_by_row<n, fetched>(pupils, begin, from, to);
    }

    // States that stay in registers: in portions, as a call would empty those.
    template <int n, int blocks>
    [[gnu::flatten]] void resident(const Pupil<Plain>* pupils, std::int64_t begin, std::int64_t from,
                                   std::int64_t to) {
        const auto X = rows_.X;
        const auto* const y = rows_.y;
        const auto* const end = X.end();
        std::byte* states[n];
        Plain rows[n];
        unrolled<n>([&](auto l) {
            states[l] = pupils[l].state;
            rows[l] = pupils[l].rows;
        });
        const std::int64_t work = n * X.work(0);
        while (from < to) {
            const std::int64_t until = std::min(to, from + portion / work + 1);
            patience_.spend((until - from) * work);
            typename L::template Resident<n, blocks> together(learner_, states, from - begin);
            for (; from < until; ++from) {
                const typename L::Storage::Value* x[n];
                typename L::Target targets[n];
                unrolled<n>([&](auto l) {
                    x[l] = X.at(rows[l][from]);
                    targets[l] = y[rows[l][from]];
                });
                together.learn(x, targets, end);
            }
            together.leave();
        }
    }

    // Flattened: a call on the way would send the registers of a row through memory.
    template <int n, bool fetched, class Sequence>
    [[gnu::flatten]] void row_by_row(Pupil<Sequence>* pupils, std::int64_t begin, std::int64_t from,
                                     std::int64_t to) {
        const Data data = rows_;  // a copy, which no store into a state can change
        Group<L, n> group;
        unrolled<n>([&](auto l) { group.states[l] = pupils[l].state; });
        Lockstep<L, n> together(learner_, group.states, from - begin, scratch_);
        std::int64_t work = 0;
        for (std::int64_t i = from; i < to; ++i) {
            unrolled<n>([&](auto l) {
                if (fetched && i + ahead < to) fetch(pupils[l].rows[i + ahead]);
                const std::int64_t row = pupils[l].rows[i];
                group.x[l] = learner_.row(data.X, row);
                group.y[l] = data.y ? data.y[row] : typename L::Target{};
                group.weights[l] = data.weights ? data.weights[row] : 1.0;
                work += data.X.work(row);
            });
            together.learn(group);
            if (work > portion) {
                patience_.spend(work);
                work = 0;
            }
        }
        patience_.spend(work);
    }

    static constexpr std::int64_t ahead = 20;
    static constexpr std::int64_t portion = Patience::span / 4;

    [[gnu::always_inline]] void fetch(std::int64_t row) const {
        rows_.X.fetch(row);
        if (rows_.y) __builtin_prefetch(rows_.y + row);
    }

    const L& learner_;
    const Data& rows_;
    const Chunks& chunks_;
    Order order_;
    Stream stream_;
    Patience& patience_;
    Counts& counts_;
    typename L::Scratch scratch_;
    std::vector<std::uint32_t> numbers_[most];  // a permutation for each state in lockstep
    std::vector<std::int64_t> by_row_;          // positions, sorted by the row they name
    std::vector<std::int64_t> learnt_;          // stored rows, in order
};

}  // namespace treecv
