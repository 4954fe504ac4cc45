// The logistic loss, log(1 + exp(p)) - y p with y 0 or 1: logistic regression.
#pragma once

#include "treecv/elementary.hpp"
#include "treecv/lanes.hpp"

namespace treecv {

struct LogLoss {
    static constexpr double other = 0;
    static constexpr bool bounded = true;  // the slope is never so steep that it must be cut

    // exp never overflows: of p and -p it is asked for the one that is not positive.
    template <class V>
    [[gnu::always_inline]] V gradient(V y, V p) const {
        const V small = exp(p > 0.0 ? -p : p);
        return (p > 0.0 ? 1.0 / (1.0 + small) : small / (1.0 + small)) - y;
    }
};

}  // namespace treecv
