// Penalties on the weights: l2 shrinks all of them a little at every step; l1 pulls them towards zero and
// holds them there, by the cumulative penalty of Tsuruoka, Tsujii and Ananiadou (2009); elasticnet does both.
#pragma once

#include <stdexcept>
#include <string>

#include "treecv/lanes.hpp"

namespace treecv {

struct Penalty {
    bool shrinks, pulls;
    double alpha, l1_ratio;

    Penalty(const std::string& name, double strength, double ratio)
        : shrinks(name == "l2" || name == "elasticnet"),
          pulls(name == "l1" || name == "elasticnet"),
          alpha(strength),
          l1_ratio(name == "elasticnet" ? ratio
                   : pulls              ? 1
                                        : 0) {
        if (!shrinks && !pulls && name != "none")
            throw std::invalid_argument("there is no penalty of this name");
    }

    // What all weights are multiplied with in a step; never negative.
    template <class V>
    [[gnu::always_inline]] V factor(V eta) const {
        const V left = 1.0 - (1.0 - l1_ratio) * eta * alpha;
        return left > 0.0 ? left : V{};
    }

    // What a step adds to the pull.
    template <class V>
    [[gnu::always_inline]] V pull(V eta) const {
        return l1_ratio * eta * alpha;
    }
};

// Pulls weights, which are `scale` times v, towards zero: as far as `pull` is ahead of what they were pulled
// so far, q. They stop at zero.
template <class T>
void towards_zero(T& v, T& q, T pull, T scale, T inverse) {
    const T before = v;
    if (v > 0) {
        v -= (pull + q) * inverse;
        v = v > 0 ? v : T(0);
    } else if (v < 0) {
        v += (pull - q) * inverse;
        v = v < 0 ? v : T(0);
    }
    q += scale * (v - before);
}

}  // namespace treecv
