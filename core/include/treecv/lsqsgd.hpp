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
    using Value = T;
    using Target = double;

    LSQSGD(std::int64_t n_features, double step_size, double radius, bool fit_intercept)
        : n_features_(n_features),
          step_(static_cast<T>(step_size)),
          radius_(static_cast<T>(radius)),
          padding_(n_features, fit_intercept) {}

    std::int64_t n_features() const { return n_features_; }
    std::size_t state_bytes() const { return header_bytes + padding_.width() * (sizeof(T) + sizeof(double)); }

    Row<T> row(const T* values, const T* end) const { return padding_(values, end); }

    void learn(std::byte* state, const Row<T>& x, Target y) const {
        T* w = vector<T>(state);
        add(w, -step_ * (dot(w, x) - static_cast<T>(y)), x);
        project(w);
        double* sum = sums(state);
        for (std::int64_t j = 0; j < padding_.width(); ++j) sum[j] += static_cast<double>(w[j]);
        ++count(state);
    }

    double predict(const std::byte* state, const Row<T>& x) const {
        const std::int64_t t = count(state);
        if (t == 0) return 0;
        const double* mean = vector<double>(state, padding_.width() * sizeof(T));
        Block<double> acc = Block<double>::all(0);
        for (std::ptrdiff_t b = 0; b < x.full; ++b)
            accumulate(acc, mean + b * lanes<T>, x.values + b * lanes<T>);
        if (x.ragged) {
            T tail[lanes<T>];
            x.tail.store(tail);
            accumulate(acc, mean + x.full * lanes<T>, tail);
        }
        return treecv::sum(acc) / static_cast<double>(t);
    }

  private:
    double* sums(std::byte* state) const { return vector<double>(state, padding_.width() * sizeof(T)); }

    void project(T* w) const {
        Block<T> acc = Block<T>::all(0);
        for (std::int64_t j = 0; j < padding_.width(); j += lanes<T>)
            acc += Block<T>::load(w + j) * Block<T>::load(w + j);
        const T square = treecv::sum(acc);
        if (!(square > radius_ * radius_)) return;
        // The last term is 0, or NaN after an overflow, which must not pass for a weight of 0.
        const T shrink = radius_ / std::sqrt(square) + (square - square);
        for (std::int64_t j = 0; j < padding_.width(); ++j) w[j] *= shrink;
    }

    // Adds lanes<T> products, widened to double, to the 8 lanes of a double block.
    static void accumulate(Block<double>& acc, const double* mean, const T* values) {
        for (std::ptrdiff_t j = 0; j < lanes<T>; j += lanes<double>) {
            double wide[lanes<double>];
            for (std::ptrdiff_t i = 0; i < lanes<double>; ++i) wide[i] = static_cast<double>(values[j + i]);
            acc += Block<double>::load(mean + j) * Block<double>::load(wide);
        }
    }

    std::int64_t n_features_;
    T step_, radius_;
    Padding<T> padding_;
};

}  // namespace treecv
