// A linear model behind a scaler of its features: what a pipeline of the two learns by `partial_fit`. Every
// call shows its rows to the scaler first, and then the model learns them as they are scaled from then on.
//
// What the scaler knows lies behind the model's own state, in double precision.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "treecv/learner.hpp"

namespace treecv {

struct Scaling {
    enum class Kind { standard, minmax, maxabs };

    Kind kind;
    bool centres, scales;  // of `standard`: to mean 0, to variance 1
    double low, high;      // of `minmax`: where the least and the largest number go
    bool clips;            // of `minmax` and `maxabs`: numbers beyond what was seen are cut off

    double least() const { return kind == Kind::maxabs ? -1 : low; }

    static Kind named(const std::string& name) {
        if (name == "standard") return Kind::standard;
        if (name == "minmax") return Kind::minmax;
        if (name == "maxabs") return Kind::maxabs;
        throw std::invalid_argument("there is no scaler of this name");
    }
};

template <class Model>
class Scaled {
  public:
    using Storage = typename Model::Storage;
    using T = typename Model::T;
    using Target = typename Model::Target;
    using Row = typename Model::Row;
    static constexpr int lanes = Model::lanes;
    static constexpr bool supervised = Model::supervised;
    static constexpr bool journals = false;

    struct Scratch {
        typename Model::Scratch model;
        std::vector<T> scaled;     // a row for each state in lockstep
        std::vector<double> sums;  // of a call: of what its rows differ by from a centre, and of the squares
        Journal* journal = nullptr;
    };

    Scaled(const Scaling& scaling, const Model& model)
        : scaling_(scaling), model_(model), padding_(model.n_features(), false) {}

    std::int64_t n_features() const { return model_.n_features(); }
    std::int64_t n_outputs() const { return model_.n_outputs(); }
    std::int64_t batch() const { return model_.batch(); }
    std::size_t state_bytes() const { return model_.state_bytes() + 4 * width() * sizeof(double); }
    Scratch scratch() const {
        return {model_.scratch(), std::vector<T>(static_cast<std::size_t>(lanes * width())),
                std::vector<double>(static_cast<std::size_t>(2 * width()))};
    }
    Row row(const Storage& X, std::int64_t row) const { return model_.row(X, row); }

    void begin(std::byte* state, Scratch& scratch) const { model_.begin(state, scratch.model); }

    template <class At>
    void look(std::byte* state, std::int64_t n, At at, Scratch& scratch) const {
        Known own = known(state);
        if (scaling_.kind == Scaling::Kind::standard)
            moments(own, count(state), n, at, scratch);
        else
            extremes(own, count(state), n, at);
    }

    void end(std::byte* state, std::int64_t rows, Scratch& scratch) const {
        model_.end(state, rows, scratch.model);
    }

    template <int n>
    class Lockstep {
      public:
        Lockstep(const Scaled& learner, std::byte* const (&states)[n], std::int64_t learnt, Scratch& scratch)
            : learner_(learner), scratch_(scratch), model_(learner.model_, states, learnt, scratch.model) {}

        void learn(const Group<Scaled, n>& group) {
            Group<Model, n> scaled;
            unrolled<n>([&](auto i) {
                T* room = scratch_.scaled.data() + i * learner_.width();
                scaled.states[i] = group.states[i];
                scaled.x[i] = learner_.transformed(group.states[i], group.x[i], room);
                scaled.y[i] = group.y[i];
                scaled.weights[i] = group.weights[i];
            });
            model_.learn(scaled);
        }

      private:
        const Scaled& learner_;
        Scratch& scratch_;
        typename Model::template Lockstep<n> model_;
    };

    std::int64_t overflow(const std::byte* state) const { return model_.overflow(state); }

    void predict(const std::byte* state, const Row& x, double* out, Scratch& scratch) const {
        model_.predict(state, transformed(state, x, scratch.scaled.data()), out, scratch.model);
    }

  private:
    // For each feature: mean and sum of squared differences from it, or the least and the largest number (of
    // `maxabs` the largest without its sign); and what follows: x becomes (x - shift) * factor + low.
    template <class Number>
    struct Vectors {
        Number *first, *second, *shift, *factor;
    };
    using Known = Vectors<double>;

    std::int64_t width() const { return padding_.width(); }

    Known known(std::byte* state) const {
        double* first = reinterpret_cast<double*>(state + model_.state_bytes());
        return {first, first + width(), first + 2 * width(), first + 3 * width()};
    }
    Vectors<const double> known(const std::byte* state) const {
        const double* first = reinterpret_cast<const double*>(state + model_.state_bytes());
        return {first, first + width(), first + 2 * width(), first + 3 * width()};
    }

    // Calls f(j, value) with every number of a row, and zeros up to a whole block.
    template <class F>
    [[gnu::always_inline]] void each(const Row& x, F f) const {
        const std::int64_t whole = x.full * treecv::lanes<T>;
        for (std::int64_t j = 0; j < whole; ++j) f(j, static_cast<double>(x.values[j]));
        if (!x.ragged) return;
        alignas(block_bytes) T tail[treecv::lanes<T>];
        x.tail.store(tail);
        for (std::int64_t j = 0; j < treecv::lanes<T>; ++j) f(whole + j, static_cast<double>(tail[j]));
    }

    // Sums over a call are taken of differences from the mean so far, so that little cancels; then both
    // moments are those of all rows (Chan, Golub and LeVeque 1979).
    template <class At>
    void moments(Known own, std::int64_t before, std::int64_t n, At at, Scratch& scratch) const {
        const std::int64_t w = width();
        double *sum = scratch.sums.data(), *squares = sum + w;
        if (before == 0) each(at(0), [&](std::int64_t j, double value) { own.first[j] = value; });
        std::fill(sum, sum + 2 * w, 0.0);
        for (std::int64_t i = 0; i < n; ++i)
            each(at(i), [&](std::int64_t j, double value) {
                const double difference = value - own.first[j];
                sum[j] += difference;
                squares[j] += difference * difference;
            });
        const double rows = static_cast<double>(n), total = static_cast<double>(before + n);
        const double lever = static_cast<double>(before) / total, inverse = 1 / rows;
        for (std::int64_t j = 0; j < w; ++j) {
            const double mean = sum[j] * inverse, spread = squares[j] - sum[j] * mean;
            own.second[j] += (spread < 0 ? 0 : spread) + sum[j] * mean * lever;
            own.first[j] += sum[j] / total;
        }
        constexpr double eps = std::numeric_limits<double>::epsilon();
        for (std::int64_t j = 0; j < n_features(); ++j) {
            // What differs by rounding alone is constant, and is not scaled.
            const double variance = own.second[j] / total, noise = total * own.first[j] * eps;
            const double scale = variance <= total * eps * variance + noise * noise ? 1 : std::sqrt(variance);
            own.factor[j] = scaling_.scales ? 1 / scale : 1;
            own.shift[j] = scaling_.centres ? own.first[j] : 0;
        }
    }

    template <class At>
    void extremes(Known own, std::int64_t before, std::int64_t n, At at) const {
        const bool both = scaling_.kind == Scaling::Kind::minmax;
        if (before == 0 && both)
            each(at(0), [&](std::int64_t j, double value) { own.first[j] = own.second[j] = value; });
        for (std::int64_t i = 0; i < n; ++i)
            if (both)
                each(at(i), [&](std::int64_t j, double value) {
                    own.first[j] = value < own.first[j] ? value : own.first[j];
                    own.second[j] = value > own.second[j] ? value : own.second[j];
                });
            else
                each(at(i), [&](std::int64_t j, double value) {
                    const double size = std::abs(value);
                    own.second[j] = size > own.second[j] ? size : own.second[j];
                });
        constexpr double least = 10 * std::numeric_limits<T>::epsilon();
        const double span = both ? scaling_.high - scaling_.low : 1;
        for (std::int64_t j = 0; j < n_features(); ++j) {
            const double range = own.second[j] - own.first[j];
            own.factor[j] = span / (range < least ? 1 : range);
            own.shift[j] = own.first[j];
        }
    }

    // A row as the scaler gives it, in `room`.
    [[gnu::always_inline]] Row transformed(const std::byte* state, const Row& x, T* room) const {
        const Vectors<const double> own = known(state);
        const double* shift = own.shift;
        const double* factor = own.factor;
        const double low = scaling_.low;
        each(x, [&](std::int64_t j, double value) {
            room[j] = static_cast<T>((value - shift[j]) * factor[j] + low);
        });
        if (scaling_.clips)
            for (std::int64_t j = 0; j < n_features(); ++j)
                room[j] =
                    std::clamp(room[j], static_cast<T>(scaling_.least()), static_cast<T>(scaling_.high));
        return padding_(room, room + width());
    }

    Scaling scaling_;
    Model model_;
    Padding<T> padding_;
};

}  // namespace treecv
