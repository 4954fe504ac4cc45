// How long the steps of stochastic gradient descent are. Every row is a step; t counts them from 1.
#pragma once

#include <cmath>
#include <stdexcept>
#include <string>

#include "treecv/elementary.hpp"

namespace treecv {

struct Schedule {
    enum class Kind { constant, optimal, invscaling, pa1, pa2 };

    Kind kind;
    double eta0;    // the first step; for pa1 and pa2 how aggressive they are
    double power;   // of invscaling
    double alpha;   // the strength of the penalty
    double offset;  // of optimal, in steps: so that the first one is of a typical weight's length (Bottou)

    Schedule(const std::string& name, double first, double power_t, double penalty)
        : kind(named(name)),
          eta0(first),
          power(power_t),
          alpha(penalty),
          offset(kind == Kind::optimal ? 1 / (std::sqrt(1 / std::sqrt(penalty)) * penalty) : 0) {}

    // Passive-aggressive steps depend on the loss (Crammer and others 2006).
    bool aggressive() const { return kind == Kind::pa1 || kind == Kind::pa2; }

    template <class V>
    [[gnu::always_inline]] V eta(V t) const {
        if (kind == Kind::optimal) return 1.0 / (alpha * (offset + t - 1.0));
        if (kind == Kind::invscaling) return eta0 / powered(t);
        return V{} + eta0;
    }

  private:
    static Kind named(const std::string& name) {
        // One call is one epoch, after which `adaptive` could become shorter.
        if (name == "constant" || name == "adaptive") return Kind::constant;
        if (name == "optimal") return Kind::optimal;
        if (name == "invscaling") return Kind::invscaling;
        if (name == "pa1") return Kind::pa1;
        if (name == "pa2") return Kind::pa2;
        throw std::invalid_argument("there is no schedule of this name");
    }

    template <class V>
    [[gnu::always_inline]] V powered(V t) const {
        if (power == 0.5) return roots(t);
        if (power == 0.25) return roots(roots(t));
        return exp(power * log(t));
    }

    template <class V>
    [[gnu::always_inline]] static V roots(V t) {
        for (std::size_t i = 0; i < sizeof(V) / sizeof(double); ++i) t[i] = std::sqrt(t[i]);
        return t;
    }
};

}  // namespace treecv
