// Least squares by robust stochastic approximation (Nemirovski, Juditsky, Lan and Shapiro 2009):
// steps of constant length on the squared loss, each projected onto a ball; the average of the
// iterates is the model.
//
// The average is kept as a sum in double precision: half a million float iterates would lose digits.
#pragma once

#include <cmath>

#include "treecv/learner.hpp"

namespace treecv {

template <class T>
class LSQSGD {
  public:
    using Storage = Dense<T>;
    using Row = treecv::Row<T>;
    using Target = double;
    using Scratch = NoScratch;
    static constexpr int lanes = lanes_in_lockstep<T>;
    static constexpr bool supervised = true, journals = false;

    LSQSGD(std::int64_t n_features, double step_size, double radius, bool fit_intercept)
        : n_features_(n_features),
          step_(static_cast<T>(step_size)),
          radius_(static_cast<T>(radius)),
          padding_(n_features, fit_intercept) {}

    std::int64_t n_features() const { return n_features_; }
    std::int64_t n_outputs() const { return 1; }
    std::size_t state_bytes() const { return header_bytes + padding_.width() * (sizeof(T) + sizeof(double)); }
    Scratch scratch() const { return {}; }

    Row row(const Storage& X, std::int64_t row) const { return padding_(X, row); }

    template <int n>
    void learn(const Group<LSQSGD, n>& group, Scratch&) const {
        T* w[n];
        const T* read[n];
        Row own[n];
        T errors[n], steps[n], squares[n];
        unrolled<n>([&](auto i) {
            read[i] = w[i] = vector<T>(group.states[i]);
            own[i] = {w[i], padding_.width() / treecv::lanes<T>, {}, false};
        });
        dots<n, T>(read, group.x, errors);
        unrolled<n>([&](auto i) { steps[i] = -step_ * (errors[i] - static_cast<T>(group.y[i])); });
        add<n, T>(w, steps, group.x);
        dots<n, T>(read, own, squares);
        unrolled<n>([&](auto i) {
            project(w[i], squares[i]);
            double* sum = sums(group.states[i]);
            for (std::int64_t j = 0; j < padding_.width(); ++j) sum[j] += static_cast<double>(w[i][j]);
        });
    }

    void predict(const std::byte* state, const Row& x, double* out, Scratch&) const {
        const std::int64_t t = count(state);
        const double* mean = vector<double>(state, padding_.width() * sizeof(T));
        Block<double> acc = Block<double>::all(0);
        for (std::ptrdiff_t b = 0; b < x.full; ++b)
            accumulate(acc, mean + b * treecv::lanes<T>, x.values + b * treecv::lanes<T>);
        if (x.ragged) {
            T tail[treecv::lanes<T>];
            x.tail.store(tail);
            accumulate(acc, mean + x.full * treecv::lanes<T>, tail);
        }
        *out = t == 0 ? 0 : treecv::sum(acc) / static_cast<double>(t);
    }

  private:
    double* sums(std::byte* state) const { return vector<double>(state, padding_.width() * sizeof(T)); }

    void project(T* w, T square) const {
        if (!(square > radius_ * radius_)) return;
        // The last term is 0, or NaN after an overflow, which must not pass for a weight of 0.
        const T shrink = radius_ / std::sqrt(square) + (square - square);
        for (std::int64_t j = 0; j < padding_.width(); ++j) w[j] *= shrink;
    }

    // Adds lanes<T> products, widened to double, to the 8 lanes of a double block.
    static void accumulate(Block<double>& acc, const double* mean, const T* values) {
        for (std::ptrdiff_t j = 0; j < treecv::lanes<T>; j += treecv::lanes<double>) {
            double wide[treecv::lanes<double>];
            for (std::ptrdiff_t i = 0; i < treecv::lanes<double>; ++i)
                wide[i] = static_cast<double>(values[j + i]);
            acc += Block<double>::load(mean + j) * Block<double>::load(wide);
        }
    }

    std::int64_t n_features_;
    T step_, radius_;
    Padding<T> padding_;
};

}  // namespace treecv
