// The square of how far an error is beyond epsilon.
#pragma once

#include "treecv/lanes.hpp"

namespace treecv {

struct SquaredEpsilonInsensitive {
    static constexpr double other = -1;
    double epsilon;

    template <class V>
    [[gnu::always_inline]] V gradient(V y, V p) const {
        const V error = y - p;
        return where(error < -epsilon, 2.0 * (-error - epsilon)) -
               where(error > epsilon, 2.0 * (error - epsilon));
    }
};

}  // namespace treecv
