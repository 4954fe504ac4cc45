// The squared hinge loss, max(0, 1 - y p)^2.
#pragma once

#include "treecv/lanes.hpp"

namespace treecv {

struct SquaredHinge {
    static constexpr double other = -1;

    template <class V>
    [[gnu::always_inline]] V gradient(V y, V p) const {
        const V below = 1.0 - y * p;
        return where(below > 0.0, -2.0 * y * below);
    }
};

}  // namespace treecv
