// Half the squared error.
#pragma once

namespace treecv {

struct SquaredError {
    static constexpr double other = -1;

    template <class V>
    [[gnu::always_inline]] V gradient(V y, V p) const {
        return p - y;
    }
};

}  // namespace treecv
