// The loss of support vector regression: errors below epsilon cost nothing.
#pragma once

#include "treecv/lanes.hpp"

namespace treecv {

struct EpsilonInsensitive {
    static constexpr double other = -1;
    static constexpr bool bounded = true;  // the slope is never so steep that it must be cut
    double epsilon;

    template <class V>
    [[gnu::always_inline]] V value(V y, V p) const {
        const V error = y - p, beyond = (error > 0.0 ? error : -error) - epsilon;
        return where(beyond > 0.0, beyond);
    }
    template <class V>
    [[gnu::always_inline]] V gradient(V y, V p) const {
        return where(p - y > epsilon, all_like(p, 1.0)) - where(y - p > epsilon, all_like(p, 1.0));
    }
};

}  // namespace treecv
