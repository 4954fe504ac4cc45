// The Huber loss: half the squared error, but linear for errors beyond epsilon (Huber 1964).
#pragma once

#include "treecv/lanes.hpp"

namespace treecv {

struct Huber {
    static constexpr double other = -1;
    double epsilon;

    template <class V>
    [[gnu::always_inline]] V gradient(V y, V p) const {
        const V error = p - y, beyond = error > 0.0 ? all_like(error, epsilon) : all_like(error, -epsilon);
        return error <= epsilon && error >= -epsilon ? error : beyond;
    }
};

}  // namespace treecv
