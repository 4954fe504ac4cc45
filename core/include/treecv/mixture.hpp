// A mixture of Gaussians with diagonal covariances, learnt row by row: stepwise EM (Cappé and Moulines 2009;
// Liang and Klein 2009). Each row is dealt to the components by how likely they make it, and moves weights,
// means and variances by a step that shrinks with the rows learnt. It starts like k-means: from rows that
// k-means++ chooses among the first.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "treecv/elementary.hpp"
#include "treecv/learner.hpp"
#include "treecv/seeding.hpp"

namespace treecv {

template <class T>
class Mixture {
  public:
    using Storage = Dense<T>;
    using Row = treecv::Row<T>;
    using Target = double;
    static constexpr int lanes = 1;
    static constexpr bool supervised = false, journals = false;

    struct Scratch {
        Journal* journal = nullptr;
        std::vector<double> x, likely;  // a row; of each component how likely it makes the row
    };

    // A step is (rows + 2) to the power of -`power`; no variance counts as less than `floor`.
    Mixture(std::int64_t n_features, std::int64_t n_components, std::int64_t start, double power,
            double floor, std::uint64_t seed)
        : n_features_(n_features),
          k_(n_components),
          start_(start),
          power_(power),
          floor_(floor),
          seed_(seed),
          padding_(n_features, false) {
        if (k_ < 1) throw std::invalid_argument("there must be a component at least");
        if (start_ < k_) throw std::invalid_argument("the components are chosen from at least as many rows");
    }

    std::int64_t n_features() const { return n_features_; }
    std::int64_t n_outputs() const { return 2; }  // the likeliest component, and the log density
    std::size_t state_bytes() const {
        return header_bytes + known_at() + block_bytes +
               static_cast<std::size_t>(start_ * width()) * sizeof(T);
    }
    Scratch scratch() const {
        return {nullptr, std::vector<double>(static_cast<std::size_t>(width())),
                std::vector<double>(static_cast<std::size_t>(k_))};
    }
    Row row(const Storage& X, std::int64_t row) const { return padding_(X, row); }

    template <int n>
    void learn(const Group<Mixture, n>& group, Scratch& scratch) const {
        for (int i = 0; i < n; ++i) {
            std::byte* state = group.states[i];
            Known& own = known(state);
            if (own.started) {
                widen(group.x[i], scratch.x.data());
                step(state, scratch);
            } else {
                copy(group.x[i], first_of(state, own.waiting));
                if (++own.waiting == start_) begin_with_first(state, scratch);
            }
        }
    }

    void end(std::byte* state, std::int64_t, Scratch& scratch) const {
        const Known& own = known(state);
        if (!own.started && own.waiting >= k_) begin_with_first(state, scratch);
    }

    void predict(const std::byte* state, const Row& x, double* out, Scratch& scratch) const {
        out[0] = 0;
        out[1] = std::numeric_limits<double>::quiet_NaN();
        if (!known(state).started) return;
        widen(x, scratch.x.data());
        out[1] = deal(state, scratch);
        for (std::int64_t c = 1; c < k_; ++c)
            if (scratch.likely[static_cast<std::size_t>(c)] >
                scratch.likely[static_cast<std::size_t>(out[0])])
                out[0] = static_cast<double>(c);
    }

  private:
    // `waiting`: rows among which the components will be chosen; `steps`: rows learnt since.
    struct Known {
        std::int64_t started, waiting, steps, unused[5];
    };
    static_assert(sizeof(Known) == block_bytes);

    std::int64_t width() const { return padding_.width(); }
    static std::int64_t padded(std::int64_t n) { return (n + 7) / 8 * 8; }

    // Behind the header: means, variances and weights of the components, what is known, the first rows.
    template <class State>
    auto mean_of(State* state, std::int64_t c) const {
        return vector<double>(state) + c * width();
    }
    template <class State>
    auto variance_of(State* state, std::int64_t c) const {
        return vector<double>(state) + (k_ + c) * width();
    }
    template <class State>
    auto weights_of(State* state) const {
        return vector<double>(state) + 2 * k_ * width();
    }
    std::size_t known_at() const {
        return static_cast<std::size_t>(2 * k_ * width() + padded(k_)) * sizeof(double);
    }
    Known& known(std::byte* state) const { return *vector<Known>(state, known_at()); }
    const Known& known(const std::byte* state) const { return *vector<Known>(state, known_at()); }
    T* first_of(std::byte* state, std::int64_t i) const {
        return vector<T>(state, known_at() + block_bytes) + i * width();
    }
    Row stored(const T* values) const { return {values, width() / treecv::lanes<T>, {}, false}; }

    // The log density of the row in scratch; and the share of each component in it.
    double deal(const std::byte* state, Scratch& scratch) const {
        constexpr double log_2_pi = 1.8378770664093453;
        double* likely = scratch.likely.data();
        double most = -std::numeric_limits<double>::infinity();
        for (std::int64_t c = 0; c < k_; ++c) {
            likely[c] = log(weights_of(state)[c]) - 0.5 * (spread(state, c, scratch.x.data()) +
                                                           static_cast<double>(n_features_) * log_2_pi);
            most = likely[c] > most ? likely[c] : most;
        }
        double sum = 0;
        for (std::int64_t c = 0; c < k_; ++c) {
            likely[c] = exp(likely[c] - most);
            sum += likely[c];
        }
        for (std::int64_t c = 0; c < k_; ++c) likely[c] = likely[c] / sum;
        return most + log(sum);
    }

    // The squared distance from a mean in units of the deviations, and the logarithms of the variances.
    double spread(const std::byte* state, std::int64_t c, const double* x) const {
        Block<double> squares = Block<double>::all(0), logs = squares;
        const Block<double> least = Block<double>::all(floor_);
        for (std::int64_t j = 0; j < width(); j += treecv::lanes<double>) {
            const Block<double> variance = max(Block<double>::load(variance_of(state, c) + j), least);
            const Block<double> away =
                Block<double>::load(x + j) - Block<double>::load(mean_of(state, c) + j);
            squares += away * away / variance;
            logs += log(variance);
        }
        return sum(squares) + sum(logs);
    }

    void step(std::byte* state, Scratch& scratch) const {
        deal(state, scratch);
        const auto rows = static_cast<double>(known(state).steps++ + 2);
        const double length = exp(-power_ * log(rows));
        double* weights = weights_of(state);
        const double* x = scratch.x.data();
        for (std::int64_t c = 0; c < k_; ++c) {
            const double part = length * scratch.likely[static_cast<std::size_t>(c)];
            weights[c] = (1 - length) * weights[c] + part;
            const double share = weights[c] > 0 ? part / weights[c] : 0 * part, rest = 1 - share;
            double *mean = mean_of(state, c), *variance = variance_of(state, c);
            for (std::int64_t j = 0; j < n_features_; ++j) {
                const double away = x[j] - mean[j];
                mean[j] += share * away;
                variance[j] = rest * (variance[j] + share * away * away);
            }
        }
    }

    // k-means++ chooses the means; every variance is that of the first rows. Then these are learnt.
    void begin_with_first(std::byte* state, Scratch& scratch) const {
        Known& own = known(state);
        const auto rows = static_cast<double>(own.waiting);
        const auto squared = [&](std::int64_t i, std::int64_t j) {
            return static_cast<double>(treecv::distance(first_of(state, i), stored(first_of(state, j))));
        };
        std::vector<double> mean(static_cast<std::size_t>(n_features_)), spread(mean);
        const auto value = [&](std::int64_t i, std::int64_t j) {
            return static_cast<double>(first_of(state, i)[j]);
        };
        for (std::int64_t i = 0; i < own.waiting; ++i)
            for (std::size_t j = 0; j < mean.size(); ++j) mean[j] += value(i, static_cast<std::int64_t>(j));
        for (double& each : mean) each /= rows;
        for (std::int64_t i = 0; i < own.waiting; ++i)
            for (std::size_t j = 0; j < mean.size(); ++j) {
                const double away = value(i, static_cast<std::int64_t>(j)) - mean[j];
                spread[j] += away * away;
            }
        std::int64_t c = 0;
        for (const std::int64_t i : seeds(own.waiting, k_, Stream(seed_), squared)) {
            widen(stored(first_of(state, i)), mean_of(state, c));
            double* variance = variance_of(state, c);
            std::fill(variance, variance + width(), 1.0);  // beyond the features it counts for nothing
            for (std::int64_t j = 0; j < n_features_; ++j)
                variance[j] = spread[static_cast<std::size_t>(j)] / rows;
            weights_of(state)[c++] = 1 / static_cast<double>(k_);
        }
        own.started = 1;
        for (std::int64_t i = 0; i < own.waiting; ++i) {
            widen(stored(first_of(state, i)), scratch.x.data());
            step(state, scratch);
        }
    }

    std::int64_t n_features_, k_, start_;
    double power_, floor_;
    std::uint64_t seed_;
    Padding<T> padding_;
};

}  // namespace treecv
