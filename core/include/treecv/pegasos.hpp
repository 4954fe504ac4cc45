// PEGASOS (Shalev-Shwartz, Singer, Srebro and Cotter 2011), without the projection: the linear support
// vector machine learnt by stochastic gradient steps of length 1 / (alpha t).
//
// The weights are w = v / (alpha t); t counts the rows learnt and v adds up y x over the rows whose
// margin was below 1 when they came. The last iterate is the model.
#pragma once

#include <cmath>
#include <limits>

#include "treecv/learner.hpp"

namespace treecv {

template <class T>
class Pegasos {
  public:
    using Value = T;
    using Target = std::int32_t;  // the class: 0 or 1

    Pegasos(std::int64_t n_features, double alpha, bool fit_intercept)
        : n_features_(n_features), alpha_(alpha), padding_(n_features, fit_intercept) {}

    std::int64_t n_features() const { return n_features_; }
    std::size_t state_bytes() const { return header_bytes + padding_.width() * sizeof(T); }

    Row<T> row(const T* values, const T* end) const { return padding_(values, end); }

    void learn(std::byte* state, const Row<T>& x, Target y) const {
        T* v = vector<T>(state);
        std::int64_t& t = count(state);
        const T sign = y ? T(1) : T(-1);
        const double margin = static_cast<double>(sign * dot(v, x));
        // A margin that overflowed to NaN must not pass for a row that was learnt: it makes all weights NaN.
        if (t == 0 || !(margin >= alpha_ * static_cast<double>(t)))
            add(v, std::isnan(margin) ? std::numeric_limits<T>::quiet_NaN() : sign, x);
        ++t;
    }

    // The signed distance from the boundary, in units of the margin: 0 where nothing was learnt.
    double predict(const std::byte* state, const Row<T>& x) const {
        const std::int64_t t = count(state);
        if (t == 0) return 0;
        return static_cast<double>(dot(vector<T>(state), x)) / (alpha_ * static_cast<double>(t));
    }

  private:
    std::int64_t n_features_;
    double alpha_;
    Padding<T> padding_;
};

}  // namespace treecv
