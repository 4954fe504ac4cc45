// A Gaussian density with a full or a diagonal covariance: mean and scatter of the rows, joined one by one
// (Welford 1962; West 1979 with weights), so that nothing depends on their order but the rounding.
#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "treecv/elementary.hpp"
#include "treecv/learner.hpp"

namespace treecv {

template <class T>
class Gaussian {
  public:
    using Storage = Dense<T>;
    using Row = treecv::Row<T>;
    using Target = double;
    static constexpr int lanes = 1;
    static constexpr bool supervised = false, journals = false;

    struct Scratch {
        Journal* journal = nullptr;
        std::vector<double> x;
        std::vector<double> factor;  // of the covariance: the upper triangle U of U'U, or its diagonal
        double logs = 0;             // of the covariance's determinant
    };

    // `floor` is added to every variance.
    Gaussian(std::int64_t n_features, bool full, double floor)
        : n_features_(n_features), full_(full), floor_(floor), padding_(n_features, false) {}

    std::int64_t n_features() const { return n_features_; }
    std::int64_t n_outputs() const { return 1; }
    std::size_t state_bytes() const {
        return header_bytes + static_cast<std::size_t>((1 + lines()) * width() + 8) * sizeof(double);
    }
    Scratch scratch() const {
        return {nullptr, std::vector<double>(static_cast<std::size_t>(width())),
                std::vector<double>(static_cast<std::size_t>(lines() * width())), 0};
    }
    Row row(const Storage& X, std::int64_t row) const { return padding_(X, row); }

    template <int n>
    void learn(const Group<Gaussian, n>& group, Scratch& scratch) const {
        for (int i = 0; i < n; ++i) {
            double *mean = vector<double>(group.states[i]), *scatter = mean + width();
            double& total = scatter[lines() * width()];
            double* away = scratch.x.data();
            widen(group.x[i], away);
            const double weight = group.weights[i], before = total;
            total += weight;
            if (!(weight > 0)) continue;
            const double share = weight / total, lever = share * before;
            for (std::int64_t j = 0; j < n_features_; ++j) {
                away[j] -= mean[j];
                mean[j] += share * away[j];
            }
            if (full_)
                for (std::int64_t a = 0; a < n_features_; ++a) {
                    const double factor = lever * away[a];
                    double* line = scatter + a * width();
                    for (std::int64_t j = a; j < n_features_; ++j) line[j] += factor * away[j];
                }
            else
                for (std::int64_t j = 0; j < n_features_; ++j) scatter[j] += lever * away[j] * away[j];
        }
    }

    // Factors the covariance, for the predictions that follow.
    void ready(const std::byte* state, Scratch& scratch) const {
        const double* scatter = vector<double>(state) + width();
        const double total = scatter[lines() * width()];
        double* u = scratch.factor.data();
        scratch.logs = 0;
        for (std::int64_t a = 0; a < lines(); ++a) {
            double* line = u + a * width();
            for (std::int64_t j = full_ ? a : 0; j < n_features_; ++j)
                line[j] = scatter[a * width() + j] / total;
        }
        if (!full_) {
            for (std::int64_t j = 0; j < n_features_; ++j) {
                u[j] += floor_;
                scratch.logs += log(u[j]);
            }
            return;
        }
        for (std::int64_t a = 0; a < n_features_; ++a) u[a * width() + a] += floor_;
        for (std::int64_t a = 0; a < n_features_; ++a) {
            double* line = u + a * width();
            scratch.logs += log(line[a]);
            const double root = std::sqrt(line[a]), inverse = 1 / root;
            line[a] = root;
            for (std::int64_t j = a + 1; j < n_features_; ++j) line[j] *= inverse;
            for (std::int64_t b = a + 1; b < n_features_; ++b) {
                double* below = u + b * width();
                const double factor = line[b];
                for (std::int64_t j = b; j < n_features_; ++j) below[j] -= factor * line[j];
            }
        }
    }

    // The log density.
    void predict(const std::byte* state, const Row& x, double* out, Scratch& scratch) const {
        constexpr double log_2_pi = 1.8378770664093453;
        const double* mean = vector<double>(state);
        double *away = scratch.x.data(), squares = 0;
        const double* u = scratch.factor.data();
        widen(x, away);
        for (std::int64_t j = 0; j < n_features_; ++j) away[j] -= mean[j];
        for (std::int64_t a = 0; a < n_features_; ++a) {
            if (!full_) {
                squares += away[a] * away[a] / u[a];
                continue;
            }
            const double* line = u + a * width();
            const double z = away[a] / line[a];
            squares += z * z;
            for (std::int64_t j = a + 1; j < n_features_; ++j) away[j] -= z * line[j];
        }
        *out = -0.5 * (squares + scratch.logs + static_cast<double>(n_features_) * log_2_pi);
    }

  private:
    // Behind the header: the mean, the lines of the scatter's upper triangle (or its diagonal), the rows'
    // total weight.
    std::int64_t width() const { return padding_.width(); }
    std::int64_t lines() const { return full_ ? n_features_ : 1; }

    std::int64_t n_features_;
    bool full_;
    double floor_;
    Padding<T> padding_;
};

}  // namespace treecv
