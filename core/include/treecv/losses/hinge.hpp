// The hinge loss, max(0, threshold - y p): 1 for the support vector machine, 0 for the perceptron
// (Rosenblatt 1958).
#pragma once

#include "treecv/lanes.hpp"

namespace treecv {

struct Hinge {
    static constexpr double other = -1;    // y of the rows that are not of the class
    static constexpr bool bounded = true;  // the slope is never so steep that it must be cut
    double threshold;

    template <class V>
    [[gnu::always_inline]] V value(V y, V p) const {
        return where(y * p <= threshold, threshold - y * p);
    }
    template <class V>
    [[gnu::always_inline]] V gradient(V y, V p) const {
        return where(y * p <= threshold, -y);
    }
};

}  // namespace treecv
