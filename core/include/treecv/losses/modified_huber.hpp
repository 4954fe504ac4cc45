// The modified Huber loss: the squared hinge, but linear for margins below -1 (Zhang 2004).
#pragma once

#include "treecv/lanes.hpp"

namespace treecv {

struct ModifiedHuber {
    static constexpr double other = -1;
    static constexpr bool bounded = true;  // the slope is never so steep that it must be cut

    template <class V>
    [[gnu::always_inline]] V gradient(V y, V p) const {
        const V margin = y * p;
        return where(margin < 1.0, margin >= -1.0 ? -2.0 * (1.0 - margin) * y : -4.0 * y);
    }
};

}  // namespace treecv
